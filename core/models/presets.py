"""The presets: named, complete model configurations with the paper or library that each comes from."""

from dataclasses import dataclass, field
from typing import Any

from core.models.attention_config import LAMBDA_RANGES
from core.models.config import AttentionConfig, HeadConfig, ModelConfig
from core.paper_settings import DEPARTURES, Departure

NDT = "NDT, arXiv 2603.20704"
SENTIFORMER = "SentiFormer"
TWEET = "7ess-Xin"
LEXICAL = "Sentiment Lexical Attention"
INCEPTIVE = "Inceptive Transformers"
PAPERS: dict[str, str] = {
    "ndt": "NDT",
    "sentiformer": SENTIFORMER,
    "7ess-xin": TWEET,
    "lexical": LEXICAL,
    "inceptive": INCEPTIVE,
    "baseline": "Baselines",
}  # Key → short title of each paper, in the order of the presets


@dataclass(frozen=True)
class Preset:
    """A named model configuration with its paper; `settings` are the other settings (such as training.lr) it needs."""

    model: ModelConfig
    paper: str
    source: str
    line: str
    settings: dict[str, Any] = field(default_factory=dict)
    departures: tuple[Departure, ...] = ()  # Deviations from its paper, and choices that the paper leaves open


def _make_ndt_config(attention: AttentionConfig) -> ModelConfig:
    """Return the NDT paper's model settings with a given attention: pre-norm RMSNorm and SwiGLU of width 384."""
    return ModelConfig(attention=attention, norm="rms", feedforward="swiglu", ff_width=384)


SENTIFORMER_RECIPE: dict[str, Any] = {
    "text.max_vocab": 67_000,
    "text.max_length": 512,
    "training.epochs": 20,
    "training.batch_size": 32,
    "training.lr": 1e-4,
    "training.schedule": "linear",
    "training.warmup": 0.1,
    "training.weight_decay": 0.01,
    "training.decay": "matrices",
    "training.label_smoothing": 0.1,
    "training.metric": "loss",
}  # Section 2 of the paper; the departures list what it leaves open
PRETRAINED_RECIPE: dict[str, Any] = {
    "text.tokenizer": "pretrained",
    "text.normaliser": "none",
    "training.epochs": 3,
    "training.batch_size": 32,
    "training.lr": 2e-5,
    "training.schedule": "linear",
    "training.warmup": 0.1,
    "training.weight_decay": 0.01,
    "training.decay": "matrices",
    "training.patience": 0,
}


def _make_sentiformer(line: str, *, source: str, gate: bool = True, window: int = 64, **changes: Any) -> Preset:
    model = ModelConfig(
        width=256,
        layers=6,
        attention=AttentionConfig(heads=8, gate=gate, window=window),
        ff_width=1024,
        pooling="cls",
        **{"position": "polarity-aware", **changes},
    )
    tags = {"text.tagger": "auto"} if model.needs_tags else {}
    own = (
        *(DEPARTURES["gate"] if gate else ()),
        *(DEPARTURES["window"] if window else ()),
        *(DEPARTURES["recency"] if model.position == "polarity-aware" and model.recency else ()),
        *(DEPARTURES["tagger"] if tags else ()),
        *DEPARTURES["sentiformer"],
    )
    return Preset(model, "sentiformer", f"{SENTIFORMER}, {source}", line, {**SENTIFORMER_RECIPE, **tags}, own)


