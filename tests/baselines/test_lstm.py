"""The LSTM posterior and decoder: against torch's own cell one sentence at a time, and against themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.testing import assert_close

import tiny
from psitext.baselines.lstm import LstmDecoder, LstmPosterior, LstmPosteriorConfig, picked
from psitext.errors import UserError
from psitext.heads.decoding import DecodingHead, LstmConfig, Writing
from psitext.state import Posterior

V, P = 11, 3
SHAPE = LstmConfig(vocab_size=V, features=6, width=8, latent=P, max_len=20)
SENTENCES = [[1, 5, 6, 2], [1, 7, 2], [1, 9, 4, 4, 8, 3, 2]]
WAYS = {
    "greedy": Writing(max_len=9),
    "beams": Writing(max_len=9, beams=4),
    "drawn": Writing(max_len=9, sample=True, samples=2, seed=3),
}


def decoder(latent: int = P, seed: int = 0) -> LstmDecoder:
    """In double and evaluation mode, with weights of a size that makes words differ and sentences end."""
    torch.manual_seed(seed)
    made = LstmDecoder(SHAPE.model_copy(update={"latent": latent})).double().eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(std=0.8)
        made.output.weight[SHAPE.eos] += 0.4
    return made


def latents(rows: int, width: int = P, seed: int = 1) -> Tensor:
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def padded(rows: list[list[int]], pad: int = 0) -> Tensor:
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=pad)


def one_by_one(made: LstmDecoder, row: list[int], latent: Tensor) -> Tensor:
    """(T, V) scores after every token of a row, by the equations and torch's cell."""
    net = made.net
    cell = torch.nn.LSTMCell(SHAPE.features + made.config.latent, SHAPE.width).double()
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        setattr(cell, name, torch.nn.Parameter(getattr(net, f"{name}_l0").detach()))
    c = torch.zeros(SHAPE.width).double() if made.first is None else made.first.weight @ latent
    h = torch.tanh(c)
    scores = []
    for token in row:
        h, c = cell(torch.cat([made.token.weight[token], latent]), (h, c))
        scores.append(made.output.weight @ h)
    return torch.stack(scores)


@pytest.mark.parametrize("width", [P, 0])
def test_parity_of_states_with_torchs_cell(width: int) -> None:
    made, z = decoder(width), latents(3, width)
    found = made.logits(made.states(padded(SENTENCES), z))
    for row, latent, scores in zip(SENTENCES, z, found, strict=True):
        assert_close(scores[: len(row)], one_by_one(made, row, latent), rtol=0, atol=1e-12)


def test_parity_of_the_posterior_sentence_by_sentence() -> None:
    config = LstmPosteriorConfig(vocab_size=tiny.VOCAB, features=5, hidden=7, latent=4, max_len=16)
    made = LstmPosterior(config).double()
    batch = tiny.batch([7, 3, 12, 2, 16])
    found = made(batch)
    assert isinstance(found, Posterior)
    assert found.width == config.width == config.real_width
    rows, _ = batch.sequences(batch.ids)
    for number, length in enumerate(batch.lengths.tolist()):
        states, _ = made.net(made.token(rows[number, :length]))
        mean, log_var = (made.posterior.weight @ states[-1]).chunk(2)
        assert_close(found.vector[number], mean, rtol=0, atol=1e-12)
        assert_close(found.log_var[number], log_var, rtol=0, atol=1e-12)


def test_law_packed_rows_say_what_padded_ones_do() -> None:
    made = LstmPosterior(LstmPosteriorConfig(vocab_size=tiny.VOCAB, features=5, hidden=7, latent=4)).double()
    lengths = [4, 9, 3, 7]
    assert_close(made(tiny.batch(lengths, row=16)).vector, made(tiny.batch(lengths)).vector, rtol=0, atol=1e-12)


def test_law_padding_on_the_right_has_no_influence() -> None:
    made, z = decoder(), latents(3)
    rows = padded(SENTENCES)
    found = made.states(rows, z)
    other = made.states(torch.cat([padded(SENTENCES, pad=10), torch.full((3, 4), 9)], dim=1), z)
    for number, row in enumerate(SENTENCES):
        assert_close(other[number, : len(row)], found[number, : len(row)], rtol=0, atol=1e-12)
    posterior = LstmPosterior(LstmPosteriorConfig(vocab_size=tiny.VOCAB, features=5, hidden=7, latent=4))
    batch = tiny.batch([4, 9])
    other_pad = replace(batch, ids=batch.ids.masked_fill(batch.owner == 0, 7))
    assert_close(posterior(other_pad).vector, posterior(batch).vector, rtol=0, atol=0)


