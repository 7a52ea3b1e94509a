"""The figure of a sweep over a numeric setting: its lines, bands, names and axis."""

from dashboard.figures.sweeps import describe_fits, draw_curves
from dashboard.figures.theme import Look

FIT = {"a": 0.1, "b": 1.5, "c": 0.4, "residual": 0.0}


def curve(label, deviation, error=None):
    means = {250: 0.5, 1000: 0.6, 4000: 0.8}
    points = [{"x": x, "mean": mean, "deviation": deviation, "n": 3} for x, mean in means.items()]
    return {"label": label, "points": points, "error": error}


def test_each_model_has_a_line_and_a_band_and_tfidf_is_dashed():
    curves = [curve("a<b", 0.1, FIT), curve("one seed", None)]
    yardstick = [{"x": 250, "mean": 0.7}, {"x": 4000, "mean": 0.9}]
    shown = {"setting": "data.limit", "metric": "accuracy", "logarithmic": True}
    shown |= {"yardstick": yardstick, "curves": curves}
    figure = draw_curves(shown, Look())
    band, line, flat, _, tfidf = figure.data
    assert list(band.y) == [0.6, 0.7, 0.9, 0.7000000000000001, 0.5, 0.4]
    assert (list(line.x), list(line.y)) == ([250, 1000, 4000], [0.5, 0.6, 0.8])
    assert list(flat.y) == [0.5, 0.6, 0.8, 0.8, 0.6, 0.5]
    assert (list(tfidf.y), tfidf.line.dash) == ([0.7, 0.9], "dash")
    assert {each.text for each in figure.layout.annotations} == {"a&lt;b", "one seed", "TF-IDF"}
    axis = figure.layout.xaxis
    assert (axis.type, list(axis.ticktext)) == ("log", ["250", "1\u202f000", "4\u202f000"])
    assert describe_fits(shown) == "Fitted error over n rows: a<b 0.100 + 1.50·n^−0.40."
    assert describe_fits({**shown, "curves": curves[1:]}) == ""