def _make_tweet(version: str, phase: int) -> Preset:
    """Return a preset of the 7ess-Xin paper for a version of its Table I (sizes, batch, epochs) and a phase."""
    name, layers, width, heads, ff_width, length, batch, epochs = _TWEET[version]
    second = phase == 2
    model = ModelConfig(
        width=width,
        layers=layers,
        attention=AttentionConfig(heads=heads, rotary=second, qk_norm=second),
        position="none" if second else "sinusoidal",
        norm_place="post",
        ff_width=ff_width,
        dropout=0.2 if version == "v4" else 0.1,
        initial="torch",
    )
    settings = {
        "text.normaliser": "tweet-clean",
        "text.tokenizer": "bpe",
        "text.max_vocab": 30_000,
        "text.max_length": length,
        "training.batch_size": batch,
        "training.epochs": epochs,
        "training.lr": 1e-4 if version == "v4" else 5e-4,
        "training.schedule": "constant",
        "training.warmup": 0.0,
        "training.weight_decay": 0.01,
        "training.metric": "f1_macro",
        "training.patience": 0,
        **({"data.limit": 80_000} if version == "v5" else {}),
    }
    inside = "rotary positions, cosine scores with a learned temperature" if second else "sinusoidal positions"
    line = f"{name}: {layers} layers, width {width}, {heads} heads; {inside}."
    source = f"{TWEET}, Table I, {version.upper()}, phase {phase}"
    own = [*DEPARTURES["v8-width"]] if version == "v8" else []
    if ff_width == width and version != "v8":
        own.append(DEPARTURES["halved"][0]._replace(instead=str(2 * width)))
    if version == "v5":
        own += DEPARTURES["v5-rows"]
    if released := _RELEASED_VOCABULARY.get(version):
        [each] = DEPARTURES["released-vocabulary"]
        own.append(each._replace(paper=each.paper.format(f"{released:,}"), instead=str(released)))
    return Preset(model, "7ess-xin", source, line, settings, (*DEPARTURES["tweet"], *own))


_TWEET = {
    "v1": ("Baseline", 3, 128, 4, 128, 128, 64, 10),
    "v2": ("Deeper", 6, 128, 4, 128, 128, 64, 10),
    "v3": ("Wider", 3, 256, 8, 512, 128, 32, 10),
    "v4": ("Tuned (smaller steps, more dropout)", 3, 128, 4, 128, 128, 128, 15),
    "v5": ("A sixteenth of the data", 3, 128, 4, 128, 128, 64, 10),
    "v6": ("Longer input", 6, 128, 4, 128, 148, 64, 15),
    "v7": ("Extra deep", 8, 128, 4, 128, 148, 64, 15),
    "v8": ("Balanced", 5, 192, 6, 192, 148, 64, 15),
    "v9": ("More heads", 6, 128, 16, 128, 148, 64, 15),
    "v10": ("Long sequences", 6, 128, 4, 128, 256, 48, 15),
}
_RELEASED_VOCABULARY = {"v5": 20_000, **{f"v{version}": 35_000 for version in range(6, 11)}}


def _make_lexical(line: str, **attention: Any) -> Preset:
    model = ModelConfig(
        width=256, layers=4, attention=AttentionConfig(heads=4, **attention), ff_width=512, pooling="cls"
    )
    lexicon = {"text.lexicon": "vader"} if model.needs_lexicon else {}
    own = (*DEPARTURES["lexical"], *DEPARTURES["sigma"]) if lexicon else DEPARTURES["lexical"]
    own = (*own, *DEPARTURES["hadamard"]) if model.attention.lexical == "hadamard" else own
    return Preset(model, "lexical", f"{LEXICAL}, Table 1", line, {"text.max_length": 128, **lexicon}, own)


INCEPTIVE_RECIPE: dict[str, Any] = {
    "text.max_length": 128,
    "training.epochs": 12,
    "training.batch_size": 32,
    "training.weight_decay": 1e-3,
    "training.warmup": 0.0,
    "training.patience": 0,
}  # Section 2 of the paper, with the default learning rate, as encoders start from scratch
INCEPTIVE_HEAD: dict[str, Any] = {"kernels": "2,3,5,7", "channels": 64, "attention_heads": 8, "dense": 512}


def _make_inceptive(line: str, *, source: str = "Table 7", **head: Any) -> Preset:
    model = ModelConfig(head=HeadConfig(**head))
    own = (*DEPARTURES["inceptive"], *(DEPARTURES["convolutions"] if model.head.kernels else ()))
    own = (*own, *DEPARTURES["heads"]) if model.head.attention_heads else own
    own = (*own, *DEPARTURES["no-head-dropout"]) if model.head.linear else own
    return Preset(model, "inceptive", f"{INCEPTIVE}, {source}", line, INCEPTIVE_RECIPE, own)


TFIDF_SETTINGS: dict[str, Any] = {"text.max_vocab": 5_000_000}

