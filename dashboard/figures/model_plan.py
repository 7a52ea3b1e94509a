"""Models before training: presets as tables, a diagram of the parts, and the plan of a training run."""

import shlex
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from core import preset_catalog
from core.api.models import list_backbone_recipes
from core.config import SETTINGS, RunConfig, explain_idle, to_dict
from core.data.mixture import COUNTER_EXAMPLES as NAME
from core.exceptions import NotAvailable
from core.formatting import count, format_duration, plural
from core.models.config import Family, ModelConfig
from core.models.model_description import ModelPart, count_parameters, list_features, list_parts
from core.models.presets import PAPERS, PRESETS
from core.recipes import RECIPES, AppliedRecipe
from core.runs.backbones import FOLDER, get_download_command, get_own_folder
from core.runs.cost_estimate import Estimate, Size
from core.runs.record import RunRecord
from core.settings import GROUPS
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure, Source
from dashboard.figures.results import get_data_name
from dashboard.figures.theme import SANS, Look

_READS: dict[Family, str] = {
    "bilstm": "It reads the words one after the other, in both directions",
    "cnn": "It looks for patterns of a few words, anywhere in the text",
    **dict.fromkeys(("tfidf-logreg", "tfidf-nb", "tfidf-svm"), "It weighs words and word pairs"),
    "lexicon": "It adds up the lexicon scores of the words",
    "function": "It is a function from outside",
}
ALL = "All"
LINKED = 6  # most runs named for a preset; the page Runs lists the others
OFFERED = frozenset(name for name, setting in SETTINGS.items() if setting.group)
"""All model settings, and settings of other packages that concern model parts."""
EXAMPLES = "data.examples"
NOT_LISTED = ("data.name", EXAMPLES)
WIDTH = 540
LEFT, RIGHT = 46, 526  # edges of a box; residual connections are left of them
CENTER = (LEFT + RIGHT) / 2
GAP, PAD, TITLE, LINE = 20, 11, 20, 19
CHARACTERS = 70  # most characters in a line that fits into a box at 14 pixels


def describe_baseline(family: Family, lacks: str) -> str:
    """Return a sentence on how a baseline model represents a text, and on what it lacks (such as attention)."""
    return f"{_READS[family]}, without {lacks}."


class Sizes(NamedTuple):
    """Vocabulary size and number of classes for counting a model's parameters, and from which run they come."""

    vocabulary: int
    classes: int
    words: str
    preset: str = ""  # of the run; empty: no run
    model: ModelConfig | None = None  # of the run, with its own layers, heads and widths

    def get_model(self, name: str) -> ModelConfig:
        """Return a preset's model settings, or those of the shown run if that run uses the preset."""
        return self.model if self.model and name == self.preset else PRESETS[name].model


USUAL = Sizes(
    preset_catalog.VOCABULARY, preset_catalog.CLASSES, f"{count(preset_catalog.VOCABULARY)} tokens and two classes"
)


def read_sizes(record: RunRecord | None, label: str = "") -> Sizes | None:
    """Return the vocabulary size and classes of a run, called `label` or by its id; None before they are known."""
    if record is None or not record.vocabulary or len(record.classes) < 2:
        return None
    data, where = get_data_name(record.config.data.name), f"as in {label or record.run}"
    words = f"{count(record.vocabulary)} tokens and {len(record.classes)} classes, {where} on {data}"
    return Sizes(record.vocabulary, len(record.classes), words, record.preset, record.config.model)


def list_presets(paper: str) -> list[str]:
    """Return the names of the model presets that implement a paper (given by title), or of all presets."""
    return [name for name, preset in PRESETS.items() if paper in (ALL, PAPERS[preset.paper])]


