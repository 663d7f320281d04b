"""Small dialogues, a small space to answer them from, and a style, for the tests of several folders."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import torch

from psitext.assemble import build_decoder
from psitext.encoders.bert import BertConfig
from psitext.encoders.vae import Vae, VaeConfig
from psitext.experiments.runs.recipes import RespondRecipe, resolve_recipe
from psitext.heads.decoding import DecodingHead, LstmConfig
from psitext.model import TEXT, WRITTEN, Model
from psitext.text.dialogs import Dialogs, DialogsConfig, Turn, gather_turns, turns
from psitext.text.supervised import TextConfig
from psitext.text.tokenizer import Tokenizer
from psitext.text.tokenizer import train as train_tokenizer
from psitext.text.tokenizer.causal import CausalTokenizer, learn
from psitext.train.network import Network

ASKED, THINGS = ("where is", "do you like", "who took"), ("the cat", "my hat", "this tea", "our boat")
DIALOGS = [
    (f"{ask} {thing} ?", f"{thing} is here .", f"is {thing} yours ?", "no .") for ask, thing in product(ASKED, THINGS)
]
STYLE = [f"pray tell me , watson , of {thing} {end} ." for thing in THINGS for end in ("at once", "tonight", "again")]
LATENT, PLACES = 6, 24
EVERY = [one for said in DIALOGS for one in said] + STYLE


def reader() -> Tokenizer:
    """Of whole words."""
    return train_tokenizer("words", EVERY, 80)


def writer() -> CausalTokenizer:
    """Of whole words."""
    return learn("words", EVERY, 80)


def encoder(seed: int = 0, segments: int = 2) -> Vae:
    """A sentence encoder, in evaluation mode."""
    torch.manual_seed(seed)
    trunk = BertConfig(
        vocab_size=reader().vocab_size, width=16, layers=2, heads=2, hidden=16, max_len=PLACES, segments=segments,
        pool="mean", dropout=0, attention_dropout=0, init_std=0.3,
    )  # fmt: skip
    return Vae(VaeConfig(trunk=trunk, latent=LATENT)).eval()


def space(seed: int = 0, segments: int = 2) -> Model:
    """An untrained sentence space."""
    writes = writer()
    config = LstmConfig(
        vocab_size=writes.vocab_size, bos=writes.bos, eos=writes.eos, pad=writes.pad, latent=LATENT, max_len=PLACES,
        features=12, width=24, dropout=0,
    )  # fmt: skip
    decoder = build_decoder(config, seed)
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.mul_(5)  # LSTMs of this size need more to begin with
    network = Network(encoder(seed, segments), DecodingHead(decoder)).eval()
    return Model(network, {TEXT: reader(), WRITTEN: writes}, TextConfig(max_len=PLACES), config)


def gathered(config: DialogsConfig | None = None) -> Dialogs:
    """All turns, as rows."""
    return gather_turns(turns(DIALOGS), reader(), writer(), config or DialogsConfig(context_len=PLACES))


def every_turn() -> list[Turn]:
    """All turns."""
    return list(turns(DIALOGS))


def written(folder: Path) -> Path:
    """A folder with the space, the dialogues and the style in files."""
    folder.mkdir(parents=True, exist_ok=True)
    space().save(folder / "space")
    lines = ["dialogue\ttopic", *(f"{' __eou__ '.join(said)} __eou__\t1" for said in DIALOGS)]
    (folder / "said.tsv").write_text("\n".join(lines), encoding="utf-8")
    (folder / "style.txt").write_text("\n\n".join("\n".join(STYLE[at : at + 3]) for at in range(0, 12, 3)))
    (folder / "other.txt").write_text("\n".join(f"{one} and {two} went home ." for one, two in product(THINGS, THINGS)))
    return folder


def recipe(folder: Path, **changes: Any) -> RespondRecipe:
    """A recipe of a small run on those files."""
    given: dict[str, Any] = {
        "init": str(folder / "space"),
        "dialogs": {
            "files": ["said.tsv"], "dev": ["said.tsv"], "dir": str(folder), "context_len": PLACES, "max_len": PLACES,
            "max_tokens": 20,
        },
        "train": {
            "steps": 6, "epochs": None, "batch_sequences": 8, "log_every": 2, "precision": "fp32",
            "optim": {"lr": 0.01, "schedule": "constant", "warmup": 0.0},
        },
    }  # fmt: skip
    for key, value in changes.items():
        given[key] = {**given.get(key, {}), **value} if isinstance(value, dict) else value
    found = resolve_recipe("respond", None, (), given)
    assert isinstance(found, RespondRecipe)
    return found
