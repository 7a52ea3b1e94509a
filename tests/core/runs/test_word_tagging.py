import json
import shutil

import pytest
from named_words import write_conll
from seqeval.metrics import f1_score
from tiny_backbones import backbone
from tiny_runs import TINY

from core import api
from core.api.public_classes import Run
from core.exceptions import ConfigError, InputError, SentiscopeError
from core.runs.archive import export_file, import_run
from core.runs.lineage import compare_run_split
from core.runs.store import RunStore
from core.runs.word_tagging import NOWHERE, find_first_tokens, read_tags
from core.text.config import TextConfig
from core.text.tokenizer_factory import fit_tokenizer

SETTINGS = {**TINY, "model.width": 16, "model.ff_width": 16, "training.epochs": 4}
FURTHER = {"inspect": ["a b"], "explain": ["a b"], "compare": ["again"]}  # what a verb takes besides the run
TEXTS = ["Almo Tarn walked to Pell .", "don't walk , Almo !", "서울에 갔다 .", "ঢাকা যাব ।", "ذهبت إلى المدينة"] * 3


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write_conll(tmp_path_factory.mktemp("data") / "names.conll", 80)


@pytest.fixture(scope="module")
def trained(file, train_once):
    return train_once(file, "vanilla", "names", **SETTINGS)


@pytest.mark.slow
def test_the_record_has_span_metrics_with_intervals(trained, tmp_path, monkeypatch):
    record = trained.read("names")
    assert (record.status, record.task) == ("done", "tokens")
    table = read_tags(trained.get_path("names"), "test")
    wanted = f1_score(table["label"].tolist(), table["predicted"].tolist())
    assert record.results["metrics"]["test"]["span_f1"] == pytest.approx(wanted)
    low, high = record.results["intervals"]["test"]["span_f1"]
    assert low <= wanted <= high and "whole text" in record.results["yardstick"]["left_out"]
    (row,) = [row for row in api.runs_table(api.runs_list(trained)) if row["run"] == "names"]
    (test,) = [row for row in api.tabulate_scores(api.summarize_run(record)) if row["split"] == "test"]
    assert row["test span F1"] == test["span F1"] == record.results["metrics"]["test"]["span_f1"]
    assert "predicted" in Run("names", trained).predictions()
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path))
    assert "too few to compare" in compare_run_split(record, "test")["left_out"]
    export_file(trained, "names", tmp_path / "names.zip")
    other = RunStore(tmp_path / "runs")
    assert read_tags(other.get_path(import_run(other, tmp_path / "names.zip")), "test").equals(table)


@pytest.mark.slow
def test_evaluate_equals_the_record(trained, file):
    found = api.evaluate("names", store=trained)
    assert found["metrics"] == pytest.approx(trained.read("names").results["metrics"]["test"])
    kept = json.loads((trained.get_path("names") / "evaluation/test/metrics.json").read_text())
    assert found["outcomes"] == kept["outcomes"] and found["per_type"] == kept["per_type"]
    whole = api.evaluate("names", data=str(file), store=trained)
    assert (whole["n"], whole["split"]) == (80, "all")


def test_predicted_tags_can_be_written_and_read(trained, tmp_path):
    (found,) = api.predict("names", ["Almo  walked to\tPell ."], store=trained)["predictions"]
    assert found["words"] == ["Almo", "walked", "to", "Pell", "."]
    assert len(found["tags"]) == len(found["probabilities"]) == 5
    short, long = api.predict("names", ["Almo walked .", "Almo " * 100], store=trained)["predictions"]
    assert long["probabilities"][-1] is None and long["tags"][-1] == "O"
    assert (short["read"], short["cut"]) == (3, 0)
    assert (long["read"], long["cut"]) == (trained.read("names").max_length, 100 - trained.read("names").max_length)
    (tmp_path / "in.txt").write_text("Almo walked .\n\n" + "Almo " * 100)
    written = api.predict("names", file=tmp_path / "in.txt", to=tmp_path / "out.conll", store=trained)
    assert (written["rows"], written["cut"]) == (2, 1) and "Almo" in (tmp_path / "out.conll").read_text()
    assert len((tmp_path / "out.conll").read_text().split("\n\n")) == 2