def build_preset_frame(paper: str, sizes: Sizes, records: Sequence[RunRecord]) -> pd.DataFrame:
    """Return a row for each model preset of a paper or of all papers: paper, model, parameters, parts, runs, source."""
    of = "" if paper == ALL else paper
    listed = preset_catalog.list_presets(of, vocabulary=sizes.vocabulary, classes=sizes.classes)
    made, rows = Counter(record.preset for record in records), []
    for row in listed:
        name, model = row["name"], PRESETS[row["name"]].model  # sizes of the preset, so that the rows compare
        classes = preset_catalog.limit_classes(name, sizes.classes)
        parameters = count_parameters(model, vocabulary=sizes.vocabulary, classes=classes)
        parts = ", ".join(list_features(model)) or "plain encoder"
        found = {"paper": PAPERS[row["paper"]], "model": name, "parameters": parameters, "parts": parts}
        rows.append(found | {"runs": made[name], "line": row["line"], "source": row["source"]})
    return pd.DataFrame(rows)


def compare_presets(first: str, second: str) -> pd.DataFrame:
    """Return every setting in which two presets differ, as a table: what, both values, setting."""
    found = preset_catalog.compare_presets(first, second)
    columns = ["what", first, second, "setting"]
    return pd.DataFrame([(each.words, each.first, each.second, each.setting) for each in found], columns=columns)


def list_deviations(name: str) -> pd.DataFrame:
    """Return where a preset deviates from its paper, as a table: what, in the paper, here, reason, alternative."""
    frame = pd.DataFrame(preset_catalog.list_deviations(name), columns=["what", "paper", "here", "why", "instead"])
    return frame.assign(paper=frame["paper"].replace("", "not stated"))


def list_backbones(paper: str) -> pd.DataFrame:
    """Return a row for each pretrained backbone of a paper, without paths, since other people may see the page."""
    own, rows = get_own_folder(), []
    for each in list_backbone_recipes():
        if paper not in (ALL, each["paper"]):
            continue
        inside = own is not None and Path(each["folder"]).is_relative_to(own)
        found = f"in {FOLDER}" if inside else "in the hub's cache"
        sets = [f"{name.rpartition('.')[2]}={told['value']}" for name, told in each["settings"].items()]
        state = found if each["ok"] else f"lacks {each['lacks']}" if each["folder"] else "not here"
        get = "" if each["ok"] else get_download_command(each["backbone"])
        source = f"{each['paper']}, {each['source']}. {each['note']}".strip()
        rows.append((each["recipe"], each["backbone"], state, get, ", ".join(sets) or "what the preset sets", source))
    return pd.DataFrame(rows, columns=["recipe", "backbone", "state", "get", "sets", "source"])


def list_preset_runs(name: str, records: Sequence[RunRecord]) -> list[str]:
    """Return the names of a few of the newest finished runs that use a preset."""
    return [record.run for record in records if record.preset == name and record.status == "done"][:LINKED]


def list_shown_settings(own: Mapping[str, str], model: ModelConfig | None) -> dict[str, list[str]]:
    """Return the settings shown when building a model, by group: those that have an effect or that the user has set."""
    offered = [name for name in SETTINGS if name in OFFERED]
    wanted = [name for name in offered if model is None or name in own or not explain_idle(name, model)]
    wanted.sort(key=lambda name: not name.startswith("model."))
    groups = {title: [name for name in wanted if SETTINGS[name].group == title] for title in GROUPS}
    return {title: names for title, names in groups.items() if names}


def describe_size(size: Size | None) -> str:
    """Describe the size of a planned model, and how it was counted."""
    if size is None:
        return "Its size is known when its n-grams are counted"
    rest = {"run": ", as an earlier run counted", "data": ", counted in these texts", "bound": " at most"}[size.counted]
    return f"{format_millions(size.parameters)} parameters at {count(size.vocabulary)} tokens{rest}"


def format_millions(parameters: int) -> str:
    """Format a number in millions, such as `0.41 M`; below ten thousand the number itself."""
    return f"{parameters / 1e6:.2f} M" if parameters >= 10_000 else count(parameters)


