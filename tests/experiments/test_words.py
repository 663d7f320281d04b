"""Word vectors out of another model: which, who keeps them still, and that the model then stands alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

import toys
import vaes
from psitext.assemble import build_encoder
from psitext.encoders.qbert import QbertConfig
from psitext.encoders.rac import Rac, RacConfig
from psitext.encoders.words import principal
from psitext.errors import UserError
from psitext.experiments.finetune import finetune_run
from psitext.experiments.run import finetune_recipe
from psitext.experiments.runs.recipes import FinetuneRecipe
from psitext.model import TEXT, Model, Sentences, load
from psitext.state import SentenceState
from psitext.text.examples import Example
from psitext.text.supervised import TextConfig
from psitext.train.network import Network

QUICK = ["train.epochs=1", "encoder.features=6", "encoder.bond=3", "text.max_len=12", "encoder.max_len=12"]


def reading(folder: Path, words: str | Path, *settings: str) -> FinetuneRecipe:
    """A small circuit on a table, which reads another model's words."""
    table = toys.table(folder / "own.csv", [("text", "label"), *toys.words_and_labels(40)])
    given = {"data": table, "text": "text", "label": "label", "encoder": "rac", "words": words, "seed": 3}
    return finetune_recipe(None, **given, settings=[*QUICK, *settings])  # type: ignore[arg-type]


def complex_model(folder: Path) -> Path:
    """A QBERT with the tokenizer of the pre-trained BERT, saved."""
    reader = load(toys.pretrained()).tokenizer
    config = QbertConfig(vocab_size=reader.vocab_size, width=8, layers=1, heads=2, hidden=8, max_len=16)
    network = Network(build_encoder(config), Sentences()).eval()
    return Model(network, {TEXT: reader}, TextConfig(max_len=16)).save(folder / "complex")


def vectors_of(model: Model) -> torch.Tensor:
    """Every token's static vector, imaginary parts after real ones."""
    table = model.encoder.token.state_dict()
    return table["weight"] if "weight" in table else torch.cat([table["weight_re"], table["weight_im"]], dim=1)


@pytest.mark.parametrize("source", ["bert", "qbert", "space"])
def test_law_words_are_the_principal_features_of_the_source_and_stay(source: str, tmp_path: Path) -> None:
    paths = {"bert": toys.pretrained, "space": vaes.space, "qbert": lambda: complex_model(tmp_path)}
    path = paths[source]()
    given = load(path)
    model = finetune_run(reading(tmp_path, path), tmp_path / "run")
    assert isinstance(model.encoder, Rac)
    assert model.law is not None
    assert model.tokenizer.fingerprint == given.tokenizer.fingerprint
    assert model.encoder.config.words == "frozen"
    wanted = principal(vectors_of(given), model.law.words, 6)
    assert_close(model.encoder.token.weight.detach(), wanted, rtol=0, atol=0)
    assert model.facts["words from"] == path.name


def test_law_the_model_stands_alone_and_all_its_verbs_work(tmp_path: Path) -> None:
    source = Path(shutil.copytree(toys.pretrained(), tmp_path / "source"))
    finetune_run(reading(tmp_path, source), tmp_path / "run")
    shutil.rmtree(source)
    model = load(tmp_path / "run")
    texts = ["good fine", "dull grim", "good"]
    examples = [Example(text=text) for text in texts]
    told = model.explain("good fine")
    assert told.words and bool(told.shapley.isfinite().all())
    assert_close(told.shapley.sum(-1).flatten(), (told.logits - told.nothing).flatten(), rtol=1e-8, atol=1e-10)
    assert model.to_mps(length=4).entropy_bits().shape == (3,)
    assert {"hidden", "inputs"} <= model.to_mps(length=4).to_numpy().keys()
    odds, smaller = (torch.from_numpy(one.logits(examples)).diff() for one in (model, model.compress(chi=4).model))
    assert_close(smaller, odds, rtol=1e-3, atol=1e-3)
    state = model.encode(texts)
    assert isinstance(state, SentenceState) and state.width == 4


def test_law_words_that_are_trained_on_move(tmp_path: Path) -> None:
    still, moved = (
        finetune_run(reading(tmp_path, toys.pretrained(), f"encoder.words={how}"), tmp_path / how)
        for how in ("frozen", "joint")
    )
    assert moved.encoder.config.tree()["words"] == "joint"
    assert not torch.equal(moved.encoder.token.weight, still.encoder.token.weight)


def test_known_what_gives_no_words(tmp_path: Path) -> None:
    bert = toys.pretrained()
    with pytest.raises(UserError, match=r"have 32 numbers, of which no 40 features .* encoder.features to at most 32"):
        finetune_run(reading(tmp_path, bert, "encoder.features=40"), tmp_path / "wide")
    with pytest.raises(UserError, match=r"words_from \(--words\) gives word vectors to a rac.* this recipe has none"):
        finetune_recipe("sst2", words=bert)
    with pytest.raises(UserError, match=r"and init \(--init\) names an encoder that has some"):
        finetune_recipe("sst2", words=bert, init=bert, encoder="rac")
    with pytest.raises(UserError, match=r"tokenizer.vocab_size says nothing beside words_from \(--words\)"):
        reading(tmp_path, bert, "tokenizer.vocab_size=100")


def test_known_a_recipe_says_frozen_unless_it_says_joint(tmp_path: Path) -> None:
    assert RacConfig().words == "joint"
    assert reading(tmp_path, toys.pretrained()).encoder.tree()["words"] == "frozen"  # type: ignore[union-attr]
    own = tmp_path / "own.toml"
    own.write_text('extends = "rac-words"\nwords_from = "x"\n[encoder]\nwords = "joint"\n')
    assert finetune_recipe("sst2", config=str(own)).encoder.tree()["words"] == "joint"  # type: ignore[union-attr]
