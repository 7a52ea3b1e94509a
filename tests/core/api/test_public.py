import inspect
import subprocess
import sys

import pytest
import sentiscope
from every_command import COMMANDS
from fresh import modules_after

import core.api.public_classes
from core import api
from core.api.public_classes import Run, RunCodes
from core.cli import OLD_NAMES

TREES = {"dashboard", "data card", "runs show", "runs cancel", "runs export", "runs import", "runs rm"}
"""Names printed as a tree, or not printed."""
OLD = [(tuple(name.split()), old, new) for name, names in OLD_NAMES.items() for old, new in names.items()]


def test_package_exports_core_objects_with_docstrings():
    assert sentiscope.Run is core.api.public_classes.Run and sentiscope.train is core.api.public_classes.train
    assert sentiscope.presets is api.presets
    public = {name: value for name, value in vars(sentiscope).items() if not name.startswith("_")}
    assert "train" in public and [name for name, value in public.items() if not value.__doc__] == []


@pytest.mark.slow
def test_script_in_another_folder_can_import_the_package(machine):
    code = "import sentiscope; print(sentiscope.runs.__name__, sentiscope.__version__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"runs {core.__version__}\n"


@pytest.mark.slow
def test_sentence_and_figure_do_not_load_streamlit(starters):
    pieces = {
        "sentence": "import sentiscope; run = sentiscope.run('starter-vanilla'); run.sentence('not bad')._repr_html_()",
        "figure": "run.figure('grid', text='not bad')",
    }
    loaded = modules_after(pieces)
    assert "torch" in loaded["sentence"] and "plotly" not in loaded["sentence"]
    assert "plotly" in loaded["figure"] and "streamlit" not in loaded["figure"]


def test_each_verb_is_a_command_and_if_it_takes_a_run_a_method():
    assert set(map(" ".join, COMMANDS)) == api.VERBS.keys()
    for command in api.VERBS:
        verb, printer = api.load_verb(command)
        assert (printer is None) == (command in TREES)
        first = next(iter(inspect.signature(verb).parameters.values()), None)
        if first and first.name == "run" and first.kind is not first.KEYWORD_ONLY:
            owner, name = (RunCodes if command.startswith("codes ") else Run), verb.__name__.removeprefix("codes_")
            method = getattr(owner, {"import": "import_"}.get(name, name.removeprefix("runs_")))
            # run.export writes a zip too, as the command `runs export`
            assert method.__wrapped__ is (api.export if command == "runs export" else verb), command


OPTIONS = {
    "data": "--data --set --limit --split --where --key --by --map --passage --suite --add --apart --pair --text",
    "training": "--model --recipe --from --epochs --length --seed --name --resume --no-texts",
    "presets": "--classes --vocabulary --paper",
    "sweeps": "--seeds --folds --grid --jobs --detach --dry-run --baseline",
    "what is shown": "--metric --cost --against --order --slice --tags --unsure --label-errors --wrong --yardstick",
    "quiz, words": "--right --replace",
    "explanations": "--method --methods --target --parts --lambdas --layer --head --component --edit --readings",
    "attend": "--each-map",
    "distance, embeddings": "--insert --most --dimensions --space",
    "files": "--to --csv --label-csv --json --html --book",
    "figures": "--only --with --theme",
    "slices": "--save --rename --rm",
    "codes": "--author --definition --example --place --into --off",
    "counter-examples": "--label --note --link --run",
    "papers": "--format --scale --results --device",
    "efficiency": "--models --length --batch --lengths",
    "lexicons": "--lexicon",
    "theory": "--again",
    "reading": "--read-as --shards",
    "the server": "--address --host --port --browser --workers --classroom --read-only",
}
"""By topic."""


def test_option_table_lists_all_options_and_limits_and_files_have_the_same_names():
    known = {name for names in OPTIONS.values() for name in names.split()}
    used = {name for command in COMMANDS.values() for each in command.params for name in each.opts if name[0] == "-"}
    assert used == known
    for option, names in {
        "--limit": "evaluate project train pretrain sweep believe",
        "--data": "evaluate compare predict train pretrain sweep",
        "--to": "report predict figures",
    }.items():
        for name in names.split():
            assert option in {found for each in COMMANDS[name,].params for found in each.opts}, name


@pytest.mark.parametrize(("path", "old", "new"), OLD)
def test_old_option_names_work_and_are_not_in_the_help(path, old, new):
    command = COMMANDS[path]
    [option] = [each for each in command.params if new in each.opts]
    needed = ["x"] * sum(each.param_type_name == "argument" and each.required for each in command.params)
    for words in ([old, "7"], [f"{old}=7"]):
        assert str(command.make_context(path[-1], [*needed, *words], resilient_parsing=True).params[option.name]) == "7"
    assert not any(old in each.opts for each in command.params)


def test_argument_after_two_dashes_is_a_text():
    context = COMMANDS["predict",].make_context("predict", ["x", "--", "--file"], resilient_parsing=True)
    assert context.params["texts"] == ["--file"] and context.params["file"] is None
