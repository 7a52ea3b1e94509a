"""Claims of the papers against literals of their text, and against numpy, pandas and scipy on `reported.csv`."""

import json
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from core.models.presets import PRESETS
from core.papers.claims import FINDERS, HOLDS, NOT, PART, count_rank_sums, list_claims

ROOM = files("core.papers")
REPORTED = pd.read_csv(ROOM / "reported.csv", keep_default_na=False, na_values={"layer": "", "component": ""})
WORDS = json.loads((ROOM / "claims.json").read_text(encoding="utf-8"))
SETS = ["IMDB", "SST-2", "YELP-5", "TFN"]
ABOVE_DT = ["above IMDB", "above SST-2", "above TFN"]


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, dict]]:
    """The claims of all papers by paper and key."""
    keys = {paper: [each["key"] for each in rows] for paper, rows in WORDS.items()}
    return {paper: dict(zip(keys[paper], list_claims(paper), strict=True)) for paper in FINDERS}


def rows(paper: str, table: str, metric: str = "") -> pd.DataFrame:
    wanted = (REPORTED["paper"] == paper) & (REPORTED["table"] == table)
    return REPORTED[wanted & (REPORTED["metric"] == metric if metric else True)]


def verdicts(found: dict[str, dict], *keys: str) -> list[str]:
    return [found[key]["verdict"] for key in keys]


def test_every_claim_has_words_a_source_and_a_verdict(found):
    assert list(found) == ["ndt", "sentiformer", "7ess-xin", "lexical", "inceptive"]
    for paper, each in found.items():
        assert len(each) == len(WORDS[paper]) >= 7
        for row in each.values():
            assert list(row) == ["claim", "source", "reported", "recomputed", "verdict", "count", "sentence"]
            assert row["verdict"] in (HOLDS, PART, NOT) and "{" not in f"{row['claim']}{row['count']}{row['sentence']}"
            assert row["sentence"].endswith(".") and (row["source"][0] in "IV156A" or "Table" in row["source"])


def test_ndt_counts_and_gains_are_those_of_its_tables(found):
    ndt = found["ndt"]
    best = {"IMDB": 85.56, "SST-2": 91.85, "YELP-5": 60.82, "TFN": 83.33}
    vanilla, dt = (83.99, 90.85, 60.73, 81.99), (84.20, 91.53, 60.50, 82.33)
    every = REPORTED[(REPORTED["paper"] == "ndt") & (REPORTED["metric"] == "accuracy")]
    own = {name: every[(every["dataset"] == name) & (every["model"] == "NDT")]["value"].to_numpy() for name in SETS}
    assert {name: values.max() for name, values in own.items()} == best and {len(each) for each in own.values()} == {12}
    above = [int((own[name] > told).sum()) for name, told in zip(SETS, dt, strict=True)]
    assert above == [11, 7, 2, 8]  # the text has 11, 6 and 8
    assert [ndt[key]["reported"] for key in ABOVE_DT] == [11, 6, 8]
    assert [ndt[key]["recomputed"] for key in ABOVE_DT] == [11, 7, 8]
    assert verdicts(ndt, *ABOVE_DT) == [HOLDS, NOT, HOLDS]
    both = [int((own[name] > max(pair)).sum()) for name, pair in zip(SETS, zip(vanilla, dt, strict=True), strict=True)]
    assert ndt["consistent"]["recomputed"] == both == [11, 7, 1, 8] and ndt["consistent"]["count"] == "27 of 48"
    assert "11 beat DT on IMDB, 7 on SST-2, 2 on Yelp and 8 on" in ndt["consistent"]["sentence"]
    gains = np.array(list(best.values())) - np.maximum(vanilla, dt)
    assert ndt["gains"]["recomputed"] == pytest.approx(gains) and ndt["gains"]["reported"] == [1.36, 0.32, 0.32, 1.0]
    assert "1.57, 1.00, 0.09 and 1.34" in ndt["gains"]["sentence"]
    assert ndt["spread"]["recomputed"] == [2.43, 1.87]  # 83.33 - 80.90, 85.56 - 83.69
    assert ndt["top three"]["recomputed"] == [83.33, 83.25, 83.08]
    assert verdicts(ndt, "consistent", "gains", "spread", "top three") == [PART, PART, NOT, HOLDS]


def test_ndt_silhouettes_correlate_with_accuracy_as_numpy_has_it(found):
    wide = REPORTED[(REPORTED["paper"] == "ndt") & REPORTED["metric"].isin(["accuracy", "silhouette"])]
    r = []
    for name in SETS:
        pair = wide[wide["dataset"] == name].pivot(index=["model", "variant"], columns="metric", values="value")
        assert len(pair) == 14
        r.append(np.corrcoef(pair["accuracy"], pair["silhouette"])[0, 1])
    told = found["ndt"]["silhouette"]
    assert told["recomputed"] == np.round(r, 2).tolist() == [-0.24, 0.67, 0.25, 0.5]
    assert (told["verdict"], told["count"]) == (PART, "1 of 2") and "IMDB −0.24, SST-2 +0.67" in told["sentence"]


