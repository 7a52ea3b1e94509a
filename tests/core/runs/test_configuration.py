"""The command that trains a run again: run word for word it comes to the same settings."""

import shlex

import pytest

from core.config import compose, flatten_config, parse_settings
from core.runs.configuration import configure_with_recipe, write_train_command
from core.runs.record import RunRecord
from core.runs.store import RunStore, get_starters_dir


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
    assert note == ""
    assert parse_typed(command) == flatten_config(record.config)


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
