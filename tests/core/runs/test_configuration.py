import shlex
import shutil

import pytest
from refused import check_raises
from waiting import cancel_at

from core.api.training import describe_start
from core.config import compose, flatten_config, parse_settings
from core.exceptions import ConfigError, InputError
from core.runs.configuration import add_start_settings, configure_with_recipe, write_train_command
from core.runs.load import load_run
from core.runs.record import RunRecord
from core.runs.store import RunStore, get_starters_dir
from core.runs.training_jobs import execute


def make_record(preset: str, data: str = "built-in", recipe: str = "", **settings: object) -> RunRecord:
    """Return the record of a training with these settings; `__` stands for the dot."""
    given = {name.replace("__", "."): value for name, value in settings.items()}
    config, applied = configure_with_recipe(data, preset, given, recipe)
    return RunRecord("one", preset, "done", config, "", recipe=applied.name)


def parse_typed(command: str) -> dict[str, object]:
    """Return the settings that the command line parses from a command."""
    program, verb, *words = shlex.split(command)
    assert (program, verb) == ("sentiscope", "train")
    pairs = [word.removeprefix("--set=") for word in words if word.startswith("--set=")]
    own = dict(word.removeprefix("--").split("=", 1) for word in words if not word.startswith("--set="))
    assert own.keys() <= {"data", "model", "recipe"}
    return flatten_config(
        configure_with_recipe(own["data"], own["model"], parse_settings(pairs), own.get("recipe", ""))[0]
    )


@pytest.mark.parametrize(
    "record",
    [
        make_record("vanilla"),
        make_record("ndt-01-n3", "twitter_financial", training__epochs=2, data__limit=3000, training__lr=3e-4),
        make_record("vanilla", recipe="strong"),
        make_record("vanilla", recipe="strong", training__teacher="", model__dropout=0.25),
        make_record("tfidf-logreg", "sst2+imdb", data__rename="a b=x,'c'=", data__texts=False),
        make_record("lexical-last", "tweeteval_emoji", text__max_length=17, training__threads=1),
        make_record("ndt-01-n3", model__attention__gate=True, model__attention__rotary=True),
    ],
    ids=lambda record: record.preset,
)
def test_the_command_reproduces_the_settings_of_the_run(record, tmp_path):
    command, note = write_train_command(record, RunStore(tmp_path))
    assert note == "" and parse_typed(command) == flatten_config(record.config)


def test_without_the_start_run_every_setting_is_written(tmp_path):
    config = compose("vanilla", {"training.start": "gone", "model.width": 32})
    command, note = write_train_command(RunRecord("one", "vanilla", "done", config, ""), RunStore(tmp_path))
    assert "--set=training.start=gone" in command and "--set=model.width=32" in command
    assert "It cannot be run here" in note and "gone" in note
    config = compose("vanilla", {"data.name": "elsewhere:reviews.csv"})
    _, note = write_train_command(RunRecord("one", "vanilla", "done", config, ""), RunStore(tmp_path))
    assert "With a copy of your own" in note
    command, _ = write_train_command(make_record("vanilla", training__epochs=3), RunStore(tmp_path))
    assert command == "sentiscope train --data=built-in --model=vanilla --set=training.epochs=3", "no other setting"


def test_the_commands_of_starters_reproduce_their_settings(tmp_path):
    store = RunStore(get_starters_dir())
    for record in store.list():
        command, note = write_train_command(record, store)
        wanted, usual = flatten_config(record.config), flatten_config(compose(record.preset))
        if not note:
            assert parse_typed(command) == wanted
        else:  # six start from a run that is not included
            pairs = parse_settings(w.removeprefix("--set=") for w in shlex.split(command) if w.startswith("--set="))
            assert pairs.keys() == {name for name in wanted if wanted[name] != usual[name]} - {"data.name"}


@pytest.fixture(scope="module")
def trained(trained_on_reviews):
    """The folder of a finished run of plain attention; read only."""
    return trained_on_reviews("vanilla-swiglu", "first", **{"training.epochs": 1})


@pytest.fixture
def first(store, trained):
    shutil.copytree(trained, store.folder / trained.name)
    return trained.name


def begin_run(store, tiny, preset, start, **settings):
    return store.create(tiny(preset, **add_start_settings({"training.start": start, **settings}, store)), preset).run