def test_ndt_lambdas_fall_and_rise_as_counted_by_pandas(found):
    ndt, every = found["ndt"], REPORTED[REPORTED["metric"] == "lambda"]
    mixed = every["variant"].str.startswith("[-1")
    layers = every.sort_values("component").groupby(["dataset", "variant", "layer"])["value"].apply(list)
    falls = layers[layers.map(len) > 1].map(lambda row: bool((np.diff(np.abs(row)) < 0).all()))
    assert ndt["falls"]["recomputed"] == [falls.sum(), len(falls)] == [53, 64]
    assert "Of the others 8 are" in ndt["falls"]["sentence"]  # in each, λ₂ of layer 2 is the largest in size
    by_layer = every.pivot(index=["dataset", "variant", "component"], columns="layer", values="value")
    assert ndt["rises"]["recomputed"] == [(by_layer[2] > by_layer[1]).sum(), len(by_layer)] == [95, 96]
    smaller = by_layer.abs()[by_layer.index.get_level_values("variant").str.startswith("[-1")]
    assert (smaller[2] < smaller[1]).sum() == len(smaller) == 24 and "[−1,1] its size falls" in ndt["rises"]["sentence"]
    ends = every[mixed].groupby("dataset")["value"].agg(["min", "max"]).loc[["IMDB", "YELP-5", "TFN"]]
    told = [-0.2001, -0.0575, -0.2121, -0.0468, -0.2053, -0.0541]
    assert ndt["ranges"]["recomputed"] == ends.to_numpy().ravel().tolist() == told
    assert ndt["ranges"]["reported"] == [-0.2001, -0.0575, -0.2003, -0.0468, -0.2053, -0.0593]
    assert verdicts(ndt, "falls", "rises", "ranges") == [PART] * 3 and ndt["ranges"]["count"] == "1 of 3"


def count_weights(words: int, classes: int, *, maps: int = 0, width: int = 128) -> int:
    """Count the weights of two layers by the formulas of the paper; `maps` 0: Vanilla, with LayerNorm and ReLU 256."""
    norms, square = 2 * width, width * width + width
    if not maps:
        layer = 4 * square + width * 256 + 256 + 256 * width + width + 2 * norms
        return words * width + 2 * layer + norms + width * classes + classes
    scores = maps * (width * width + width) + 2 * square  # Q and K of half the width each; V and output
    layer = scores + (maps - 1) * 2 * width // 4 + 3 * width * 384 + 2 * 384 + width + norms
    return words * width + 2 * layer + width + width * classes + classes


def test_ndt_sizes_are_those_of_a_formula_in_16_of_20_cells(found):
    about = {"IMDB": (26_284, 2), "SST-2": (8_865, 2), "YELP-5": (63_385, 5), "TFN": (3_137, 3)}
    table = {
        "IMDB": (3.63, 3.79, 3.79, 3.83, 3.86),
        "SST-2": (1.40, 1.56, 1.56, 1.60, 1.63),
        "YELP-5": (8.38, 8.54, 8.54, 8.58, 8.61),
        "TFN": (0.67, 0.82, 0.82, 0.85, 0.88),
    }
    gaps = {
        (name, at): told - count_weights(*about[name], maps=maps) / 1e6
        for name, row in table.items()
        for at, (told, maps) in enumerate(zip(row, (0, 2, 2, 3, 4), strict=True))
    }
    off = {key: gap for key, gap in gaps.items() if abs(gap) > 0.005}
    assert len(gaps) - len(off) == 16 and {name for name, _ in off} == {"TFN"}
    told = found["ndt"]["sizes"]
    assert told["recomputed"][:2] == [16, 20] and told["verdict"] == PART
    assert told["recomputed"][2:] == pytest.approx([max(off.values()), min(off.values())], abs=3e-4)
    assert told["recomputed"][2:] == [-0.0115, -0.0178] and "100 to 128 words fewer" in told["sentence"]
    for words in (100, 128):  # so many words less give all four cells of the three families
        assert all(abs(gap + words * 128e-6) < 0.0051 for gap in off.values())
    added = found["ndt"]["overhead"]
    assert added["count"] == "12 of 16" and added["recomputed"][3::4] == [0.15, 0.15, 0.18, 0.21]


