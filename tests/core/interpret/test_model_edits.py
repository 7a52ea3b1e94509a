import dataclasses
import re
from types import SimpleNamespace

import numpy as np
import pytest
from refused import check_raises

from core.exceptions import InputError
from core.interpret.model_edits import LONGEST, NOTHING, UNCHANGED, Editable, Edits, get_editable
from core.interpret.trace_summary import LearnedLambdas, get_learned_lambdas
from core.models.config import AttentionConfig, ModelConfig
from core.models.presets import PRESETS
from core.models.trace import Intervention

PARTS = Editable(layers=2, heads=2, components=3, low=0.0, high=1.0)
SOME = Edits(lambdas=((1, 1, 0.5),), heads_off=((0, 1),), components_off=((1, 0), (1, 2)))
LINK = "l2c1:0.5,h1.2,c2.0,c2.2"


def test_links_count_from_one_and_have_a_maximum_length():
    assert SOME.encode_line() == LINK and PARTS.read_link(LINK) == (SOME, 0)
    assert (
        SOME.describe_changes() == "head 2 of layer 1 off, A₀ of layer 2 off, A₂ of layer 2 off, λ₁ of layer 2 = 0.50"
    )
    assert PARTS.read_link("") == (UNCHANGED, 0) and UNCHANGED.encode_line() == ""
    edits, left_out = PARTS.read_link("x," * LONGEST)
    assert edits == UNCHANGED and 0 < left_out <= LONGEST
    assert PARTS.read_link("h1.2,h1.2,l1c1:0.1,l1c1:0.2")[0] == Edits(((0, 1, 0.2),), ((0, 1),))


def test_mixtures_can_be_removed_and_lambdas_scaled():
    edits = dataclasses.replace(SOME, unmixed=True)
    assert edits.encode_line() == f"{LINK},mix.0" and edits.describe_changes().endswith("TF-IDF taken out")
    assert dataclasses.replace(PARTS, mixed=True).read_link(edits.encode_line()) == (edits, 0)
    assert PARTS.read_link(edits.encode_line()) == (SOME, 1)
    alone = Edits(unmixed=True)
    assert alone and not alone.inside and SOME.inside
    edits = dataclasses.replace(UNCHANGED.set_value("lambdas", (0, 1), 0.5), factor=0.25)
    assert edits.encode_line() == "l1c1:0.5,l:0.25" and edits.inside
    assert edits.describe_changes() == "λ₁ of layer 1 = 0.50, all other λ × 0.25"
    assert Edits(factor=2.0).describe_changes() == "all λ × 2.00"
    assert PARTS.read_link(edits.encode_line()) == (edits, 0)
    assert PARTS.read_link("l:2.01,l:-0.1,l:x,l:") == (UNCHANGED, 4)
    assert dataclasses.replace(PARTS, components=1).read_link("l:0.5") == (UNCHANGED, 1)
    assert PARTS.update_link(edits.encode_line(), {"l": "l:1.5"}) == dataclasses.replace(edits, factor=1.5)
    assert PARTS.update_link(edits.encode_line(), {"l": None}) == UNCHANGED.set_value("lambdas", (0, 1), 0.5)


def test_parts_and_multiplying_lexicons_are_off_or_at_their_mean_but_not_both():
    line = "h1.1:mean,h2.2:mean,c1.2:mean,m2.1.0:mean"
    edits = PARTS.parse_edits(line)
    assert edits == Edits(heads_mean=((0, 0), (1, 1)), components_mean=((0, 2),), maps_mean=((1, 0, 0),))
    assert edits.encode_line() == line
    assert edits.describe_changes() == (
        "head 1 of layer 1 at its mean, head 2 of layer 2 at its mean, A₂ of layer 1 at its mean, "
        "A₀ of head 1 of layer 2 at its mean"
    )
    assert PARTS.parse_edits("h1.1,h1.1:mean,c1.0:mean,c1.0") == Edits(heads_mean=((0, 0),), components_off=((0, 0),))
    assert PARTS.update_link(line, {"h1.1": "h1.1", "c1.2": None}).encode_line() == "h1.1,h2.2:mean,m2.1.0:mean"
    assert PARTS.read_link("h1.1:0,h1.1:mean:mean,l1c1:mean") == (UNCHANGED, 3)
    can = dataclasses.replace(PARTS, lexical="hadamard")
    assert (
        can.parse_edits("s1,s2:mean").describe_changes()
        == "lexical term of layer 1 off, lexical term of layer 2 at its mean"
    )
    assert can.parse_edits("s1:mean,s1") == Edits(lexical_off=(0,))
    assert can.read_link("s:0.5,s3,s0,s1:0") == (UNCHANGED, 4) and PARTS.read_link("s1,s1:mean") == (UNCHANGED, 2)
    check_raises(InputError, re.escape("a lexical term in each layer (s1, s1:mean)"), can.parse_edits, "s:0.5")