@pytest.mark.slow
def test_text_settings_and_sizes_are_copied_unless_set(store, first):
    known = add_start_settings({"training.start": first, "model.layers": 1}, store)
    assert known["model.layers"] == 1 and known["model.norm"] == "rms" and known["model.width"] == 8
    assert known["text.min_freq"] == 1 and "text.max_length" not in known and "model.dropout" not in known
    assert add_start_settings({"training.lr": 1.0}, store) == {"training.lr": 1.0}
    assert flatten_config(compose("ndt-01-n3", known))["model.attention.components"] == 3


@pytest.mark.slow
def test_an_ndt_starts_from_plain_attention_with_its_words_and_layers(store, tiny, first):
    run = begin_run(store, tiny, "ndt-01-n3", first, **{"training.lr": 1e-9, "training.epochs": 1})
    record = execute(store, run)
    assert record.status == "done", record.reason
    start = record.results["start"]
    assert start["run"] == first and start["words"] == 0 and 0 < start["numbers"] < start["of"] == record.parameters
    assert {name.split(".")[-2] for name in start["partly"]} == {"query", "key"}
    source, target = (load_run(store, each).model.state_dict() for each in (first, run))
    assert target["embedding.weight"].sub(source["embedding.weight"]).abs().max() < 1e-6
    ours, theirs = (load_run(store, each).tokenizer.encode("good bad").ids for each in (run, first))
    assert ours == theirs
    said = describe_start(start)
    assert said.startswith(f"'{first}': ") and "of the numbers copied; new, in whole or in part: query, key" in said


@pytest.mark.slow
def test_frozen_layers_are_unchanged_and_resuming_needs_no_start_run(store, tiny, first):
    source = load_run(store, first).model.state_dict()
    run = begin_run(store, tiny, "vanilla-swiglu", first, **{"training.frozen": 2})
    assert execute(store, run, on_event=cancel_at(store, run, 9)).status == "cancelled"
    store.remove(first)
    record = execute(store, run)
    assert record.status == "done" and record.results["start"]["run"] == first
    target = load_run(store, run).model.state_dict()
    same = {name for name in source if source[name].equal(target[name])}
    assert same == {name for name in source if name.startswith(("embedding.", "layers.0."))}


@pytest.mark.slow
def test_unsuitable_start_runs_are_refused(store, tiny):
    store.create(tiny("cnn"), "cnn", "cnn"), store.create(tiny("vanilla"), "vanilla", "new")
    for name, said in (
        ("cnn", "a cnn has no layers to start from"),
        ("new", "this run is queued; choose a finished one"),
        ("nobody", "nobody"),
    ):
        check_raises(InputError, said, add_start_settings, {"training.start": name}, store)


@pytest.mark.parametrize(
    ("preset", "settings", "said"),
    [
        ("cnn", {"training.start": "x"}, r"training\.start=x: only an encoder has layers"),
        ("vanilla", {"training.frozen": 1}, r"training\.frozen=1: only for a training that starts from another run"),
        ("vanilla", {"text.grown": 5}, r"text\.grown=5: only for a training that starts"),
        ("vanilla", {"training.start": "x", "training.frozen": 4}, r"the words and 2 layers, so 3 at most"),
        (
            "vanilla",
            {"training.start": "x", "training.vectors": "ppmi"},
            r"training\.vectors=ppmi: a training that starts",
        ),
        ("vanilla", {"training.teacher_weight": 0.5}, r"training\.teacher_weight=0\.5: there is no teacher"),
        ("vanilla", {"training.teacher": "../x"}, r"teacher='\.\./x': tfidf, or the name of a run"),
        ("tfidf-logreg", {"training.teacher": "tfidf"}, r"training\.teacher=tfidf: .*solved in one go"),
        ("tfidf-logreg", {"training.mix": "tfidf"}, r"training\.mix=tfidf: .*solved in one go"),
        ("tfidf-logreg", {"training.word_dropout": 0.1}, r"training\.word_dropout=0\.1: .*solved in one go"),
        ("lexicon", {"training.vectors": "ppmi"}, r"training\.vectors=ppmi: this model is solved in one go"),
        ("vanilla", {"training.word_dropout": 1}, r"word_dropout=1\.0: a share of the words, 0 to below 1"),
    ],
)
def test_incompatible_training_settings_are_refused(preset, settings, said):
    check_raises(ConfigError, said, compose, preset, settings)
