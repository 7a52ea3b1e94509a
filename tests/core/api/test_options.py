"""All commands use the same option names; this table lists all allowed options."""

import pytest
from every_command import COMMANDS

from core.cli import OLD_NAMES

OPTIONS = {
    "data": "--data --set --limit --split --where --key --by --map --passage --suite --add --apart --pair --text",
    "training": "--model --recipe --from --epochs --length --seed --name --resume --no-texts",
    "presets": "--classes --vocabulary --paper",
    "sweeps": "--seeds --folds --grid --jobs --detach --dry-run --baseline",
    "what is shown": "--metric --cost --against --order --slice --tags --unsure --label-errors --wrong --yardstick",
    "quiz": "--right",
    "explanations": "--method --methods --target --parts --lambdas --layer --head --component --edit --readings",
    "distance, embeddings": "--insert --most --dimensions --space",
    "files": "--to --csv --label-csv --json --html --book",
    "figures": "--only --with --theme",
    "slices": "--save --rename --rm",
    "codes": "--author --definition --example --place --into --off --codes",
    "counter-examples": "--label --note --link --run",
    "efficiency": "--models --length --batch --lengths --device",
    "reading": "--read-as",
    "the server": "--address --host --port --browser",
}
"""By topic."""


def test_option_table_lists_all_options_and_no_others():
    known = {name for names in OPTIONS.values() for name in names.split()}
    used = {name for command in COMMANDS.values() for each in command.params for name in each.opts if name[0] == "-"}
    assert used == known


def test_row_limits_and_files_have_the_same_option_names():
    for option, names in {
        "--limit": "evaluate project train pretrain sweep agreement believe",
        "--data": "evaluate compare predict train pretrain sweep",
        "--to": "report predict figures",
    }.items():
        for name in names.split():
            assert option in {found for each in COMMANDS[name,].params for found in each.opts}, name


OLD = [(tuple(name.split()), old, new) for name, names in OLD_NAMES.items() for old, new in names.items()]


@pytest.mark.parametrize(("path", "old", "new"), OLD)
def test_old_option_names_work_and_are_not_in_the_help(path, old, new):
    command = COMMANDS[path]
    [option] = [each for each in command.params if new in each.opts]
    needed = ["x"] * sum(each.param_type_name == "argument" and each.required for each in command.params)
    for words in ([old, "7"], [f"{old}=7"]):
        context = command.make_context(path[-1], [*needed, *words], resilient_parsing=True)
        assert str(context.params[option.name]) == "7"
    assert not any(old in each.opts for each in command.params)


def test_argument_after_two_dashes_is_a_text():
    context = COMMANDS["predict",].make_context("predict", ["x", "--", "--file"], resilient_parsing=True)
    assert context.params["texts"] == ["--file"] and context.params["file"] is None
