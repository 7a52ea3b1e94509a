"""Own sentences, and small runs with drawn weights, for tests of exported models."""

import dataclasses

import torch

from core.models.builder import build_model
from core.models.config import ModelConfig
from core.models.presets import PRESETS
from core.runs.load import LoadedRun, load_run, pack_weights
from core.runs.record import WEIGHTS
from core.runs.store import RunStore
from core.text.config import TextConfig
from core.text.tokenizer_factory import fit_tokenizer

NASTY = (
    *("", " ", "Not bad at all!", "I LOVED it :) #BuyTheDip @user_1 https://t.co/x &amp; more", "ΟΔΟΣ ΣΟΦΟΣ άς"),
    *("Soooo goooood… “quoted” don’t can't we'll THEY'VE", "İstanbul IŞIK straße", "日本語のテキスト 좋아요 한국어"),
    *(
        "fiﬁ ﬂow ＡＢＣ１２３ ﾡ 㐀",
        "👍🏽 👨‍👩‍👧 🇩🇪🇫🇷 ❤️ 1️⃣ #️⃣ ☺",
        "a\u00adb\u200bc\ufeffd e\u2060f\tg\nh\x85i\u00a0j\u3000k",
    ),
    *("x² ½ ⅻ Ⅷ 3.5% 1,000.50 2nd q3 a_b __init__", "क्षत्रिय नमस्ते", "e\u0301 é cafe\u0301 ñ", "it's 's 'S ’re o’clock"),
    *("AT&T &lt;b&gt; &copy; &copy &nbsp; &#39;ok&#39; &#x27;", "<br>line<br/>two</br >x <BR >", "<url> <user> <pad>"),
    *("http https HTTPS://X.Y www.foo.bar awww.what www. x", "#a#b ##c #1 a#b #Tag! #HTTPFoo #ÉtéÀParis", "..,,;;--"),
    *(
        "@@x a@b.c @Ünal mail@x.de",
        "  many   blanks  ",
        "ℹ info ℹx ‼ ⁉ ™ ↔",
        "\u200cx می‌خواهم a\u200db",
        "don`t wasn´t",
    ),
)
"""Texts of which each has something that programs normalise in different ways."""
PLAIN = [
    f"The {thing} was {word}{end}"
    for thing, end in (("film", "."), ("food", "!"), ("phone", ", I think"), ("hotel", " but small"))
    for word in ("great", "not bad at all", "awful", "too long", "never what we hoped for")
]
SENTENCES = [*NASTY, *PLAIN, "good " * 300, "The end was bad. " * 40]


def draw_run(starters, model: ModelConfig, **text) -> LoadedRun:
    """Return a loaded run with a small tokenizer of its own and drawn weights."""
    record = load_run(RunStore(starters), "starter-ndt-small").record
    settings = TextConfig(min_freq=1, max_vocab=700, max_length=40, **text)
    tokenizer = fit_tokenizer([*PLAIN, *NASTY] * 2, settings)
    torch.manual_seed(1)
    network = build_model(model, vocabulary=tokenizer.size, classes=2, max_length=40).eval().requires_grad_(False)
    for weight in network.parameters():
        weight.add_(torch.randn(weight.shape) * 0.15)
    config = dataclasses.replace(record.config, model=model, text=settings)
    record = dataclasses.replace(record, run="drawn", preset="", config=config, max_length=40)
    return LoadedRun(record, network, tokenizer, starters)


def small(preset: str, **changes) -> ModelConfig:
    """Return a preset's model with small widths."""
    return dataclasses.replace(PRESETS[preset].model, **{"width": 32, "layers": 2, "ff_width": 24, **changes})


def keep_weights(run: LoadedRun, folder) -> LoadedRun:
    """Return the run with a folder that has its weights."""
    (folder / WEIGHTS).write_bytes(pack_weights(run.model, "float32"))
    return dataclasses.replace(run, folder=folder)
