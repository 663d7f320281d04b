"""A preset of tiny contenders, one of every way and family, for the tests of comparisons."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import toys
import vaes
from psitext.assemble import build_encoder
from psitext.encoders.qbert import QbertConfig
from psitext.model import TEXT, Model, Sentences, load
from psitext.text.supervised import TextConfig
from psitext.train.network import Network

TRAIN = 'train = { steps = 6, batch_sequences = 8, precision = "fp32", evaluate_every = 1000 }'
RAC = f"""
[[contenders]]
name = "rac"
title = "RAC"
how = "finetune"
config = "rac"
[contenders.recipe]
tokenizer = {{ vocab_size = 64 }}
encoder = {{ bond = 4, features = 4 }}
{TRAIN}
"""


def tuned(name: str, init: Path) -> str:
    """A contender that is fine-tuned from a model."""
    return f"""
[[contenders]]
name = "{name}"
title = "{name}, fine-tuned"
how = "finetune"
init = "{init}"
[contenders.recipe]
{TRAIN}
"""


@cache
def qbert() -> Path:
    """The folder of an untrained QBERT with the tokenizer of ``toys.pretrained``."""
    tokenizer = load(toys.pretrained()).tokenizer
    config = QbertConfig(vocab_size=tokenizer.vocab_size, width=8, layers=1, heads=2, hidden=12, max_len=32)
    model = Model(Network(build_encoder(config), Sentences()).eval(), {TEXT: tokenizer}, TextConfig(max_len=32))
    return model.save(toys.folder() / "qbert")


def preset(path: Path, whole: bool = False) -> Path:
    """A preset with majority, bag of words, a frozen BERT and a RAC; ``whole`` adds the other families."""
    parts = ['seeds = 2\n[[contenders]]\nname = "majority"\ntitle = "majority"\nhow = "majority"\n']
    parts += ['[[contenders]]\nname = "bag-of-words"\ntitle = "bag of words"\nhow = "bag-of-words"\n']
    parts += [
        f'[[contenders]]\nname = "bert-frozen"\ntitle = "frozen"\nhow = "frozen"\ninit = "{toys.pretrained()}"\n'
        'recipe = { pool = "mean" }\n',
        RAC,
    ]
    if whole:
        parts += [tuned("bert", toys.pretrained()), tuned("qbert", qbert()), tuned("optimus", vaes.space())]
    also = '[[also]]\nname = "{name}-frozen"\ntitle = "{name}"\nhow = "frozen"\ninit = "{name}"\n'
    path.write_text("".join([*parts, also]), encoding="utf-8")
    return path
