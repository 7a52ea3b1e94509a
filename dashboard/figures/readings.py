"""How each figure is to be read and how it is computed: said on the pages and in exported files alike."""

from __future__ import annotations

from core.evaluation.projection import Method
from core.evaluation.significance import METHOD

LEARNING = "Stop when the validation loss turns upwards while the training loss still falls."
LEARNING_HOW = (
    "Training loss is that of each logged batch; validation is measured on all validation sentences after each epoch. "
    "The best epoch by the validation metric is kept. Whiskers: 95 % bootstrap interval of an accuracy, over the "
    "sentences."
)
LAMBDAS = (
    "Left: the value; above zero a component is added, below zero it is taken away. Right: the same, counted from its "
    "first value and magnified. The stronger the line, the deeper the layer."
)
LAMBDAS_HOW = (
    "One value for each layer and component, logged with the loss; where heads or tokens differ, their mean. "
    "All panels on the right share one scale, so that the components can be compared."
)
CONFUSION = "Rows are what the sentence is, columns what the model said; the diagonal is correct."
CONFUSION_HOW = (
    "Counts and the share of their row, which does not depend on how frequent a class is; the colour follows the large "
    "number. What the model says depends on the threshold."
)
OUTCOMES = (
    "Grey answers are right, magenta ones wrong. A model that knows when it is wrong has its magenta in the middle."
)
OUTCOMES_TOP = (
    "Grey answers are right, magenta ones wrong. A model that knows when it is wrong has its magenta at the left."
)
OUTCOMES_HOW = "Each bar holds the sentences whose probability lies in a twentieth; the line is the threshold."
ROC = (
    "How many of a class are found (recall) against how many others are taken for it, over all thresholds; "
    "dotted: guessing, ring: the threshold."
)
ROC_HOW = (
    "Each class against all others. The area is the chance that a sentence of the class gets a higher probability "
    "for it than a sentence of another class."
)
PR = "Of those said to be the class, how many are (precision), against how many of it are found; ring: the threshold."
PR_HOW = (
    "Unlike ROC it shows what a rare class costs. The number is the average precision: the mean over recall gained."
)
CALIBRATION = (
    "Of the sentences to which the model gives 0.8, eight in ten should be so: bars should end on the dotted line."
)
CALIBRATION_HOW = (
    "Ten bins of the probability; the whisker is the 95 % interval (Wilson), the number above is n. "
    "Pale bars rest on fewer than 30 sentences."
)
PHENOMENA = (
    "Whiskers: 95 % interval (Wilson). Ring: TF-IDF with logistic regression, known on test. Grey: fewer than 30 "
    "sentences."
)
PHENOMENA_HOW = "Each sentence has one phenomenon, its hardest; right is what is right at the threshold."
LABELS = "Ring: F1 at a threshold of 0.5, dot: at the label's tuned one. Grey: fewer than 30 sentences have it."
LABELS_HALF = "Ring: F1 at a threshold of 0.5; no others were tuned. Grey: fewer than 30 sentences have it."
LABELS_HOW = (
    "Each label against the rest. A tuned threshold is the one with the best F1 on validation; of a rare label it "
    "rests on few sentences, and may help there and harm elsewhere. AUPR and ROC-AUC do not depend on it."
)
MAP: dict[Method, str] = {
    "pca": "Each point is a sentence, seen along the directions in which the sentences differ most.",
    "tsne": "Each point is a sentence; neighbours are alike. Sizes of clusters and gaps between them mean nothing.",
    "umap": "Each point is a sentence; neighbours are alike. Distances between clusters mean little.",
}
MAP_HOW: dict[Method, str] = {
    "pca": "The vectors that the model's head reads, centred, on their first principal axes (singular value "
    "decomposition, exact). A new sentence is placed exactly.",
    "tsne": "openTSNE on the vectors that the model's head reads: perplexity 30 (less for few sentences), exact "
    "neighbours, started from PCA, one seed. Look at several seeds before believing a shape.",
    "umap": "umap-learn on the vectors that the model's head reads: 15 neighbours, least distance 0.1, one seed. "
    "Look at several seeds before believing a shape.",
}
SILHOUETTE = (
    "A line for each sentence, sorted within its true class; to the left of zero it lies nearer to another class. "
    "Solid: the mean of a class; dotted: of all. Believe the original space where the two disagree."
)
SILHOUETTE_HOW = (
    "(b − a) / max(a, b), a being the mean distance to the own class and b that to the nearest other one "
    "(Rousseeuw 1987), Euclidean, by true class."
)
COURSE = {
    "change": "Upwards: how far lambda has moved since the first step, on one scale for all panels, as it is often "
    "thousandths. Thick: this run; grey: the others; band and dashes: range and mean over seeds.",
    "value": "Upwards: lambda itself; every panel spans the same amount around its own values, so a movement looks as "
    "large wherever it is. Thick: this run; grey: the others; band and dashes: range and mean over seeds; dotted: the "
    "reported end.",
}
COURSE_HOW = (
    "Lambda is logged with the training loss. The band spans the smallest and largest value over runs that differ only "
    "in their seed, the dashed line is their mean. The validation loss below has the same axis."
)
GRID = "Rows of a map read, columns are read. The page colour is zero, and all maps share one scale."
GRID_HOW = (
    "Each row is a component times its coefficient; the last is their sum, with which the values are weighted. "
    "Per row divides by the row's strongest weight. Against uniform is 0 where a row spreads its sum evenly: weight "
    "times tokens, minus that sum, which is 1 for a plain softmax."
)
WEIGHTS = "Every component beside the first enters the sum with this coefficient; a negative one takes attention away."
NUMBERS = "Several values are those of the layers, from the first to the last; a single one belongs to the whole model."
GATES = "The stronger the colour, the more freely other tokens look at this one; near the page colour, hardly at all."
GATES_HOW = (
    "Sigmoid of a learned linear map of the token's vector in that layer; its logarithm is added to every score in "
    "which the token is read (SentiFormer, equation 4). A class token has the gate 1."
)
GATE_BARS = "The same of the chosen layer: 1 is wide open, 0 hides the token as padding is hidden."
TOKEN_LAMBDA = "The weight with which a further component enters the sum, where this token is the reader."
POLARITY = (
    "The three numbers of a token sum to 1; a third each where the lexicon does not know the word. "
    "Blue speaks for the positive class (more positive or less negative than a third), orange for the negative one."
)
POLARITY_HOW = (
    "Counts of the lexicon's entries for the word, each weighted by its intensity, with one added to every class "
    "(Laplace) and normalised (Sentiment Lexical Attention, section 3)."
)
SIGMA = (
    "σ of two tokens is the product of their polarities. Shown is by how much it differs from σ with a neutral token: "
    "blue draws two tokens together, orange pushes them apart."
)
SUPPORT = "Filled: the reader (row) may see the token (column): its neighbours, and the few tokens that all see."
BRANCHES = "How strongly the filters of each width answer around this token, after the ReLU."
HEAD_READING = "How much the head's own attention reads each token, on average over readers and heads."
COURSE_NUMBERS = "The stronger the line, the deeper the layer; a single line belongs to the whole model."
SWEEP = "Small dots: single runs; large: their mean, the line one sample deviation to each side. Ring: TF-IDF."
SWEEP_HOW = (
    "Measured on the test split of each run. The ring is TF-IDF with logistic regression on the same training texts. "
    "Runs that differ in seed only share their test texts: their deviation does not say what other texts would give."
)
SWEEP_TABLE = (
    "± is the sample deviation of the runs. Behind a difference stands its 95 % interval; a star marks one that is "
    f"significant at 5 %. {METHOD}"
)
