"""Example sentences of the papers: short phrases as printed, and sentences of our own where theirs are longer."""

from typing import NamedTuple


class PaperSentence(NamedTuple):
    """A sentence that shows what a paper discusses."""

    paper: str  # its key
    place: str  # its section
    shows: str
    text: str
    ours: bool = True  # Written for Sentiscope in place of a longer one


PAPER_SENTENCES = (
    PaperSentence("sentiformer", "I", "praise, then a refusal", "Lovely songs, fine voices, but I would not go again."),
    PaperSentence("sentiformer", "V.E", "sarcasm", "Perfect, the lift is out of order once more."),
    PaperSentence("sentiformer", "VI.A", "a far negation", "I do not, whatever my neighbours say, like this phone."),
    PaperSentence("sentiformer", "VI.C", "knowledge decides", "He finally arrived", ours=False),
    PaperSentence("sentiformer", "VI.C", "sarcasm without a sign", "I love getting spam emails", ours=False),
    PaperSentence("7ess-xin", "Fig. 6", "two feelings", "I dread exams, yet chocolate cheers me up."),
    PaperSentence("7ess-xin", "Fig. 7", "taken back at the end", "Ironing is pure joy, just joking."),
)
"""In the order of the papers."""