RICH = dataclasses.replace(PARTS, low=-1.0, mixed=True, gated=2, lexical="add", placed=True)
CHANGES = {
    "l1c1:-0.25,l2c2:1": {"lambdas": ((0, 1, -0.25), (1, 2, 1.0))},
    "l:0.5": {"lambda_scale": 0.5},
    "h1.2,h2.1:mean": {"heads_off": frozenset({(0, 1)}), "heads_mean": frozenset({(1, 0)})},
    "c2.1,c1.0:mean": {"components_off": frozenset({(1, 1)}), "components_mean": frozenset({(0, 0)})},
    "m1.2.0,m2.1.2:mean": {"maps_off": frozenset({(0, 1, 0)}), "maps_mean": frozenset({(1, 0, 2)})},
    "g1.2:0,g2.1:0.5": {"gates": ((0, 1, 0.0), (1, 0, 0.5))},
    "s:2.5": {"lexical_scale": 2.5},
    "s2,s1:mean": {"lexical_off": frozenset({1}), "lexical_mean": frozenset({0})},
    "t:0.5": {"temperature": 0.5},
    "pos:shuffled": {"positions": "shuffled"},
}


@pytest.mark.parametrize("line", CHANGES)
def test_edits_convert_to_an_intervention_and_back_to_the_line(line):
    edits = RICH.parse_edits(line)
    assert edits.to_intervention() == Intervention(**CHANGES[line])
    assert edits.encode_line() == line and RICH.read_link(line) == (edits, 0)


def test_edits_round_trip_and_a_lever_replaces_only_its_own_part():
    line = ",".join([*CHANGES, "mix.0"])
    edits = RICH.parse_edits(" , ".join(reversed(line.split(","))))
    assert edits.encode_line() == line and edits.unmixed
    whole = {name: value for change in CHANGES.values() for name, value in change.items()}
    assert edits.to_intervention() == Intervention(**whole)
    assert RICH.parse_edits("mix.0").to_intervention() is UNCHANGED.to_intervention() is None
    edits = PARTS.update_link(LINK, {"l2c1": "l2c1:0.9", "c2.0": None, "m1.2.0": "m1.2.0"})
    assert edits.encode_line() == "l2c1:0.9,h1.2,c2.2,m1.2.0"
    assert PARTS.update_link(edits.encode_line(), dict.fromkeys(("l2c1", "h1.2", "c2.2", "m1.2.0"))) == UNCHANGED
    assert PARTS.update_link("h1.2", {"h1.1": "h1.1<b>", "s": "s:2"}) == Edits(heads_off=((0, 1),))
    assert PARTS.update_link("h1.1, h01.2", {"h1.2": None}) == Edits(heads_off=((0, 0),)), "as written by hand"
    assert not UNCHANGED and SOME


@pytest.mark.parametrize(
    ("part", "why"),
    [
        ("h3.1", "layers 1 to 2 with heads 1 to 2 (h1.1), components 0 to 2 (c1.0, m1.1.0)"),
        ("l1c1:2", "λ from −1.0 to 1.0 (l1c1:1, all: l:0.5)"),
        ("g1.3:0", "gates of tokens 1 to 2 from 0 to 1 (g1.1:0)"),
        ("s:4", "a lexical term (s:0 to s:3, of a layer: s1)"),
        ("t:0", "the temperature of attention (t:0.1 to t:4)"),
        ("pos:last", "positions (pos:off, pos:shuffled)"),
        ("mix", "TF-IDF mixed in (mix.0)"),
    ],
)
def test_invalid_edits_are_refused_with_the_valid_ones(part, why):
    with pytest.raises(InputError, match=re.escape(f"--edit {part}: this run has ")) as error:
        RICH.parse_edits(f"h1.1,{part}")
    assert why in str(error.value)
    check_raises(InputError, f"--edit {part}: this run has nothing that can be changed", NOTHING.parse_edits, part)
    check_raises(InputError, "4000 characters at most", RICH.parse_edits, "h1.1," * 1000)


