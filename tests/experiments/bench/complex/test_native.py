"""The native QBERT computes what ours does: values, losses and gradients. No time is judged."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from psitext.assemble import build_encoder, build_pretraining_head
from psitext.encoders.qbert import Qbert, QbertConfig
from psitext.experiments.bench import pretraining
from psitext.experiments.bench.complex import native, steps
from psitext.experiments.bench.complex.layers import VARIANTS
from psitext.heads.complex_pretraining import ComplexPretrainingHead
from psitext.heads.pretraining import PretrainingConfig
from psitext.nn.complex.layout import planar, to_complex
from psitext.score.losses import pretraining as objectives
from psitext.text.batches import Batch
from psitext.train.network import Network

TINY = QbertConfig(vocab_size=5, width=8, layers=2, heads=2, hidden=12, max_len=64, dropout=0, attention_dropout=0)
variants = pytest.mark.parametrize("variant", VARIANTS)


def qbert(config: QbertConfig) -> Qbert:
    """With weights of every kind away from 0 and 1, where a forgotten one would not show."""
    encoder = build_encoder(config)
    assert isinstance(encoder, Qbert)
    shaken(encoder)
    return encoder


def shaken(module: nn.Module) -> None:
    rng = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=rng), alpha=0.3)


def in_pairs(module: nn.Module) -> list[Tensor]:
    """Gradients of complex weights as complex tensors, and of real ones, each shared weight once."""
    named = dict(module.named_parameters())
    found = []
    for name, parameter in named.items():
        assert parameter.grad is not None
        if name.endswith("_re"):
            found.append(torch.complex(parameter.grad, named[f"{name.removesuffix('_re')}_im"].grad))
        elif not name.endswith("_im"):
            found.append(parameter.grad)
    return found


def assert_same_gradients(ours: nn.Module, theirs: nn.Module) -> None:
    """In whatever order the modules hold them: told apart by shape and size."""

    def order(grads: list[Tensor]) -> list[Tensor]:
        return sorted(grads, key=lambda grad: (tuple(grad.shape), float(grad.abs().double().sum())))

    mine, other = in_pairs(ours), [p.grad for p in theirs.parameters()]
    assert len(mine) == len(other)
    for one, two in zip(order(mine), order(other), strict=True):  # type: ignore[arg-type]
        assert_close(one, two, rtol=0, atol=2e-4)


@variants
@pytest.mark.parametrize("masked", [False, True])
def test_parity_a_layer_and_its_gradients(variant: str, masked: bool) -> None:
    ours = qbert(TINY.model_copy(update=VARIANTS[variant])).blocks[0]
    theirs = native.Block(ours)
    z = torch.randn(3, 5, 8, dtype=torch.complex64, generator=torch.Generator().manual_seed(2))
    first = torch.tensor([[True, False, False, False, False]] * 3)
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2, [True] * 4 + [False]])[:, None, None] if masked else None
    x, z = planar(z).requires_grad_(), z.requires_grad_()
    mine, other = ours(x, mask, None, first), theirs(z, mask, first)
    assert_close(to_complex(mine), other, rtol=0, atol=1e-5)
    above = torch.randn(other.shape, dtype=other.dtype, generator=torch.Generator().manual_seed(3))
    mine.backward(planar(above))
    other.backward(above)
    assert x.grad is not None
    assert_close(to_complex(x.grad), z.grad, rtol=0, atol=1e-4)
    assert_same_gradients(ours, theirs)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> pretraining.Text:
    return pretraining.read_text(None, tmp_path_factory.mktemp("store"), "bert-tiny", "toy:60")


@variants
@pytest.mark.parametrize("logits", ["real", "modulus"])
@pytest.mark.parametrize("tied", [True, False])
def test_parity_the_loss_of_pretraining_and_its_gradients(
    text: pretraining.Text, variant: str, logits: str, tied: bool
) -> None:
    size = {"vocab_size": text.tokenizer.vocab_size, "max_len": text.source.config.max_len}
    encoder = qbert(TINY.model_copy(update={**VARIANTS[variant], **size}))
    head = build_pretraining_head(encoder, PretrainingConfig.model_validate({"logits": logits, "tied": tied}))
    assert isinstance(head, ComplexPretrainingHead)
    network, theirs = Network(encoder, head), native.Pretrainer(encoder, head)
    samples = np.arange(6)

    def ours(batch: Batch) -> Tensor:
        predicted, state = network(batch)
        return sum(term.total(predicted, batch, state) / term.count(batch) for term in objectives().values())

    packed, padded = text.source.build(samples, 0), steps.padded(text).build(samples, 0)
    assert len(packed.ids) < len(padded.ids) == 6
    mine, other = ours(packed), theirs.loss(padded)
    assert_close(mine, other, rtol=0, atol=1e-4)
    mine.backward()
    other.backward()
    assert_same_gradients(network, theirs)


def test_known_dropout_is_refused() -> None:
    for name in ("dropout", "attention_dropout"):
        with pytest.raises(ValueError, match="knows no dropout"):
            native.Block(qbert(TINY.model_copy(update={name: 0.1})).blocks[0])