def test_sentiformer_numbers_follow_from_its_own(found):
    own = found["sentiformer"]
    layer = 4 * (256 * 256 + 256) + 256 * 1024 + 1024 + 1024 * 256 + 256 + 2 * 512
    assert layer == 789_760 and PRESETS["sentiformer"].model.layers == 6
    whole, words = own["parameters"]["recomputed"]
    assert whole == round(6 * layer / 1e6 + 0.008, 2) == 4.75 and words == pytest.approx((22 - 4.747) / 0.256, abs=0.05)
    assert words == 67.4 and own["parameters"]["count"] == "67.4 k words"
    assert own["ratio"]["recomputed"] == 5.0 and own["speed"]["recomputed"] == round(2048 / 130, 2) == 15.75
    ours, bert = np.array([92.3, 94.0, 95.6, 86.5]), np.array([91.8, 94.2, 95.8, 86.0])
    assert own["three sets"]["recomputed"] == (ours >= bert).sum() == 2
    assert own["clearest"]["recomputed"] == np.round(ours - bert, 1).tolist() == [0.5, -0.2, -0.2, 0.5]
    assert own["parts"]["recomputed"] == np.round([92.3 - 90.7, 92.3 - 91.1], 1).tolist() == [1.6, 1.2]
    full = own["full attention"]
    assert full["recomputed"] == round(92.1 - 92.3, 1) and "92.1 < 92.3" in full["count"]
    five, three, two = ([86.2, 84.7, 91.0, 91.8, 92.3], [78.4, 76.9, 85.2, 86.0, 86.5], [89.1, 88.0, 93.5, 94.2, 94.0])
    assert own["five classes"]["recomputed"] == five and np.greater(five, three).all()
    assert f"within {np.subtract(two, five).max():.1f} points" in own["five classes"]["sentence"]
    assert [row["verdict"] for row in own.values()] == [PART, HOLDS, NOT, NOT, PART, HOLDS, NOT, NOT]


def test_7ess_xin_accuracy_is_implied_by_counts_of_two_equal_classes(found):
    own = found["7ess-xin"]
    table = rows("7ess-xin", "II").pivot(index="variant", columns="metric", values="value")
    n, misfits = 80_000, []  # of each class, as sections III.A and IV have them
    for name, row in table.iterrows():
        hits = row["recall"] * n
        accuracy = (hits + n - (hits / row["precision"] - hits)) / (2 * n)
        misfits += [name] if abs(accuracy - row["accuracy"]) > 1.6e-4 else []
        at = list(rows("7ess-xin", "II", "accuracy")["variant"]).index(name)
        assert own["accuracy"]["recomputed"][at] == round(accuracy, 4), name
    assert sorted(misfits) == ["V10 P1", "V10 P2", "V6 P2", "V7 P2", "V8 P2", "V9 P2"]
    assert all(name in own["accuracy"]["sentence"] for name in misfits) and own["accuracy"]["count"] == "14 of 20"
    assert (own["best accuracy"]["reported"], own["best accuracy"]["recomputed"]) == (83.13, 83.05)
    assert own["best f1"]["recomputed"] == round(2 * 0.8234 * 0.8416 / (0.8234 + 0.8416) * 100, 2) == 83.24
    assert own["figure 5"]["recomputed"] == (85.3 + 73.8) / 2 == 79.55
    assert own["word clouds"]["recomputed"] == [14.7, 26.2] and own["word clouds"]["reported"] == [33, 20]
    better = [table.loc[f"V{v} P2", "f1"] > table.loc[f"V{v} P1", "f1"] for v in range(1, 11)]
    assert own["phase 2"]["recomputed"] == sum(better) == 9 and own["v6"]["recomputed"] == round(0.8325 - 0.8313, 4)
    lags = [100 * (a - b) for a, b in ((0.8232, 0.7773), (0.8288, 0.7760), (0.8272, 0.7821), (0.8314, 0.7812))]
    assert own["v5"]["recomputed"] == [round(each, 2) for each in (min(lags), np.median(lags), max(lags))]
    assert own["depth"]["recomputed"] == [2, 4] and (0.8311 < 0.8314 > 0.8310) and own["v8"]["recomputed"] == 1
    assert [row["verdict"] for row in own.values()] == [PART, NOT, HOLDS, NOT, NOT, HOLDS, HOLDS, HOLDS, PART, NOT]