PRESETS: dict[str, Preset] = {
    "vanilla": Preset(
        ModelConfig(),
        "ndt",
        f"{NDT}, section IV-A2 (Vanilla)",
        "Plain transformer encoder: LayerNorm, ReLU 256, four heads.",
        departures=DEPARTURES["ndt"],
    ),
    "vanilla-swiglu": Preset(
        _make_ndt_config(AttentionConfig()),
        "ndt",
        "control, not in the paper",
        "Plain attention in the body of NDT (RMSNorm, SwiGLU 384): separates attention from feed-forward.",
        departures=DEPARTURES["ndt"],
    ),
    "differential": Preset(
        _make_ndt_config(
            AttentionConfig(heads=2, qk_width="half", components=2, mixing="differential", head_norm=True)
        ),
        "ndt",
        "Differential Transformer, arXiv 2410.05258, as baseline of NDT; bidirectional",
        "Two maps, the second subtracted with a learned lambda; per-head norm.",
        departures=DEPARTURES["differential"],
    ),
    "differential-v2": Preset(
        _make_ndt_config(AttentionConfig(heads=2, qk_width="half", components=2, mixing="differential-v2")),
        "ndt",
        "Differential Transformer V2 (official repository); bidirectional",
        "Two maps, lambda a sigmoid of the token, one per head; no per-head norm.",
        departures=DEPARTURES["differential"],
    ),
    **{
        f"ndt-{constraint}-n{n}": Preset(
            _make_ndt_config(
                AttentionConfig(heads=2, qk_width="half", components=n, mixing="additive", constraint=constraint)
            ),
            "ndt",
            f"{NDT}, eqs. 2-7, {between.plain}, N={n}",
            f"Adds {n - 1} attention map{'s' * (n > 2)}, each weighted by a lambda in {between.plain}.",
            departures=DEPARTURES["additive"],
        )
        for constraint, between in LAMBDA_RANGES.items()
        for n in (2, 3, 4)
    },
    "sentiformer": _make_sentiformer(
        "Gated attention over neighbours and a few global tokens; positions with recency and part of speech.",
        source="section IV.C",
    ),
    "sentiformer-sinusoidal": _make_sentiformer(
        "Ablation: plain sinusoidal positions.", source="Table II", position="sinusoidal"
    ),
    "sentiformer-no-gate": _make_sentiformer("Ablation: no gate on the keys.", source="Table II", gate=False),
    "sentiformer-full": _make_sentiformer("Ablation: every token sees every other.", source="Table II", window=0),
    "sentiformer-no-norm": _make_sentiformer("Ablation: no layer normalisation.", source="Table II", norm="none"),
    "sentiformer-no-pos": _make_sentiformer(
        "Positions without part of speech.", source="control, not in the paper", pos_tags=False
    ),
    "sentiformer-no-recency": _make_sentiformer(
        "Positions without recency.", source="control, not in the paper", recency=False
    ),
    **{f"tweet-{version}-p{phase}": _make_tweet(version, phase) for version in _TWEET for phase in (1, 2)},
    "lexical-none": _make_lexical("The backbone alone: no lexicon."),
    "lexical-all": _make_lexical("Sigma added in all heads.", lexical="add"),
    "lexical-all-scaled": _make_lexical(
        "Sigma added in all heads, divided by sqrt(head width).", lexical="add", lexical_scaled=True
    ),
    "lexical-last": _make_lexical("Sigma added in the last head of every layer.", lexical="add", lexical_heads="last"),
    "lexical-last-scaled": _make_lexical(
        "Sigma added in the last head, divided by sqrt(head width).",
        lexical="add",
        lexical_heads="last",
        lexical_scaled=True,
    ),
    "lexical-hadamard": _make_lexical("Baseline: scores multiplied by sigma (Xia et al. 2021).", lexical="hadamard"),
    **{
        f"inceptive-{c}": _make_inceptive(
            f"Convolutions of widths 2, 3, 5 and 7 with {c} channels each, attention, a dense layer.",
            source="section 3",
            **{**INCEPTIVE_HEAD, "channels": c},
        )
        for c in (16, 32, 64, 128)
    },
    "inceptive-no-attention": _make_inceptive(
        "Ablation: the head without its attention.", **{**INCEPTIVE_HEAD, "attention_heads": 0}
    ),
    "inceptive-no-dense": _make_inceptive(
        "Ablation: the head without its dense layer.", **{**INCEPTIVE_HEAD, "dense": 0}
    ),
    "inceptive-mean": _make_inceptive("Control: mean of the encoder's tokens.", source="control, not in the paper"),
    "inceptive-mean-dense": _make_inceptive(
        "Control: mean and a dense layer, no convolutions.", source="control, not in the paper", dense=512
    ),
    "inceptive-single": _make_inceptive(
        "Control: one convolution of width 3 in place of four.",
        source="control, not in the paper",
        **{**INCEPTIVE_HEAD, "kernels": "3"},
    ),
    "bilstm": Preset(
        ModelConfig(family="bilstm", width=300, layers=2, ff_width=256, dropout=0.5),
        "baseline",
        f"{SENTIFORMER}, section V (BiLSTM, 2 layers of 256); its dropout is not stated",
        "Two layers read the words one after the other in both directions; the last state of each answers.",
        {"training.lr": 1e-3},
        DEPARTURES["baseline-training"],
    ),
    "cnn": Preset(
        ModelConfig(family="cnn", width=300, head=HeadConfig(kernels="3,4,5", channels=100), dropout=0.5),
        "baseline",
        f"{SENTIFORMER}, Table I (CNN, widths 3, 4, 5); Kim (2014)",
        "Looks for patterns of three to five words, wherever they stand.",
        {"training.lr": 1e-3},
        (*DEPARTURES["baseline-training"], *DEPARTURES["filters"]),
    ),
    "tfidf-logreg": Preset(
        ModelConfig(family="tfidf-logreg"),
        "baseline",
        "scikit-learn: TF-IDF of 1-2-grams with logistic regression, C chosen on validation",
        "The yardstick: no word order beyond pairs of neighbours.",
        TFIDF_SETTINGS,
    ),
    "tfidf-logreg-chars": Preset(
        ModelConfig(family="tfidf-logreg"),
        "baseline",
        "scikit-learn: TF-IDF of 1-2-grams and of character 2-5-grams within words, with logistic regression, C chosen "
        "on validation",
        "The second yardstick: knows words by their parts too, such as endings, hashtags and misspellings.",
        {**TFIDF_SETTINGS, "text.char_ngrams": 5},
    ),
    "tfidf-nb": Preset(
        ModelConfig(family="tfidf-nb"),
        "baseline",
        "scikit-learn: multinomial naive Bayes on TF-IDF of 1-2-grams, alpha chosen on validation",
        "Each word and pair speaks for itself: how much more frequent it is in one class than in the others.",
        TFIDF_SETTINGS,
    ),
    "tfidf-svm": Preset(
        ModelConfig(family="tfidf-svm"),
        "baseline",
        "scikit-learn: linear support vector machine on TF-IDF of 1-2-grams, C and probabilities fitted on validation",
        "Words and pairs weighed so that the classes lie as far apart as they can.",
        TFIDF_SETTINGS,
    ),
    "lexicon": Preset(
        ModelConfig(family="lexicon"),
        "baseline",
        "valences of a lexicon, summed or averaged; logistic regression on that one number",
        "How positive the words of a text are by a lexicon, and nothing else.",
        {"text.lexicon": "vader", "text.min_freq": 1, "text.max_vocab": 5_000_000},
    ),
    "pretrained": Preset(
        ModelConfig(
            family="pretrained", width=768, layers=12, attention=AttentionConfig(heads=12), ff_width=3072, pooling="cls"
        ),
        "baseline",
        "Devlin et al. (2019), section 4.1 and A.3: fine-tuning; any encoder of the BERT family",
        "An encoder that others have trained on much text, fine-tuned: --set model.backbone=NAME.",
        PRETRAINED_RECIPE,
        DEPARTURES["pretrained"],
    ),
}


def find_paper(preset: str) -> str:
    """Return the key of the paper that a preset is from; empty if there is no such preset."""
    return PRESETS[preset].paper if preset in PRESETS else ""