HOSTILE = "l3c1:0.5 l0c1:0.5 l1c0:0.5 l1c3:0.5 l1c1:1.01 l1c1:-0.1 l1c1:nan l1c1:inf l1c1:1e9 l1c1: l٢c1:0.5"
HOSTILE += " h1.0 h1.3 h0.1 h1 h9999999999999999999.1 c1.3 c3.0 <script>alert(1)</script>"


@pytest.mark.parametrize("hostile", HOSTILE.split())
def test_invalid_parts_of_a_link_are_left_out_and_counted(hostile):
    assert PARTS.read_link(hostile) == (UNCHANGED, 1)
    assert PARTS.read_link(f"{hostile},h1.2") == (Edits(heads_off=((0, 1),)), 1)


def test_maps_gates_and_the_lexicon_can_be_edited():
    edits = Edits(maps_off=((0, 1, 2),), gates=((1, 2, 0.25),), lexical=0.5)
    parts = dataclasses.replace(PARTS, gated=3, lexical="add")
    assert edits.encode_line() == "m1.2.2,g2.3:0.25,s:0.5"
    assert parts.read_link(edits.encode_line()) == (edits, 0) and parts.read_link("s:1") == (UNCHANGED, 0)
    assert parts.update_link("g2.3:0.35", {"g2.3": "g2.3:0"}) == UNCHANGED.set_value("gates", (1, 2), 0)
    assert parts.read_link("m1.3.0,m1.1.3,m3.1.0,g2.4:0,g3.1:0,g1.1:1.5,g1.1:-1,s:3.01") == (UNCHANGED, 8)
    assert PARTS.read_link("g2.3:0.25,s:0.5") == (UNCHANGED, 2)
    said = "A₂ of head 2 of layer 1 off, gate of token 3 in layer 2 = 0.25, lexical term × 0.50"
    assert edits.describe_changes() == said


def make_view(*layers):
    return SimpleNamespace(layers=[SimpleNamespace(coefficients=np.array(layer)) for layer in layers])


def test_lambdas_are_ratios_of_coefficients_and_plain_attention_has_one_component():
    view = make_view([[[0.8, 0.8]], [[-0.2, -0.2]]])  # (N 2, H 1, L 2)
    assert get_learned_lambdas(view, subtracts=True) == LearnedLambdas(((pytest.approx(0.25),),), False)
    assert get_learned_lambdas(view, subtracts=False).values == ((pytest.approx(-0.25),),)
    found = get_learned_lambdas(make_view([[[1.0, 1.0]], [[-0.2, -0.4]]]), subtracts=True)
    assert found == LearnedLambdas(((pytest.approx(0.3),),), True)
    model = ModelConfig(layers=3, attention=AttentionConfig(heads=4))
    assert get_editable(model, LearnedLambdas((), False)) == Editable(3, 4, 1, 0.0, 1.5, placed=True)


@pytest.mark.parametrize(
    ("preset", "own", "low", "high"),
    [
        ("ndt-01-n3", 0.15, 0.0, 1.0),
        ("ndt-pm1-n2", -0.06, -1.0, 1.0),
        ("ndt-pos-n2", 0.5, 0.0, 1.5),
        ("ndt-pos-n2", 2.34, 0.0, 2.4),
        ("ndt-free-n2", -1.72, -1.8, 1.5),
        ("differential", 0.4, 0.0, 1.5),
        ("differential-v2", 0.5, 0.0, 1.0),
    ],
)
def test_the_lambda_range_contains_learned_values(preset, own, low, high):
    parts = get_editable(PRESETS[preset].model, LearnedLambdas(((own,),), False))
    assert (parts.low, parts.high) == (pytest.approx(low), pytest.approx(high))