def summarize_changes(config: RunConfig, own: Mapping[str, str], along: Mapping[str, Any]) -> str:
    """Describe a changed preset: its parts, the number of changes, and further settings that the changes require."""
    parts = f"It has {', '.join(list_features(config.model)) or 'nothing besides a plain encoder'}."
    changed = [name for name in own if name in OFFERED]
    said = f"{len(changed)} {'change' if len(changed) == 1 else 'changes'} to the preset." if changed else ""
    brought = " and ".join(f"{name}={value}" for name, value in along.items())
    return " ".join(filter(None, (parts, said, f"Also set, because a part needs it: {brought}." if brought else "")))


def describe_cost(model: str, size: Size | None, found: Estimate | None, config: RunConfig) -> str:
    """Describe a planned run in a sentence: the size of the model, and the time of its training."""
    most = "at most " * (size is not None and size.counted == "bound")
    layers = f"{plural(config.model.layers, 'layer')}, " * config.model.layered
    has = size and f"has {most}{format_millions(size.parameters)} parameters ({layers}{count(size.vocabulary)} tokens)"
    parts = [has] if has else []
    if not config.model.by_steps:
        parts.append("is fitted in one go")
    elif found is not None:
        parts.append(f"trains in about {_round_time(found)} or less")
    return f"{model} {' and '.join(parts) or 'can be trained'}."


def _round_time(found: Estimate) -> str:
    unit = 5 if found.seconds < 120 else 60 if found.seconds < 3600 else 600  # an estimate has few exact digits
    return format_duration(max(unit, unit * round(found.seconds / unit)))


def describe_time(found: Estimate | None, config: RunConfig) -> str:
    """Describe the expected training time of a planned run, and how it was estimated."""
    if not config.model.by_steps:
        return "Solved in one go, without steps: seconds for short texts, minutes for long ones."
    if found is None:
        return "The time is known after the first steps: these texts are not counted yet."
    basis = {0: "a guess: nothing similar has been trained on this machine yet", 1: "measured on an earlier run here"}
    about = basis.get(found.runs, f"measured on {found.runs} earlier runs here")
    steps = f"{'' if found.counted else 'up to '}{count(found.steps)} steps in {config.training.epochs} epochs"
    return f"About {_round_time(found)} or less · {steps} · {about}"


def describe_recipe(found: AppliedRecipe, given: Mapping[str, Any]) -> str:
    """Describe the settings that a recipe changes, those that the user has set instead, and those without effect."""
    changes = ", ".join(f"{key} = {value}" for key, value in found.settings.items() if key not in given)
    parts = [f"The recipe sets {changes}." if changes else "The recipe sets nothing here."]
    if own := [key for key in RECIPES[found.name].settings if key in given]:
        parts.append(f"Your own value is kept: {', '.join(own)}.")
    parts += [f"Without {key}: {why}." for key, why in found.left_out.items()]
    return " ".join(parts)


def write_command(data: str, model: str, settings: Mapping[str, Any], name: str, recipe: str = "") -> str:
    """Return the command line that starts the planned training run."""
    pairs = [f"--set={key}={value}" for key, value in settings.items() if key not in NOT_LISTED]
    along = [f"--add={NAME}"] if settings.get(EXAMPLES) else []
    named = [f"--name={name}"] if name else []
    by = [f"--recipe={recipe}"] if recipe else []
    return shlex.join(["sentiscope", "train", f"--data={data}", f"--model={model}", *by, *along, *pairs, *named])


def format_setting(config: RunConfig, name: str) -> str:
    """Format the value of a setting (with a dotted name such as `model.layers`) as typed on the command line."""
    node: Any = to_dict(config)
    for part in name.split("."):
        node = node[part]
    return str(node).lower() if isinstance(node, bool) else str(node)


