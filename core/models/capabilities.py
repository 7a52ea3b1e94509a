"""The capabilities of a model (such as maps, lambda, gates), which pages check to choose views. Imports no torch."""

from core.models.config import Family, ModelConfig

BASELINES: dict[Family, frozenset[str]] = {
    "bilstm": frozenset({"pooled", "embedding"}),
    "cnn": frozenset({"pooled", "embedding", "branches"}),
    "tfidf-logreg": frozenset(),
    "tfidf-nb": frozenset(),
    "tfidf-svm": frozenset(),
    "lexicon": frozenset({"polarity"}),
    "function": frozenset(),
}  # Without `pooled` a text has no vector: the classifier reads counts, or one number

HEAD, EMBEDDING = "head", "embedding"  # The spaces of the head's input and of the first layer's input


def list_spaces(config: ModelConfig) -> tuple[str, ...]:
    """List the model parts that yield a text vector: head input, and means over the tokens of embedding and layers."""
    if "pooled" not in list_capabilities(config):
        return ()
    if "hidden" not in list_capabilities(config):
        return (HEAD,)
    return (HEAD, EMBEDDING, *(f"layer {number}" for number in range(1, config.layers + 1)))


def list_capabilities(config: ModelConfig) -> frozenset[str]:
    """Return what a model configuration has, which tells pages what can be shown: the names below."""
    if not config.layered:
        return BASELINES[config.family]
    part = config.attention
    names = {
        "maps": True,
        "embedding": True,
        "hidden": True,
        "pooled": True,
        "lambda": part.components > 1,
        "token-lambda": part.lambda_input or part.mixing == "differential-v2",
        "gates": part.gate,
        "lexical": part.lexical != "none",
        "temperature": part.qk_norm,
        "support": part.window > 0,
        "positions": config.position == "polarity-aware",
        "tags": config.needs_tags,
        "polarity": config.needs_lexicon,
        "branches": bool(config.head.kernels),
        "head-maps": config.head.attention_heads > 0,
        "ngrams": config.ngram_buckets > 0,
        "backbone": config.family == "pretrained",
    }
    return frozenset(name for name, has in names.items() if has)
