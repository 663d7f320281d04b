"""How a causal decoder writes: always to an end, the same in any company, as transformers' own generate does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from transformers import GPT2LMHeadModel, LlamaForCausalLM

from psitext.errors import UserError
from psitext.heads.decoding import CausalConfig, Writing
from psitext.hf.decoders import CausalDecoder
from psitext.hf.decoders.settings import to_theirs
from psitext.hf.decoders.writing import beginning

Make = Callable[..., CausalDecoder]
MODELS = [("gpt2", None), ("llama", 2)]
WAYS = [
    Writing(max_len=9),
    Writing(max_len=9, beams=4),
    Writing(max_len=9, beams=4, samples=3),
    Writing(max_len=9, sample=True, seed=4),
    Writing(max_len=9, sample=True, samples=3, temperature=0.7, top_k=9, top_p=0.9, seed=4),
]


def latents(rows: int, width: int = 5) -> Tensor:
    return 2 * torch.randn(rows, width, generator=torch.Generator().manual_seed(0))


def padded(rows: list[Tensor]) -> Tensor:
    width = max(row.shape[1] for row in rows)
    return torch.cat([torch.nn.functional.pad(row, (0, width - row.shape[1])) for row in rows])


def ended(rows: Tensor) -> list[list[int]]:
    """Rows up to their first eos."""
    return [row[: row.index(2) + 1] if 2 in row else row for row in rows.tolist()]


@pytest.mark.parametrize("model,kv_heads", MODELS)
@pytest.mark.parametrize("injection", ["memory", "embedding", "both"])
def test_parity_greedy_with_the_best_next_token_of_whole_rows(
    make: Make, model: str, kv_heads: int | None, injection: str
) -> None:
    decoder = make(model=model, kv_heads=kv_heads, injection=injection)
    z = latents(6)
    found = decoder.write(z, Writing(max_len=12))
    assert len({tuple(row) for row in found.tolist()}) > 1
    for row in range(6):
        ids = [decoder.config.bos]
        while len(ids) <= 12 and ids[-1] != decoder.config.eos:
            with torch.no_grad():
                scores = decoder.logits(decoder.states(torch.tensor([ids]), z[row : row + 1]))[0, -1]
            scores[[decoder.config.bos, decoder.config.pad]] = -torch.inf
            ids.append(int(scores.argmax()))
        expected = (ids[1:] + [decoder.config.pad] * 12)[: found.shape[1]]
        assert found[row].tolist() == expected


@pytest.mark.parametrize("model,kv_heads", MODELS)
@pytest.mark.parametrize("beams,samples", [(1, 1), (4, 1), (5, 3)])
def test_parity_with_generate(make: Make, model: str, kv_heads: int | None, beams: int, samples: int) -> None:
    decoder = make(model=model, kv_heads=kv_heads, latent=0, tied=False)
    named: Any = {"gpt2": GPT2LMHeadModel, "llama": LlamaForCausalLM}[model]
    theirs = named(named.config_class(**to_theirs(decoder.config))).eval()
    theirs.load_state_dict(decoder.network.state_dict())
    prompt = torch.tensor([[0, 0, 5, 6], [7, 8, 9, 10], [0, 11, 12, 13], [0, 0, 0, 0]])
    found = decoder.write(torch.empty(4, 0), Writing(max_len=10, beams=beams, samples=samples), prompt)
    ids, real = beginning(decoder.config, torch.empty(4, 0), prompt)
    assert ids.tolist() == [[0, 0, 1, 5, 6], [1, 7, 8, 9, 10], [0, 1, 11, 12, 13], [0, 0, 0, 0, 1]]
    assert torch.equal(real, ids != 0)
    expected = theirs.generate(
        ids,
        attention_mask=real.long(),
        num_beams=beams,
        num_return_sequences=samples,
        do_sample=False,
        max_new_tokens=10,
        suppress_tokens=[0, 1],
        renormalize_logits=True,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )[:, 5:]
    assert ended(found) == ended(expected)  # behind it, generate writes eos for a pad that is 0
    assert len({tuple(row) for row in found.tolist()}) > 1


@pytest.mark.parametrize("model,kv_heads", MODELS)
@pytest.mark.parametrize("how", WAYS)
def test_law_a_batch_is_its_singles(make: Make, model: str, kv_heads: int | None, how: Writing) -> None:
    decoder, z = make(model=model, kv_heads=kv_heads), latents(4)
    prompt = torch.tensor([[0, 0, 5], [6, 7, 8], [0, 0, 0], [0, 9, 10]])
    for given_prompt in (None, prompt):
        several = decoder.write(z, how, given_prompt)
        assert several.shape[0] == 4 * how.samples and several.dtype == torch.int64
        if how.sample:  # draws are those of a row, so a single is the first of the batch, whatever else is there
            first = decoder.write(z[:1], how, None if given_prompt is None else given_prompt[:1])
            assert torch.equal(
                padded([several[: how.samples], first])[: how.samples], padded([first, several])[: how.samples]
            )
            continue
        singles = [
            decoder.write(z[at : at + 1], how, None if given_prompt is None else given_prompt[at : at + 1])
            for at in range(4)
        ]
        assert torch.equal(several, padded(singles))


@pytest.mark.parametrize("how", WAYS)
def test_law_padding_before_a_prompt_has_no_influence(make: Make, how: Writing) -> None:
    for model, kv_heads in MODELS:
        decoder, z = make(model=model, kv_heads=kv_heads), latents(2)
        short = torch.tensor([[5, 6], [7, 8]])
        wide = torch.cat([torch.zeros(2, 4, dtype=torch.long), short], dim=1)
        assert torch.equal(decoder.write(z, how, short), decoder.write(z, how, wide))
        mixed = torch.tensor([[0, 0, 0, 5, 6], [9, 10, 11, 7, 8]])
        one, two = decoder.write(z, how, short)[: how.samples], decoder.write(z, how, mixed)[: how.samples]
        assert torch.equal(*padded([one, two]).split(how.samples))


@settings(max_examples=25, deadline=None)
@given(
    max_len=st.integers(1, 40),
    beams=st.integers(1, 3),
    sample=st.booleans(),
    top_k=st.integers(0, 30),
    top_p=st.floats(0.05, 1),
    seed=st.integers(0, 99),
)
def test_law_every_row_ends(max_len: int, beams: int, sample: bool, top_k: int, top_p: float, seed: int) -> None:
    how = Writing(max_len, 1 if sample else beams, sample, 1.5, top_k, top_p, 1, seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        decoder = CausalDecoder(
            CausalConfig(vocab_size=6, width=8, layers=1, heads=2, hidden=8, max_len=16, latent=2, init_std=1)
        )
    rows = decoder.write(torch.randn(5, 2, generator=torch.Generator().manual_seed(seed)), how)
    assert rows.shape[1] <= min(max_len, 15)
    for row in rows.tolist():
        written = row[: row.index(2) + 1] if 2 in row else row
        assert 0 not in written and 1 not in row
        assert set(row[len(written) :]) <= {0}
    assert any(row[-1] != 0 for row in rows.tolist()), "as long as the longest row"


def test_law_draws_are_keyed_and_leave_torch_alone(make: Make) -> None:
    decoder, z = make().train(), latents(8)
    torch.manual_seed(7)
    before = torch.get_rng_state()
    one, same, other = (decoder.write(z, Writing(max_len=12, sample=True, seed=seed)) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before) and decoder.training
    assert torch.equal(one, same) and not torch.equal(*padded([one, other]).split(8))
    assert not one.requires_grad


def test_known_frequencies_of_first_tokens(make: Make) -> None:
    decoder = make(vocab_size=8, latent=0)
    empty = torch.empty(1, 0)
    with torch.no_grad():
        scores = decoder.logits(decoder.states(torch.tensor([[1]]), empty))[0, 0].double()
    scores[[0, 1]] = -torch.inf
    for how, cut in (
        (Writing(max_len=1, sample=True, samples=4_000), scores),
        (Writing(max_len=1, sample=True, samples=4_000, temperature=2.0), scores / 2),
        (
            Writing(max_len=1, sample=True, samples=4_000, top_k=3),
            scores.masked_fill(scores < scores.topk(3)[0][-1], -torch.inf),
        ),
    ):
        found = decoder.write(empty, how)[:, 0].bincount(minlength=8) / 4_000
        expected = cut.softmax(0)
        assert ((found - expected).abs() <= 4.5 * (expected * (1 - expected) / 4_000).sqrt()).all()


def test_known_a_nucleus_is_the_fewest_that_reach_p(make: Make) -> None:
    decoder = make(vocab_size=8, latent=0)
    empty = torch.empty(1, 0)
    with torch.no_grad():
        scores = decoder.logits(decoder.states(torch.tensor([[1]]), empty))[0, 0]
    scores[[0, 1]] = -torch.inf
    probs, order = scores.softmax(0).sort(descending=True)
    kept = set(order[: int((probs.cumsum(0) < 0.7).sum()) + 1].tolist())
    rows = decoder.write(empty, Writing(max_len=1, sample=True, samples=2_000, top_p=0.7))
    assert set(rows[:, 0].tolist()) == kept and 1 < len(kept) < 6


def test_known_room_ends_where_positions_end(make: Make) -> None:
    decoder, z = make(max_len=8), latents(3)
    with torch.no_grad():
        decoder.token.weight[2] = 0  # never the end: some other score is above 0
    rows = decoder.write(z, Writing(max_len=64))
    assert rows.shape == (3, 7), "positions 1 to 7 behind the memory"
    assert decoder.write(z, Writing(max_len=64), torch.full((3, 6), 5)).shape == (3, 1)
    with pytest.raises(UserError, match="a prompt of 7 tokens leaves no room to write in a decoder of 8 positions"):
        decoder.write(z, Writing(max_len=64), torch.full((3, 7), 5))


def test_known_one_token_may_begin_end_and_fill_up(make: Make) -> None:
    decoder = make(bos=4, eos=4, pad=4)
    rows = decoder.write(latents(6), Writing(max_len=9, sample=True, temperature=3.0))
    for row in rows.tolist():
        assert 4 not in row or set(row[row.index(4) :]) == {4}
    assert any(row[0] == 4 or 4 in row for row in rows.tolist()) and rows.shape[1] > 1


@pytest.mark.parametrize("how", [WAYS[0], WAYS[1], WAYS[3]])
def test_smoke_no_latent_no_rows(make: Make, how: Writing) -> None:
    assert decoder_rows(make, how) == 0


def decoder_rows(make: Make, how: Writing) -> int:
    return len(make().write(torch.empty(0, 5), how))


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("model,kv_heads", MODELS)
def test_known_weights_that_are_not_finite_write_nothing(
    make: Make, model: str, kv_heads: int | None, how: Writing
) -> None:
    decoder = make(model=model, kv_heads=kv_heads)
    with torch.no_grad():
        decoder.token.weight[5].fill_(torch.nan)  # tied: the score of one word
    with pytest.raises(UserError, match="the scores of the next word are not finite"):
        decoder.write(latents(2), how)


def test_smoke_ways_that_there_are_not(make: Make) -> None:
    for how, said in ((Writing(beams=2, sample=True), "not both"), (Writing(samples=2), "as many beams, not 1")):
        with pytest.raises(UserError, match=said):
            make().write(latents(1), how)
