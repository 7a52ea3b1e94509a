import pytest
import tokenizers as hf
import torch
from tiny_backbones import FAMILIES, backbone

from core.config import compose
from core.models.builder import build_model
from core.models.trace import Batch
from core.runs.backbone_weights import read_tokenizer, split_backbone
from core.runs.backbones import Backbone
from core.text.config import TextConfig
from core.text.text_pairs import join_pair
from core.text.token_table import build_token_table
from core.text.tokenizer_factory import fit_tokenizer, restore_tokenizer

pytestmark = pytest.mark.slow

PAIRS = [("good film", "the plot was not bad"), ("awful", "very great film and good"), ("film", "film")]
TEXTS = [join_pair(*pair) for pair in PAIRS]
TYPED = ("bert", "electra")


def with_pairs(folder, family):
    """A backbone whose tokenizer has the template of its family."""
    path = str(backbone(folder, family) / "tokenizer.json")
    pipeline = hf.Tokenizer.from_file(path)
    first, last, between = ("<s>", "</s>", "</s> </s>") if "roberta" in family else ("[CLS]", "[SEP]", "[SEP]")
    second = 0 if "roberta" in family else 1
    pipeline.post_processor = hf.processors.TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first} $A {between} $B:{second} {last}:{second}",
        special_tokens=[(name, pipeline.token_to_id(name)) for name in (first, last)],
    )
    pipeline.save(path)
    return pipeline


@pytest.fixture(scope="module", params=FAMILIES)
def known(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    pipeline = with_pairs(folder, request.param)
    found = Backbone(request.param, folder)
    config = TextConfig(tokenizer="pretrained", normaliser="none")
    return found, fit_tokenizer(TEXTS, config, read_tokenizer(found)), pipeline


def test_pairs_are_encoded_like_the_library(known):
    import transformers

    found, tokenizer, pipeline = known
    config = compose("pretrained", {"model.backbone": str(found.folder), "model.dropout": 0, **found.settings}).model
    body = split_backbone(found.architecture, config.dropout, tokenizer, found.folder)
    torch.manual_seed(1)
    model = build_model(config, vocabulary=0, classes=3, body=body, pairs=tokenizer.pairs).eval()
    own = transformers.AutoModel.from_pretrained(found.folder, attn_implementation="sdpa").eval()
    completed, keep = model.complete_batch(Batch.from_arrays(build_token_table(tokenizer, TEXTS).pad_all()))
    with torch.no_grad():
        vectors = model._run_layers(
            model._build_input(model.embed_tokens(completed), completed), completed, trace=False, intervene=()
        )[0]
    for row, pair in enumerate(PAIRS):
        theirs = pipeline.encode(*pair)
        assert [3 if each < 0 else each for each in (completed.ids[row, keep[row]] - 2).tolist()] == theirs.ids
        types = {"token_type_ids": torch.tensor([theirs.type_ids])} if found.architecture["model_type"] in TYPED else {}
        with torch.no_grad():
            expected = own(torch.tensor([theirs.ids]), **types).last_hidden_state[0]
        torch.testing.assert_close(vectors[row, keep[row]], expected, rtol=0, atol=1e-5)


def test_pairs_keep_both_texts_when_truncated_and_their_mark_cannot_be_typed(known):
    found, tokenizer, _ = known
    long = fit_tokenizer([join_pair("good " * 50, "bad " * 50)] * 3, tokenizer.config, read_tokenizer(found))
    assert len(long.encode(join_pair("good " * 50, "bad " * 3)).ids) == long.max_length <= 38
    assert restore_tokenizer(long.to_json()).encode_batch(TEXTS) == long.encode_batch(TEXTS)
    _, tokenizer, _ = known
    mark = tokenizer.between
    for name in ("[SEP]", "</s>"):
        assert tokenizer.encode(join_pair(f"good {name} film", f"{name} bad")).ids.count(mark[0]) == len(mark)