def test_law_the_latent_is_read_at_the_start_and_at_every_word() -> None:
    made = decoder()
    z = latents(1).requires_grad_()
    states = made.states(torch.tensor([SENTENCES[0]]), z)
    assert torch.autograd.grad(states[0, -1].sum(), z)[0].abs().min() > 0
    assert made.first is not None
    with torch.no_grad():
        made.first.weight.zero_()
    moved = made.states(torch.tensor([SENTENCES[0]]), z + 1)
    assert not torch.allclose(moved[0, 0], made.states(torch.tensor([SENTENCES[0]]), z)[0, 0])


@pytest.mark.parametrize("width", [P, 0])
def test_parity_of_greedy_writing_with_the_best_word_at_every_step(width: int) -> None:
    made, z = decoder(width), latents(12, width)
    found = made.write(z, WAYS["greedy"]).tolist()
    ended = set()
    for row, latent in zip(found, z, strict=True):
        said = [SHAPE.bos]
        for _ in range(9):
            scores = made.logits(made.states(torch.tensor([said]), latent[None]))[0, -1]
            said.append(2 + int(scores[2:].argmax()))  # all but pad and bos
            if said[-1] == SHAPE.eos:
                break
        ended.add(said[-1] == SHAPE.eos)
        assert row == said[1:] + [SHAPE.pad] * (len(row) - len(said) + 1)
    assert width == 0 or ended == {True, False}, "some end by themselves and some at the limit"


@pytest.mark.parametrize("way", WAYS)
def test_law_every_row_ends(way: str) -> None:
    found = decoder().write(latents(12), WAYS[way])
    assert found.shape[0] == 12 * WAYS[way].samples
    assert found.shape[1] <= 9
    for row in found.tolist():
        length = row.index(SHAPE.eos) + 1 if SHAPE.eos in row else len(row)
        assert min(row[:length]) > SHAPE.bos and not any(row[length:])


@pytest.mark.parametrize("way", ["greedy", "beams"])
def test_law_a_batch_is_written_like_its_rows(way: str) -> None:
    made, z = decoder(), latents(6)
    prompt = torch.tensor([[0, 0, 5], [0, 6, 7], [4, 4, 4], [0, 0, 0], [0, 8, 9], [3, 3, 3]])
    together = made.write(z, WAYS[way], prompt)
    for number in range(6):
        start = prompt[number][prompt[number] != 0][None]
        alone = made.write(z[number][None], WAYS[way], start)[0]
        assert together[number, : len(alone)].tolist() == alone.tolist()
        assert not together[number, len(alone) :].any()


def test_parity_of_a_prompt_with_its_words_read_first() -> None:
    made, z = decoder(), latents(2)
    prompt = torch.tensor([[0, 5, 6], [7, 8, 9]])
    first = made.write(z, Writing(max_len=1), prompt)[:, 0]
    for number, row in enumerate([[1, 5, 6], [1, 7, 8, 9]]):
        assert int(first[number]) == 2 + int(one_by_one(made, row, z[number])[-1, 2:].argmax())


def test_law_seeds_decide_and_global_generators_stay() -> None:
    made, z = decoder(), latents(5)
    before = torch.get_rng_state()
    way = WAYS["drawn"]
    found = made.write(z, way)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(made.write(z, way), found)
    other = made.write(z, replace(way, seed=4))
    assert other.shape != found.shape or not torch.equal(other, found)
    assert torch.equal(made.write(z[:2], way), found[:4, : made.write(z[:2], way).shape[1]])
    pairs = found.view(5, 2, -1)
    assert not torch.equal(pairs[:, 0], pairs[:, 1]), "two sentences of one latent are drawn apart"


