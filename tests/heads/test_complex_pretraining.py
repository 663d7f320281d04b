"""Pre-training heads over complex states: their formulas written out, probabilities that are some, ties that hold."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.testing import assert_close

import tiny
from psitext.assemble import build_pretraining_head
from psitext.encoders.qbert import Qbert
from psitext.errors import UserError
from psitext.experiments.runs.recipes import resolve_recipe
from psitext.heads.complex_pretraining import ComplexPretrainingHead, ModulusNextSentence, QuantumNextSentence
from psitext.heads.pretraining import PretrainingConfig
from psitext.score.losses import pretraining
from psitext.state import SentenceState
from psitext.text.batches import Batch
from psitext.train.network import Network

LENGTHS = [9, 3, 16, 5, 12, 4]
PLACES = ((0, 1), (2, 7), (4, 0))


def head_and_batch(
    family: str = "qbert", row: int | None = None, places: tuple[tuple[int, int], ...] = PLACES, **settings: object
) -> tuple[Qbert, ComplexPretrainingHead, Batch]:
    """An encoder, its head with weights that matter, and a batch that asks for places (sentence, token)."""
    encoder = tiny.qbert(tiny.COMPLEX[family])
    head = ComplexPretrainingHead(encoder, PretrainingConfig(**settings)).double().eval()
    tied = {id(parameter) for parameter in encoder.parameters()}
    with torch.no_grad():
        for parameter in head.parameters():
            if id(parameter) not in tied:
                parameter.normal_()
    plain = tiny.batch(LENGTHS, row=row)
    at = np.array([int(plain.starts[sentence]) + token for sentence, token in places], dtype=np.int64)
    label, follows = np.arange(len(at)) + 10, np.array([0, 1, -1, 0, 1, 0])
    targets = {"token_at": at, "token_label": label, "next": follows}
    return encoder, head, tiny.batch(LENGTHS, row=row, targets=targets)


def pair(module: torch.nn.Module, name: str) -> Tensor:
    return torch.complex(getattr(module, f"{name}_re"), getattr(module, f"{name}_im")).detach()


def dense(module: torch.nn.Module, z: Tensor) -> Tensor:
    return z @ pair(module, "weight").T + pair(module, "bias")


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("row", [None, 24])
@pytest.mark.parametrize("logits", ["real", "modulus"])
def test_parity_masked_words_are_their_formula(logits: str, row: int | None, tied: bool) -> None:
    encoder, head, batch = head_and_batch(row=row, logits=logits, tied=tied)
    with torch.no_grad():
        state = encoder(batch)
        predicted = head(state, batch)["words"]
        cut, _ = batch.sequences(state.tokens)
        words = head.words
        z = dense(words.transform, torch.stack([cut[place] for place in PLACES]))
        z = torch.complex(F.gelu(z.real), F.gelu(z.imag))
        z = z - z.mean(-1, keepdim=True)
        z = z / z.abs().square().mean(-1, keepdim=True).sqrt() * pair(words.norm, "weight") + pair(words.norm, "bias")
        vocabulary = pair(encoder.token if tied else words.decoder, "weight")
        expected = (z @ vocabulary.conj().T).real if logits == "real" else (z @ vocabulary.T).abs()
        assert_close(predicted, expected + words.bias)
    assert predicted.shape == (3, tiny.VOCAB)


def test_parity_next_sentence_is_a_measurement() -> None:
    """Eq. of section 4.2: overlaps with two pure states, squared, over their sum."""
    encoder, head, batch = head_and_batch()
    with torch.no_grad():
        state = encoder(batch)
        logits = head(state, batch)["next"]
        psi = dense(head.next.dense, state.vector)
        psi = psi / psi.abs().square().sum(-1, keepdim=True).sqrt()
        states = pair(head.next.states, "weight")
        states = states / states.abs().square().sum(-1, keepdim=True).sqrt()
        overlaps = (states.conj()[None] * psi[:, None]).sum(-1).abs().square()  # (B, 2)
    assert_close(logits.exp(), overlaps / overlaps.sum(-1, keepdim=True))
    assert_close(logits.softmax(-1), logits.exp())
    assert logits.std() > 0.1


def test_law_the_measurement_sees_neither_phase_nor_size() -> None:
    head = QuantumNextSentence(tiny.COMPLEX["qbert"]).double()
    vector = torch.randn(5, 8, dtype=torch.complex128)
    phases = torch.polar(torch.rand(5, 1, dtype=torch.float64) + 0.5, torch.rand(5, 1, dtype=torch.float64))
    assert_close(head(vector * phases), head(vector))  # its bias begins at zero
    other = head(vector.conj())
    assert not torch.allclose(other, head(vector)), "a conjugate state is another state"


def test_law_a_state_orthogonal_to_both_has_a_finite_loss() -> None:
    head = QuantumNextSentence(tiny.COMPLEX["qbert"])
    with torch.no_grad():
        for name, parameter in head.named_parameters():
            parameter.zero_()
            if name == "dense.weight_re":
                parameter.copy_(torch.eye(8))
        head.states.weight_re[:, 0] = 1.0
    vector = F.one_hot(torch.tensor([3, 0]), 8).to(torch.complex64).requires_grad_()
    loss = F.cross_entropy(head(vector), torch.tensor([0, 1]))
    loss.backward()
    assert_close(loss.detach(), torch.tensor(2.0).log())
    assert torch.isfinite(vector.grad).all()


def test_parity_a_cvbert_reads_moduli() -> None:
    encoder, head, batch = head_and_batch("cvbert")
    assert isinstance(head.next, ModulusNextSentence)
    with torch.no_grad():
        state = encoder(batch)
        z = dense(head.next.dense, state.vector)
        z = dense(head.next.output, torch.complex(z.real.tanh(), z.imag.tanh()))
        assert_close(head(state, batch)["next"], z.abs())


def test_law_what_is_not_asked_for_is_not_computed() -> None:
    encoder, head, batch = head_and_batch()
    state = encoder(batch)
    spoilt = SentenceState(state.vector, torch.full_like(state.tokens, complex("nan")))
    at = batch.targets["token_at"]
    spoilt.tokens.flatten(0, 1)[at] = state.tokens.flatten(0, 1)[at].detach()
    assert torch.equal(head(spoilt, batch)["words"], head(state, batch)["words"])
    _, head, nothing = head_and_batch(places=())
    assert head(state, nothing)["words"].shape == (0, tiny.VOCAB)


def test_known_tying_shares_the_embedding() -> None:
    encoder, tied, _ = head_and_batch()
    assert tied.words.decoder.weight_re is encoder.token.weight_re
    assert tied.words.decoder.weight_im is encoder.token.weight_im
    encoder, own, _ = head_and_batch(tied=False)
    assert own.words.decoder.weight_re is not encoder.token.weight_re
    before = encoder.token.weight_re.detach().clone()
    ComplexPretrainingHead(encoder, PretrainingConfig())
    assert torch.equal(encoder.token.weight_re, before), "initialising the head touched the embedding"
    _, alone, batch = head_and_batch(next_sentence=False)
    assert alone.next is None
    assert set(alone(encoder(batch), batch)) == {"words"}


@pytest.mark.parametrize("family", ["qbert", "qbert as published", "cvbert"])
@pytest.mark.parametrize("logits", ["real", "modulus"])
def test_law_gradients_reach_every_parameter(family: str, logits: str) -> None:
    encoder, head, batch = head_and_batch(family, 24, places=((0, 1), (2, 7), (4, 3)), logits=logits)
    network = Network(encoder, head)
    predicted, state = network(batch)
    sum(term.total(predicted, batch, state) / term.count(batch) for term in pretraining().values()).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, f"{name} has no gradient"
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().max() > 0, f"the gradient of {name} is zero"


def test_law_bfloat16_agrees_with_float32() -> None:
    encoder, head, batch = head_and_batch()
    network = Network(encoder, head).float()
    with torch.no_grad():
        whole, _ = network(batch)
        with torch.autocast("cpu", torch.bfloat16):
            short, state = network(batch)
    assert state.vector.dtype == torch.complex64
    for name, value in whole.items():
        assert_close(short[name].float(), value, rtol=0.1, atol=0.1 * float(value.abs().max()))


def test_known_logits_of_a_bert_are_real() -> None:
    with pytest.raises(UserError, match=r"head\.logits = 'modulus' is for complex encoders"):
        resolve_recipe("pretrain", "bert-tiny", ["head.logits=modulus"])
    encoder = tiny.qbert(pool="mean")
    with pytest.raises(UserError, match=r"reads \[CLS\]; set encoder.pool to 'cls'"):
        build_pretraining_head(encoder, PretrainingConfig())
