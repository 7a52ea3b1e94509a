"""`sentiscope data check --lexicon`: what it says about a lexicon, and its JSON."""

import pandas as pd


def test_the_command_tells_the_fit(cli, place):
    texts = ["a good film", "a bad film", "good and bad", "the day", "a bad day", "so good"]
    (place / "words.csv").write_text("word,polarity\ngood,1\nbad,-1\n")
    rows = pd.DataFrame({"text": [f"{one} {n}" for n in range(20) for one in texts], "label": [1, 0, 1, 0, 1, 1] * 20})
    rows.assign(label=rows["label"].map({0: "negative", 1: "positive"})).to_csv(place / "films.csv", index=False)
    said = " ".join(cli.lines("data", "check", "films.csv", "--lexicon", "words.csv"))
    assert "lists" in said and "it agrees with the label in" in said and "always the larger polarity" in said
    assert cli.json("data", "check", "films.csv", "--lexicon", "words.csv")["lexicon"]["agreement"] > 0.5