def test_law_words_are_drawn_as_often_as_they_should_be() -> None:
    logits = torch.tensor([[2.0, 1.0, 0.0, -1.0, 1.5]])
    grid = (torch.arange(4_000, dtype=torch.float64) + 0.5) / 4_000
    for way, allowed in [
        (Writing(), [0, 1, 2, 3, 4]),
        (Writing(temperature=0.5), [0, 1, 2, 3, 4]),
        (Writing(top_k=2), [0, 4]),
        (Writing(top_p=0.7), [0, 4]),
        (Writing(top_p=0.01), [0]),
        (Writing(top_k=3, top_p=0.9), [0, 1, 4]),
    ]:
        probs = (logits[0].double() / way.temperature).softmax(-1)
        wanted = torch.zeros(5).double()
        wanted[allowed] = probs[allowed] / probs[allowed].sum()
        counts = torch.bincount(picked(logits.expand(4_000, -1), grid, way), minlength=5) / 4_000
        assert_close(counts.double(), wanted, rtol=0, atol=3 / 4_000)


@pytest.mark.parametrize("way", WAYS)
def test_law_one_token_may_begin_end_and_pad(way: str) -> None:
    made = decoder()
    made.config = SHAPE.model_copy(update={"bos": 2, "pad": 2})
    found = made.write(latents(12), WAYS[way])
    ended = (found == 2).any(1)
    assert ended.any(), "the end is not forbidden with the beginning"
    for row in found[ended].tolist():
        assert set(row[row.index(2) :]) == {2}
    assert not (found == 2).all(0).any(), "no column of padding alone"


def test_known_ways_that_exclude_each_other() -> None:
    with pytest.raises(UserError, match="sampled or searched by beams, not both"):
        decoder().write(latents(1), Writing(sample=True, beams=2))
    with pytest.raises(UserError, match="3 sentences from one latent take at least as many beams, not 2"):
        decoder().write(latents(1), Writing(beams=2, samples=3))


@pytest.mark.parametrize("way", WAYS)
def test_known_weights_that_are_not_finite_write_nothing(way: str) -> None:
    for bad in (torch.nan, torch.inf):
        made = decoder()
        with torch.no_grad():
            made.output.weight[3].fill_(bad)
        with pytest.raises(UserError, match="the scores of the next word are not finite"):
            made.write(latents(2), WAYS[way])


@pytest.mark.parametrize("way", WAYS)
def test_known_no_latent_is_no_sentence(way: str) -> None:
    assert decoder().write(latents(0), WAYS[way]).shape[0] == 0


def test_law_a_temperature_near_0_draws_the_best_word() -> None:
    scores = torch.tensor([[3.0, 9.0, -torch.inf, 8.0], [-5.0, -9.0, -7.0, -torch.inf]])
    draws = torch.tensor([0.0, 0.99], dtype=torch.float64)
    for temperature in (1e-3, 1e-45, 5e-324):
        found = picked(scores, draws, Writing(sample=True, temperature=temperature))
        assert found.tolist() == [1, 0]


def test_law_writing_leaves_the_mode_and_ignores_dropout() -> None:
    made, z = decoder(), latents(4)
    found = made.write(z, WAYS["greedy"])
    assert torch.equal(made.train().write(z, WAYS["greedy"]), found)
    assert made.training


def test_known_initial_values_and_shapes() -> None:
    made = LstmDecoder(LstmConfig(vocab_size=V, latent=P))
    names = {name: tuple(value.shape) for name, value in made.named_parameters()}
    assert names["net.weight_ih_l0"] == (4 * 1_024, 512 + P)
    assert names["first.weight"] == (1_024, P)
    assert names["output.weight"] == (V, 1_024)
    assert "first.bias" not in names and "output.bias" not in names
    for name, value in made.named_parameters():
        bound = 0.1 if name == "token.weight" else 0.01
        assert 0.9 * bound < value.abs().max() <= bound
    assert LstmDecoder(SHAPE.model_copy(update={"latent": 0})).first is None


def test_smoke_the_head_trains_it_and_dropout_counts() -> None:
    made = LstmDecoder(SHAPE)
    rows = padded(SENTENCES)
    batch = tiny.batch(
        [3, 2, 4],
        targets={"written": rows.numpy(), "written_length": np.asarray([len(row) for row in SENTENCES])},
    )
    state = Posterior(torch.zeros(3, P), torch.zeros(3, P))
    predicted = DecodingHead(made).train()(state, batch)
    assert predicted["written"].shape == (sum(len(row) - 1 for row in SENTENCES), V)
    predicted["written"].logsumexp(-1).sum().backward()
    assert all(parameter.grad is not None for parameter in made.parameters())
    torch.manual_seed(0)
    first = made.states(rows, state.vector)
    assert not torch.equal(first, made.states(rows, state.vector))