@dataclass
class _Canvas:
    look: Look
    y: float = 0
    marks: list[str] = field(default_factory=list)

    def draw_box(self, x: float, y: float, width: float, height: float, **style: object) -> None:
        """Add a rectangle with rounded corners to an SVG drawing."""
        shape = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"{_write_attributes(style)}/>'
        self.marks.append(shape)

    def draw_text(self, x: float, y: float, words: str, **style: object) -> None:
        """Add a line of text to an SVG drawing."""
        self.marks.append(f'<text x="{x:g}" y="{y:g}"{_write_attributes(style)}>{escape(words)}</text>')

    def draw_path(self, way: str, **style: object) -> None:
        """Add a line along a path to an SVG drawing."""
        style = {"fill": "none", "stroke": self.look.tokens.muted, "stroke-width": 1.5, **style}
        self.marks.append(f'<path d="{way}"{_write_attributes(style)}/>')

    def draw_arrow(self, to: float) -> None:
        """Draw an arrow in an SVG drawing, from the current height straight down."""
        self.draw_path(f"M{CENTER:g} {self.y:g}V{to:g}")
        self.draw_path(f"M{CENTER - 4:g} {to - 5:g}L{CENTER:g} {to:g}L{CENTER + 4:g} {to - 5:g}")
        self.y = to


def draw_diagram(parts: Sequence[ModelPart], look: Look) -> str:
    """Draw a model's parts as an SVG document, with a description as alternative text."""
    canvas, tokens = _Canvas(look, 16), look.tokens
    canvas.draw_text(CENTER, canvas.y, "text", fill=tokens.muted, text_anchor="middle")
    canvas.draw_text(RIGHT - 14, canvas.y, "parameters", fill=tokens.muted, text_anchor="end")
    canvas.y += 6
    layer = [part for part in parts if part.layer]
    for part in parts:
        if not part.layer:
            canvas.draw_arrow(canvas.y + GAP)
            _draw_part(canvas, part)
        elif part is layer[0]:
            _draw_layers(canvas, layer)
    canvas.draw_arrow(canvas.y + GAP)
    canvas.draw_text(CENTER, canvas.y + 16, "answer", fill=tokens.muted, text_anchor="middle")
    height, scale = canvas.y + 24, look.scale_size(1)
    size = f'width="{WIDTH * scale:g}" height="{height * scale:g}" viewBox="0 0 {WIDTH} {height:g}"'
    about = f'role="img" aria-label="{escape(describe_parts(parts))}" font-family="{SANS}" font-size="14"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {about}>{"".join(canvas.marks)}</svg>'


def describe_parts(parts: Sequence[ModelPart]) -> str:
    """Describe the diagram of a model in words, from text to prediction."""
    said = []
    for part in parts:
        copies = f"in each of {part.times} layers " if part.layer and part.times > 1 else ""
        terms = f" with {', '.join(f'{term.name} ({term.detail})' for term in part.terms)}" if part.terms else ""
        size = _write_size(part, ", {} parameters")
        said.append(f"{copies}{part.title}{f', {part.detail}' if part.detail else ''}{terms}{size}")
    return f"From text to answer: {'; '.join(said)}."


def _write_size(part: ModelPart, form: str) -> str:
    if not part.parameters:
        return ""
    each = count(part.parameters)
    return form.format(f"{part.times} × {each}" if part.times > 1 else each)


def _draw_layers(canvas: _Canvas, layer: Sequence[ModelPart]) -> None:
    tokens, times = canvas.look.tokens, layer[0].times
    canvas.draw_arrow(canvas.y + GAP)
    start, place = canvas.y, len(canvas.marks)
    canvas.y += 26
    canvas.draw_text(LEFT, start + 19, f"{times} layers" if times > 1 else "1 layer", fill=tokens.ink, font_weight=600)
    canvas.draw_path(f"M{CENTER:g} {start:g}V{canvas.y:g}")
    pre, left = layer[0].key == "norm", canvas.y
    for part in layer:
        # A residual branch starts before the norm, or before the sublayer if the norm follows the sum.
        if pre != (core := part.key != "norm"):
            left = canvas.y + 5
        canvas.draw_arrow(canvas.y + GAP)
        _draw_part(canvas, part)
        if core:
            y, t = canvas.y + GAP, canvas.look.tokens
            canvas.draw_arrow(y - 8)
            canvas.draw_path(f"M{CENTER:g} {left:g}H26V{y:g}H{CENTER - 8:g}", stroke_linejoin="round")
            style = _write_attributes({"fill": t.panel, "stroke": t.muted, "stroke_width": 1.5})
            canvas.marks.append(f'<circle cx="{CENTER:g}" cy="{y:g}" r="8"{style}/>')
            canvas.draw_path(f"M{CENTER - 4:g} {y:g}H{CENTER + 4:g}M{CENTER:g} {y - 4:g}V{y + 4:g}")
            canvas.y = y + 8
    canvas.y += 12
    canvas.draw_path(f"M{CENTER:g} {canvas.y - 12:g}V{canvas.y:g}")
    size = f'width="{WIDTH - 12}" height="{canvas.y - start:g}" rx="8" fill="{tokens.panel}"'
    canvas.marks.insert(place, f'<rect x="6" y="{start:g}" {size}/>')