def test_lexical_statistics_are_those_of_numpy_on_table_1(found):
    own = found["lexical"]
    base = np.array([90.63, 91.17, 91.97, 89.49, 90.10])
    settings = np.array(
        [
            [91.18, 91.73, 92.60, 90.42, 90.19],  # all heads, √dk
            [91.32, 91.82, 92.56, 90.47, 90.17],  # all heads
            [91.17, 91.78, 92.56, 90.55, 90.30],  # last head, √dk
            [91.24, 91.82, 92.65, 90.33, 90.23],  # last head
        ]
    )
    gains = settings - base
    assert own["all better"]["recomputed"] == [(gains > 0).sum(), round(gains.min(), 2)] == [20, 0.07]
    assert own["differences"]["count"] == "25 of 25"
    assert own["differences"]["recomputed"][5:] == np.round(gains, 2).ravel().tolist()
    assert own["means"]["recomputed"] == np.round(gains.mean(1), 3).tolist() == [0.552, 0.596, 0.6, 0.582]
    assert own["means"]["reported"] == [0.596, 0.552, 0.582, 0.6]
    spreads = np.round([*gains.std(1, ddof=1), *gains.var(1, ddof=1)], 3).tolist()
    assert own["deviations"]["recomputed"] == spreads == [0.301, 0.33, 0.306, 0.267, 0.091, 0.109, 0.094, 0.071]
    assert own["deviations"]["reported"] == [
        0.109,
        0.091,
        0.071,
        0.094,
        0.33,
        0.301,
        0.267,
        0.306,
    ]  # printed σ, then σ²
    assert "exchanged in 4 of 4 rows" in own["deviations"]["sentence"]
    p = base.mean() / 100
    limit = stats.norm.ppf(0.975) * np.sqrt(2 * p * (1 - p) / 50_000) * 100
    assert own["considerable"]["recomputed"] == round(limit, 2) == 0.36
    assert own["considerable"]["count"] == f"{(gains > limit).sum()} of 20" == "16 of 20"
    assert own["record"]["recomputed"] == settings.max() == 92.65
    told = [1.01, -0.03, -0.05, 0.15, 2.17, 0.9, -0.75, 0.4, 0.15, 0.3, 0.28, -0.16, -0.21, 1.96, 0.22, 0.26, 0, 0.92]
    moves = np.array([*told, 0.26, 0])  # Table 3, in brackets
    assert own["other tasks"]["recomputed"] == [(moves > 0).sum(), (moves < 0).sum(), (moves == 0).sum()] == [13, 5, 2]
    assert own["falls"]["recomputed"] == 5
    assert [row["verdict"] for row in own.values()] == [HOLDS, HOLDS, PART, NOT, NOT, NOT, NOT, HOLDS, HOLDS, HOLDS]


def test_inceptive_gains_and_p_are_those_of_its_tables_and_of_scipy(found):
    own = found["inceptive"]
    plain = np.array([83.29, 81.69, 69.98, 65.91, 82.69, 75.15, 63.50, 61.53, 74.24, 71.11])
    full = np.array([84.11, 82.42, 70.74, 66.53, 84.51, 77.08, 72.34, 65.44, 74.86, 72.11])
    told = [0.98, 0.89, 1.08, 0.94, 2.20, 2.57, 13.92, 6.35, 0.84, 1.41]
    gains = np.round(100 * (full - plain) / plain, 2).tolist()
    assert own["gains"]["reported"] == told and own["gains"]["recomputed"] == gains
    assert [at for at, (a, b) in enumerate(zip(told, gains, strict=True)) if a != b] == [2]  # 1.09
    assert own["between"]["recomputed"] == [
        min(gains),
        max(gains),
        *np.round([min(full - plain), max(full - plain)], 2),
    ]
    assert [round(gain) for gain in (min(gains), max(gains))] == own["between"]["reported"] == [1, 14]
    rows34 = REPORTED[REPORTED["paper"].eq("inceptive") & REPORTED["value"].eq(84.11) & REPORTED["table"].eq("3")]
    assert rows34["variant"].tolist() == ["inceptive c=64"] and "64 filters and not 32" in own["text"]["sentence"]
    assert own["text"]["recomputed"] == [84.11, 66.53] and own["text"]["reported"] == [84.02, 66.63]
    least = stats.wilcoxon(np.arange(1, 11)).pvalue
    two = stats.wilcoxon(np.where(np.arange(1, 11) == 2, -1, 1) * np.arange(1, 11)).pvalue  # rank sum 2 against
    assert own["wilcoxon"]["recomputed"] == [round(p, 5) for p in (least, two, least, least, least)]
    assert (least, two) == (2 / 1024, 6 / 1024) and own["wilcoxon"]["reported"][1] == 0.00585
    ways = count_rank_sums(10)
    assert sum(ways) == 1024 and ways[:4] == [1, 1, 1, 2] and ways == ways[::-1] and len(ways) == 56
    means, spreads = ([0.58, 0.61, 7.51, 0.98], [-0.08, 0.07, -0.73, -0.06])  # 81.38 - 80.80, …; 1.19 - 1.27, …
    assert own["folds"]["recomputed"] == [*means, *spreads]
    assert own["ablations"]["recomputed"] == [0.48, 0.6, 1.9, 2.03, 1.78, 4.32, 0.8, 0.73]
    assert own["full model"]["reported"] == [84.11, 84.51, 73.32, 72.11] and own["full model"]["recomputed"][2] == 72.34
    assert [row["verdict"] for row in own.values()] == [PART, HOLDS, NOT, HOLDS, HOLDS, HOLDS, PART]
