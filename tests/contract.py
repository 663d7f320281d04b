"""What every family of encoders promises, checked for a tiny one of each; a new family adds one line to ``FAMILIES``.

A promise that needs a model of a family, not only its encoder, is in the second half.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

import tiny
from psitext import assemble
from psitext.assemble import build_encoder, encoder_config
from psitext.config import Config
from psitext.errors import UserError
from psitext.model import TEXT, Model, Sentences, load
from psitext.score.losses import classification
from psitext.state import Bond, SentenceState, State, side_by_side
from psitext.text.examples import Task
from psitext.text.supervised import TextConfig
from psitext.text.tokenizer import train as train_tokenizer
from psitext.train import checkpoint
from psitext.train.network import Network

LENGTHS = [7, 3, 12, 3, 16, 2]


@dataclass(frozen=True)
class Family:
    """A tiny instance of a family: its settings, and the kind of state that it gives."""

    config: Config
    state: type[State]
    tokens: bool  # whether it keeps the states of tokens
    order: bool = True  # whether it knows which word comes first
    marks: bool = True  # whether it reads [CLS] and [SEP], so that even an empty text has something to say

    @property
    def name(self) -> str:
        return str(self.config.tree()["family"])

    @property
    def lengths(self) -> list[int]:
        return LENGTHS if self.marks else [max(length, 3) for length in LENGTHS]


FAMILIES = [
    Family(config=tiny.SHAPE, state=SentenceState, tokens=True),
    *(Family(config=config, state=SentenceState, tokens=True) for config in tiny.COMPLEX.values()),
    Family(config=tiny.QCLS, state=SentenceState, tokens=False, order=False),
    *(
        Family(
            config=config,
            state=Bond if "rac" in name or "automaton" in name else SentenceState,
            tokens=False,
            order=name != "bag",
            marks=False,
        )
        for name, config in tiny.RECURRENT.items()
    ),
]


@pytest.fixture(params=FAMILIES, ids=lambda family: family.name)
def family(request: pytest.FixtureRequest) -> Family:
    return request.param  # type: ignore[no-any-return]


def encoder_of(family: Family, seed: int = 0) -> nn.Module:
    return build_encoder(family.config, seed).eval()  # type: ignore[arg-type]


def real(state: State) -> Tensor:
    return state.to_real().detach()


# --- the encoder


def test_law_the_seed_alone_decides_the_weights(family: Family) -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = checkpoint.tensors_of(encoder_of(family, seed=3))
    assert torch.equal(torch.get_rng_state(), before), "building moved the caller's random state"
    torch.manual_seed(2)
    second, other = (checkpoint.tensors_of(encoder_of(family, seed)) for seed in (3, 4))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_law_the_declared_kind_of_state_comes_back(family: Family) -> None:
    batch = tiny.batch(LENGTHS)
    state = encoder_of(family)(batch)
    assert type(state) is family.state
    assert len(state) == len(LENGTHS)
    assert state.width == family.config.width  # type: ignore[attr-defined]
    assert torch.isfinite(real(state)).all()
    if family.tokens:
        assert state.tokens.shape == (*batch.ids.shape, state.width)


@pytest.mark.parametrize("row", [None, 24])
def test_law_padding_content_never_changes_the_state(family: Family, row: int | None) -> None:
    encoder, batch = encoder_of(family), tiny.batch(LENGTHS, row=row)
    empty = batch.owner == 0
    assert empty.any()
    junk = replace(
        batch,
        ids=batch.ids + empty * torch.randint(0, tiny.VOCAB, batch.ids.shape),
        segments=batch.segments + empty * 1,
        positions=batch.positions + empty * torch.randint(0, 16, batch.ids.shape),
    )
    assert torch.equal(real(encoder(batch)), real(encoder(junk)))


@pytest.mark.parametrize("row", [None, 24])
def test_law_neither_order_nor_neighbours_matter(family: Family, row: int | None) -> None:
    encoder = encoder_of(family).double()
    together = real(encoder(tiny.batch(LENGTHS, row=row)))
    order = [4, 0, 5, 3, 1, 2]
    shuffled = tiny.batch([LENGTHS[index] for index in order], row=row, samples=order)
    assert_close(real(encoder(shuffled)), together[order], rtol=0, atol=1e-12)
    for index, length in enumerate(LENGTHS):
        alone = real(encoder(tiny.batch([length], samples=[index])))
        assert_close(alone[0], together[index], rtol=0, atol=1e-12)


def test_law_what_is_read_matters(family: Family) -> None:
    """Every token of a sentence, and their order where the family knows it, reaches its state."""
    encoder, batch = encoder_of(family).double(), tiny.batch([8])
    before = real(encoder(batch))
    for place in range(8) if family.marks else range(1, 7):
        ids = batch.ids.clone()
        ids[0, place] = 5 + (ids[0, place] - 4) % (tiny.VOCAB - 5)
        assert not torch.allclose(real(encoder(replace(batch, ids=ids))), before, rtol=0, atol=1e-9), place
    if not family.order:
        return
    swapped = batch.ids[:, [0, 2, 1, *range(3, 8)]]
    assert not torch.allclose(real(encoder(replace(batch, ids=swapped))), before, rtol=0, atol=1e-9)


def test_law_float32_agrees_with_float64(family: Family) -> None:
    encoder, batch = encoder_of(family), tiny.batch(LENGTHS)
    single = real(encoder(batch))
    double = real(copy.deepcopy(encoder).double()(batch))
    assert double.dtype == torch.float64
    assert_close(single.double(), double, rtol=1e-4, atol=1e-5)


def test_law_gradients_reach_every_parameter(family: Family) -> None:
    encoder, batch = encoder_of(family), tiny.batch(LENGTHS)
    assert batch.segments.any()
    state = encoder(batch)
    weights = torch.randn(len(state), state.to_real().shape[1], generator=torch.Generator().manual_seed(0))
    # Squared, since the sum over a normalised vector is a constant.
    loss = (state.to_real() * weights).sum().square()
    if family.tokens:  # the last norms of a QBERT act on tokens that its vector does not see
        loss = loss + side_by_side(state.tokens[batch.owner > 0]).cos().sum()
    loss.backward()
    lost = [name for name, p in encoder.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    assert lost == []
    assert all(torch.isfinite(parameter.grad).all() for parameter in encoder.parameters())


def test_law_evaluation_is_deterministic_and_dropout_is_seeded(family: Family) -> None:
    rates = {key: 0.5 for key in family.config.tree() if "dropout" in key}
    encoder = build_encoder(family.config.model_copy(update=rates))  # type: ignore[type-var]
    batch = tiny.batch(LENGTHS)
    assert torch.equal(real(encoder.eval()(batch)), real(encoder(batch)))
    if rates:
        encoder.train()
        seen = []
        for seed in (0, 0, 1):
            torch.manual_seed(seed)
            seen.append(real(encoder(batch)))
        assert torch.equal(seen[0], seen[1])
        assert not torch.equal(seen[0], seen[2])


def test_law_any_head_reads_the_state(family: Family) -> None:
    """Affine, by a measurement, by moduli: the thesis of the product."""
    batch = tiny.batch(family.lengths, targets={"label": np.array([0, 1, 2, 0, 1, 2])})
    state = encoder_of(family)(batch)
    task = Task(name="three", kind="classification", text="text", label="label", labels=("a", "b", "c"))
    loss = classification()["label"]
    for kind, (config, _) in assemble.HEADS.items():
        head = assemble.build_head(task, encoder_of(family), config()).eval()
        prediction = head(state, batch)
        assert prediction["logits"].shape == (6, 3), kind
        assert torch.isfinite(loss.total(prediction, batch, state) / loss.count(batch))
        other = head(encoder_of(family, seed=5)(batch), batch)
        assert not torch.allclose(prediction["logits"], other["logits"]), kind
    assert state.to_real().shape[1] == family.config.real_width  # type: ignore[attr-defined]
    ket = state.to_ket()
    assert ket.width == state.width, "the logical width stays"
    assert_close(ket.probabilities().sum(-1), torch.ones(6), rtol=0, atol=1e-5)


def test_law_the_parameters_have_one_name_each(family: Family) -> None:
    """Complex parameters are two real ones, so that sharding never splits a pair."""
    encoder = encoder_of(family)
    assert all(not parameter.is_complex() for parameter in encoder.parameters())
    tensors = checkpoint.tensors_of(encoder)
    other = encoder_of(family, seed=9)
    checkpoint.load_tensors(other, tensors, "here")
    batch = tiny.batch(LENGTHS)
    assert torch.equal(real(other(batch)), real(encoder(batch)))


def test_law_settings_are_checked(family: Family) -> None:
    tree = family.config.tree()
    assert encoder_config(tree, "here") == family.config
    with pytest.raises(
        UserError, match="the encoder of here has an unknown key 'vocab_sise'; did you mean 'vocab_size'"
    ):
        encoder_config({**tree, "vocab_sise": 8}, "here")
    with pytest.raises(UserError, match="here names no known family 'nobody'; there are: "):
        encoder_config({**tree, "family": "nobody"}, "here")
    assert family.name in assemble.ENCODERS


# --- a model with such an encoder


@pytest.fixture
def model(family: Family) -> Model:
    tokenizer = train_tokenizer("words", ["a crane is flying", "the crane driver came", "old"], tiny.VOCAB)
    network = Network(encoder_of(family), Sentences()).eval()
    return Model(network, {TEXT: tokenizer}, TextConfig(max_len=16))  # type: ignore[arg-type]


TEXTS = ["a crane is flying", "old", "", "the crane driver came the crane driver came", "naïve 東京 \x07 𝒳", "a " * 99]


def test_law_a_saved_model_is_the_same_model(model: Model, tmp_path: Path) -> None:
    again = load(model.save(tmp_path / "model"))
    assert again.encoder.config == model.encoder.config
    state, other = model.encode(TEXTS), again.encode(TEXTS)
    assert type(other) is type(state)
    assert torch.equal(state.vector, other.vector)


def test_law_texts_are_encoded_in_their_order_whatever_their_company(model: Model) -> None:
    together = model.encode(TEXTS)
    assert len(together) == len(TEXTS)
    assert torch.isfinite(together.vector).all()
    for index, text in enumerate(TEXTS):
        assert_close(model.encode([text]).vector[0], together.vector[index], rtol=0, atol=1e-5)
    narrow = model.encode(TEXTS, batch_tokens=1)
    assert_close(narrow.vector, together.vector, rtol=0, atol=1e-5)
    assert_close(model.encode(TEXTS[::-1]).vector, together.vector.flip(0), rtol=0, atol=1e-5)


def test_law_encoding_leaves_the_model_as_it_was(model: Model) -> None:
    before = checkpoint.tensors_of(model.network)
    state = model.encode(TEXTS)
    after = checkpoint.tensors_of(model.network)
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert not any(module.training for module in model.network.modules())
    assert not state.vector.requires_grad