@pytest.mark.parametrize("verb", [*FURTHER, "errors", "behave", "project", "layers", "report"])
def test_text_label_commands_refuse_tagging_runs(trained, verb):
    folder = trained.get_path("names").with_name("again")
    if not folder.exists():
        shutil.copytree(trained.get_path("names"), folder)
        (folder / "run.json").write_text((folder / "run.json").read_text().replace('"names"', '"again"'))
    with pytest.raises(InputError, match="gives each word a tag"):
        getattr(api, verb)("names", *FURTHER.get(verb, ()), store=trained)
    with pytest.raises(InputError, match="gives each word a tag"):
        api.runs_measure(["names"], store=trained)


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("bilstm", {}),
        ("tfidf-logreg", {}),
        *(("vanilla", {f"training.{name}": 0.1}) for name in ("nonsense", "joined")),
        ("vanilla", {"training.passages": 8}),
        *(("vanilla", {f"training.{name}": "tfidf"}) for name in ("teacher", "mix")),
        *(("vanilla", each) for each in ({"training.metric": "accuracy"}, {"training.start": "names"})),
        ("vanilla", {"data.texts": False}),
    ],
)
def test_invalid_tagging_settings_are_refused_before_training(file, trained, model, settings):
    with pytest.raises((ConfigError, SentiscopeError), match=r"tag|each word") as told:
        api.train(str(file), model, {**SETTINGS, **settings} if settings else {}, store=trained, name="not")
    assert all(name in str(told.value) for name in settings)
    trained.remove("not")


@pytest.mark.slow
def test_an_artificial_task_is_learned(tmp_path):
    """A non-breaking space is part of a word, and an escape is unchanged."""
    rows = [
        [(f"about{n}", "O"), ("10\u00a0000", "B-SUM"), (r"euro\u0020x", "I-SUM"), ("were", "O"), ("paid", "O")]
        for n in range(40)
    ]
    text = "\n\n".join("\n".join(f"{word} {tag}" for word, tag in each) for each in rows)
    (tmp_path / "sums.conll").write_text(text, encoding="utf-8")
    store = RunStore(tmp_path / "runs")
    api.train(str(tmp_path / "sums.conll"), "vanilla", SETTINGS, name="sums", store=store)
    table = read_tags(store.get_path("sums"), "test")
    assert {len(tags) for name in ("label", "predicted") for tags in table[name]} == {5}
    assert api.evaluate("sums", store=store)["metrics"]["span_f1"] > 0.9


@pytest.mark.slow
def test_encoders_tag_words_by_their_first_pieces(file, tmp_path):
    settings = {**SETTINGS, "model.backbone": str(backbone(tmp_path / "bert"))}
    settings = {name: value for name, value in settings.items() if "width" not in name and "min_freq" not in name}
    store = RunStore(tmp_path / "runs")
    api.train(str(file), "pretrained", settings, store=store, name="b")
    assert store.read("b").status == "done"
    assert api.evaluate("b", store=store)["metrics"] == pytest.approx(store.read("b").results["metrics"]["test"])


@pytest.mark.parametrize("kind", ["word", "bpe"])
@pytest.mark.parametrize("text", TEXTS[:5])
def test_every_word_has_its_own_first_token(kind, text):
    tokenizer = fit_tokenizer(TEXTS, TextConfig(tokenizer=kind, min_freq=1))
    places, encoded = find_first_tokens(tokenizer, text), tokenizer.encode(text)
    assert len(places) == len(text.split(" ")) and NOWHERE not in places and places == sorted(set(places))
    for place, word in zip(places, encoded.text.split(), strict=True):
        assert word.startswith(encoded.tokens[place].strip())


def test_truncated_words_have_no_token():
    tokenizer = fit_tokenizer(TEXTS, TextConfig(min_freq=1, max_length=4))
    assert find_first_tokens(tokenizer, "Almo Tarn walked to Pell .") == [0, 1, 2, 3, NOWHERE, NOWHERE]
