"""The parts of the rivals: soft sentences against written ones, codes, filters, small losses."""

from __future__ import annotations

import math

import pytest
import torch
from torch.distributions import Normal

from psitext.baselines.control import Arae, AraeConfig, CtrlGen, CtrlGenConfig
from psitext.baselines.control.arae import bounded, undecided
from psitext.baselines.control.ctrl_gen import entropy, gaussian_surprise
from psitext.baselines.control.soft import soft_words
from psitext.baselines.control.structured import lengths_of, normal
from psitext.heads.decoding import LstmConfig, Writing
from psitext.nn.perceptron import with_class
from psitext.state import Posterior

WRITES = LstmConfig(vocab_size=14, max_len=12)
SIZES = {"code": 4, "features": 8, "width": 10}
HOW = Writing(max_len=8)


def ctrl_gen() -> CtrlGen:
    torch.manual_seed(1)
    made = CtrlGen(CtrlGenConfig(**SIZES, filters=5), 3, WRITES).eval()
    with torch.no_grad():
        for parameter in made.decoder.parameters():
            parameter.normal_(std=0.7)
    return made


def arae() -> Arae:
    torch.manual_seed(2)
    return Arae(AraeConfig(**SIZES, noise=3, hidden=6), 3, WRITES).eval()


def test_parity_cold_soft_sentences_are_the_greedy_ones() -> None:
    network = ctrl_gen()
    code, label = torch.randn(9, 4), torch.arange(9) % 3
    words, lengths = soft_words(network.decoder, with_class(code, label, 3), 8, 1e-4)
    written = network.written(code, label, HOW)
    assert torch.equal(lengths, lengths_of(written, WRITES.eos)) and len(set(lengths.tolist())) > 1
    for soft, row, length in zip(words, written, lengths.tolist(), strict=True):
        assert soft.argmax(-1)[:length].tolist() == row[:length].tolist()
    assert torch.allclose(words.sum(-1), torch.ones(9, 8)) and not words[..., [WRITES.bos, WRITES.pad]].any()
    warm, _ = soft_words(network.decoder, with_class(code, label, 3), 8, 5.0)
    assert warm[:, 0].amax(-1).max().item() < 0.3 < 0.9 < words[:, 0].amax(-1).min().item()
    warm[:, -1, 5].sum().backward()
    assert network.decoder.token.weight.grad is not None


def test_law_filters_read_soft_words_as_words_and_nothing_behind_the_end() -> None:
    network = ctrl_gen().discriminator
    words, lengths = torch.randint(3, 14, (6, 7)), torch.tensor([7, 3, 1, 5, 2, 7])
    plain = network(words, lengths)
    soft = torch.nn.functional.one_hot(words, 14).float()
    assert torch.allclose(network(soft, lengths), plain, atol=1e-6)
    other = torch.where(torch.arange(7) < lengths[:, None], words, 3)
    assert torch.allclose(network(other, lengths), plain, atol=1e-6)
    assert not torch.allclose(network(words.flip(1), lengths)[0], plain[0])


@pytest.mark.parametrize("make", [ctrl_gen, arae])
def test_law_sentences_of_a_label_are_functions_of_seed_and_place(make) -> None:  # type: ignore[no-untyped-def]
    network = make()
    some, more = network.write(1, 3, HOW), network.write(1, 6, HOW)
    width = min(some.shape[1], more.shape[1])
    assert torch.equal(some[:, :width], more[:3, :width])
    assert not torch.equal(normal(0, 1, 4, 5), normal(0, 2, 4, 5)) and normal(0, 1, 4, 5).dtype == torch.float32


def test_law_the_label_reaches_the_decoder() -> None:
    network = ctrl_gen()
    rows, lengths = torch.tensor([[1, 4, 5, 2]]), torch.tensor([4])
    code = torch.zeros(1, 4)
    first, right = network.logits(rows, lengths, code, torch.tensor([0]))
    second, _ = network.logits(rows, lengths, code, torch.tensor([1]))
    assert right.tolist() == [4, 5, 2] and not torch.allclose(first, second)


def test_law_codes_lie_on_the_sphere_and_critics_within_their_bound() -> None:
    network = arae()
    rows, lengths = torch.randint(3, 14, (5, 6)), torch.tensor([6, 2, 4, 3, 6])
    for codes in (network.codes(rows, lengths), network.generated(torch.randn(5, 3))):
        assert torch.allclose(codes.norm(dim=-1), torch.ones(5), atol=1e-6)
    bounded(network.critic, 0.01)
    assert max(p.abs().max().item() for p in network.critic.parameters()) == pytest.approx(0.01)


def test_known_small_losses() -> None:
    even, sure = torch.zeros(2, 3), torch.tensor([[50.0, 0, 0], [0, 50.0, 0]])
    assert float(entropy(even)) == pytest.approx(math.log(3)) and float(entropy(sure)) == pytest.approx(0, abs=1e-6)
    assert float(undecided(even)) == pytest.approx(math.log(3)) and float(undecided(sure)) > 10
    state = Posterior(torch.randn(6, 4), torch.randn(6, 4))
    z = torch.randn(6, 4)
    surprise = -Normal(state.vector, (0.5 * state.log_var).exp()).log_prob(z).sum(-1).mean()
    assert float(gaussian_surprise(state, z)) == pytest.approx(float(surprise) - 2 * math.log(2 * math.pi), abs=1e-5)


def test_known_lengths() -> None:
    rows = torch.tensor([[4, 2, 0, 0], [4, 5, 6, 7], [2, 2, 2, 2]])
    assert lengths_of(rows, 2).tolist() == [2, 4, 1]