def _draw_part(canvas: _Canvas, part: ModelPart) -> None:
    tokens, top = canvas.look.tokens, canvas.y
    detail = textwrap.wrap(part.detail, CHARACTERS)
    terms = [(term.name, textwrap.wrap(term.detail, CHARACTERS)) for term in part.terms]
    lines = len(detail) + sum(1 + len(more) for _, more in terms)
    height = 2 * PAD + TITLE - 4 + lines * LINE + 8 * len(terms)
    canvas.draw_box(LEFT, top, RIGHT - LEFT, height, fill=tokens.paper, stroke=tokens.right)
    y = top + PAD + 12
    canvas.draw_text(LEFT + 14, y, part.title, fill=tokens.ink, font_weight=600, font_size=15)
    canvas.draw_text(RIGHT - 14, y, _write_size(part, "{}"), fill=tokens.muted, text_anchor="end")
    for line in detail:
        y += LINE
        canvas.draw_text(LEFT + 14, y, line, fill=tokens.muted)
    for name, more in terms:
        y += 8
        canvas.draw_box(LEFT + 14, y + 5, 4, LINE * (1 + len(more)) - 2, fill=tokens.accent)
        for i, line in enumerate((name, *more)):
            y += LINE
            style = {"fill": tokens.muted} if i else {"fill": tokens.accent, "font_weight": 600}
            canvas.draw_text(LEFT + 28, y, line, **style)
    canvas.y = top + height


def _write_attributes(style: dict[str, object]) -> str:
    return "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())


def build_parts_table(made: Sequence[ModelPart]) -> pd.DataFrame:
    """Return the diagram of a model as a table, one row for each model part and each term of the attention scores."""
    rows: list[tuple[str, str, str, int, int]] = []
    for part in made:
        rows.append((part.title, "", part.detail, part.parameters, part.times))
        rows += [(part.title, term.name, term.detail, term.parameters, part.times) for term in part.terms]
    return pd.DataFrame(rows, columns=["part", "term", "detail", "parameters", "copies"])


@dataclass(frozen=True)
class ModelDiagram:
    """Parts of a model, and the name of the preset or run that the model comes from."""

    parts: Sequence[ModelPart]
    name: str


def _read_parts(source: Source) -> ModelDiagram:
    record = source.record
    if not record.vocabulary or len(record.classes) < 2:
        raise NotAvailable("how large its parts are is known when training begins")
    parts = list_parts(record.config.model, vocabulary=record.vocabulary, classes=len(record.classes))
    return ModelDiagram(parts, record.run)


DIAGRAM = Figure("parts", "models", "Parts").add_details(
    read=_read_parts,
    draw=lambda made, look: Component(
        "diagram", {"svg": draw_diagram(made.parts, look), "name": f"sentiscope-model-{made.name}"}, look
    ),
    note=lambda made: f"{count(sum(part.parameters * part.times for part in made.parts))} parameters",
    reading="Coloured: additions to plain attention. Lines on the left: residual connections.",
    tables=lambda made: {"Parts": build_parts_table(made.parts)},
)
