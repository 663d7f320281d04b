"""QBERT and CVBERT: against their formulas over complex numbers written out, sizes of the paper, the norm of [CLS]."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F
from torch.testing import assert_close

import tiny
from psitext.assemble import build_encoder, build_pretraining_head
from psitext.config import build
from psitext.encoders.qbert import CvbertConfig, Qbert, QbertConfig, first_tokens
from psitext.errors import UserError
from psitext.experiments.runs.recipes import PretrainRecipe, resolve_recipe
from psitext.nn.complex.layout import to_complex
from psitext.text.batches import Batch
from psitext.train.network import Network, parameter_count

LENGTHS = [9, 3, 16, 5, 12, 2]
Weights = dict[str, Tensor]


def test_known_sizes_of_the_published_models() -> None:
    """Table 1, in millions of real parameters. What it counts is the encoder, the transform of the masked-words head,
    and what reads [CLS]: the dense layer of pre-training, or the unitary's D x D complex numbers, which are as many.
    The bias of the decoder, one number a word, is not counted.
    """
    for name, published in (("qbert-base", 135.06), ("cvbert-base", 135.10)):
        recipe = resolve_recipe("pretrain", name)
        assert isinstance(recipe, PretrainRecipe)
        with torch.device("meta"):
            encoder = build_encoder(recipe.encoder)
            head = build_pretraining_head(encoder, recipe.head)
        assert parameter_count(Network(encoder, head)) / 1e6 - 0.030522 == pytest.approx(published, abs=0.1)
    transform, unitary = 2 * (768 * 768 + 768), 2 * 768 * 768
    for layers, published in ((3, 71.30), (6, 92.57), (12, 135.06)):
        shape = resolve_recipe("finetune", "qcls-transformer-base", [f"encoder.layers={layers}"]).encoder
        with torch.device("meta"):
            counted = parameter_count(build_encoder(shape)) + transform + unitary  # type: ignore[arg-type]
        assert counted / 1e6 == pytest.approx(published, abs=0.1)


# --- against the formulas


def oracle(config: QbertConfig | CvbertConfig, w: Weights, batch: Batch, sentence: int) -> Tensor:
    """The (T, D) token states of one sentence alone, literally, over complex128."""
    start, length = int(batch.starts[sentence]), int(batch.lengths[sentence])
    ids, segments = (part.flatten()[start : start + length] for part in (batch.ids, batch.segments))
    z = w["token.weight"][ids] + w["position.weight"][:length] + w["segment.weight"][segments]
    z = _norm(config, w, "norm", z)
    for number in range(config.layers):
        name = f"blocks.{number}"
        z = _norm(config, w, f"{name}.attention_norm", z + _attention(config, w, name, z))
        up = _linear(w, f"{name}.up", z)
        up = torch.complex(F.gelu(up.real), F.gelu(up.imag))
        z = _norm(config, w, f"{name}.feed_norm", z + _linear(w, f"{name}.down", up))
    return z


def _linear(w: Weights, name: str, z: Tensor) -> Tensor:
    found = z @ w[f"{name}.weight"].T + w[f"{name}.bias"]
    return found + z.conj() @ w[f"{name}.conjugate"].T if f"{name}.conjugate" in w else found


def _norm(config: QbertConfig | CvbertConfig, w: Weights, name: str, z: Tensor) -> Tensor:
    inner = name if config.first == "layer" else f"{name}.inner"
    a, b = w[f"{inner}.weight"], w[f"{inner}.bias"]
    if config.linear == "complex":
        centred = z - z.mean(-1, keepdim=True)
        out = centred / (centred.abs() ** 2).mean(-1, keepdim=True).sqrt() * a + b
    else:
        mean = (z.real.mean(-1, keepdim=True) + z.imag.mean(-1, keepdim=True)) / 2
        x, y = z.real - mean, z.imag - mean
        sigma = ((x**2 + y**2).mean(-1, keepdim=True) / 2).sqrt()
        out = torch.complex(x / sigma * a.real + b.real, y / sigma * a.imag + b.imag)
    if config.first != "layer":
        cls = z[:1] / z[:1].abs().square().sum().sqrt()
        out = torch.cat([cls * (config.width**0.5 if config.first == "rms" else 1), out[1:]])
    return out


def _attention(config: QbertConfig | CvbertConfig, w: Weights, name: str, z: Tensor) -> Tensor:
    width, size = config.width, config.width // config.heads
    if config.queries:
        q, k, v = _linear(w, f"{name}.attention.qkv", z).split(width, dim=-1)
    else:
        q, (k, v) = z, _linear(w, f"{name}.attention.qkv.kv", z).split(width, dim=-1)
    heads = []
    for head in range(config.heads):
        part = slice(head * size, (head + 1) * size)
        scores = q[:, part] @ k[:, part].conj().T / size**0.5
        weights = {
            "modulus": lambda s: s.abs().softmax(-1).to(s.dtype),
            "real": lambda s: s.real.softmax(-1).to(s.dtype),
            "split": lambda s: torch.complex(s.real.softmax(-1), s.imag.softmax(-1)),
        }[config.score](scores)
        heads.append(weights @ v[:, part])
    out = torch.cat(heads, dim=-1)
    return _linear(w, f"{name}.attention.out", out) if config.outputs else out


def complex_weights(encoder: Qbert) -> Weights:
    """Its parameters as complex leaves, by their names without the ends."""
    parameters = dict(encoder.named_parameters())
    return {
        name.removesuffix("_re"): torch.complex(value.detach(), parameters[f"{name[:-3]}_im"].detach()).requires_grad_()
        for name, value in parameters.items()
        if name.endswith("_re")
    }


VARIANTS = {**tiny.COMPLEX, "split": tiny.COMPLEX["qbert"].model_copy(update={"score": "split"})}


@pytest.mark.parametrize("row", [None, 24])
@pytest.mark.parametrize("name", VARIANTS)
def test_parity_states_and_gradients_are_those_of_complex_numbers(name: str, row: int | None) -> None:
    config = VARIANTS[name]
    encoder, batch = tiny.qbert(config), tiny.batch(LENGTHS, row=row)
    weights = complex_weights(encoder)
    state = encoder(batch)
    assert (state.vector.dtype, state.tokens.dtype) == (torch.complex128, torch.complex128)
    expected = [oracle(config, weights, batch, sentence) for sentence in range(len(LENGTHS))]
    cut, real = batch.sequences(state.tokens)
    assert_close(cut[real], torch.cat(expected), rtol=0, atol=1e-10)
    vectors = torch.stack([tokens.mean(0) if config.pool == "mean" else tokens[0] for tokens in expected])
    assert_close(state.vector, vectors, rtol=0, atol=1e-10)
    # torch's gradient of a complex leaf is dL/dRe + i dL/dIm, so both ways must give the same numbers.
    for tokens in (cut[real], torch.cat(expected)):
        (tokens.real.cos().sum() + (tokens.imag * 2).sin().sum()).backward()
    parameters = dict(encoder.named_parameters())
    for key, leaf in weights.items():
        ours = torch.complex(parameters[f"{key}_re"].grad, parameters[f"{key}_im"].grad)
        assert_close(ours, leaf.grad, rtol=1e-8, atol=1e-8, msg=key)


# --- laws


@pytest.mark.parametrize("name", tiny.COMPLEX)
@settings(max_examples=25)
@given(lengths=st.lists(st.integers(2, 16), min_size=1, max_size=6), row=st.integers(2, 40))
def test_law_packed_equals_padded(name: str, lengths: list[int], row: int) -> None:
    encoder = tiny.qbert(tiny.COMPLEX[name])
    with torch.no_grad():
        one, other = encoder(tiny.batch(lengths)), encoder(tiny.batch(lengths, row=row))
    assert_close(one.vector, other.vector, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", tiny.COMPLEX)
@pytest.mark.parametrize("row", [None, 24])
@pytest.mark.parametrize("layers", [0, 1, 2])
def test_law_a_head_may_say_what_it_reads(name: str, row: int | None, layers: int) -> None:
    encoder, batch = tiny.qbert(tiny.COMPLEX[name], layers=layers), tiny.batch(LENGTHS, row=row)
    read = batch.starts[[4, 1]] + 2
    with torch.no_grad():
        whole, some = encoder(batch), encoder(replace(batch, read=read))
    assert_close(some.vector, whole.vector, rtol=0, atol=1e-12)
    assert_close(some.tokens.flatten(0, 1)[read], whole.tokens.flatten(0, 1)[read], rtol=0, atol=1e-12)
    spared = some.tokens.flatten(0, 1).real.isnan().any(-1)
    known = 0 if encoder.config.pool == "mean" or layers == 0 else len(LENGTHS) + len(read)
    assert int(spared.sum()) == (batch.ids.numel() - known if known else 0)


@pytest.mark.parametrize("row", [None, 24])
@pytest.mark.parametrize(("first", "size"), [("unit", 1.0), ("rms", 8**0.5)])
def test_law_the_first_token_is_a_quantum_state_in_every_layer(first: str, size: float, row: int | None) -> None:
    encoder, batch = tiny.qbert(first=first), tiny.batch(LENGTHS, row=row)
    norms = []
    for name, module in encoder.named_modules():
        if name.endswith("norm"):
            module.register_forward_hook(lambda module, inputs, out: norms.append(to_complex(out).norm(dim=-1)))
    encoder(batch)
    assert len(norms) == 1 + 2 * encoder.config.layers
    for found in norms:
        at = found.flatten()
        assert_close(at[batch.starts], torch.full((len(LENGTHS),), size, dtype=torch.float64))
        assert (at[batch.starts + 1] - size).abs().min() > 1e-3, "a second token was normalised like a first"


def test_known_first_tokens_of_packed_rows() -> None:
    batch = tiny.batch([3, 5, 4], row=8)
    first = first_tokens(batch)
    assert first.shape == batch.ids.shape
    assert first.sum() == 3
    assert torch.equal(first, (batch.positions == 0) & (batch.owner > 0))


def test_law_unit_and_rms_differ_where_a_state_is_its_own_query() -> None:
    """The scale of [CLS] is no matter of taste inside the network: it is half of its attention scores."""
    batch = tiny.batch(LENGTHS)
    shape = tiny.COMPLEX["qbert as published"]
    unit, rms = (tiny.qbert(shape, first=first)(batch).to_ket() for first in ("unit", "rms"))
    assert (unit.fidelity(rms) < 0.99).any()


def test_law_dropout_acts_in_training_only() -> None:
    batch = tiny.batch(LENGTHS)
    for changes in ({"dropout": 0.3}, {"attention_dropout": 0.3}):
        encoder = tiny.qbert(**changes)
        assert torch.equal(encoder(batch).vector, encoder(batch).vector)
        encoder.train()
        assert not torch.equal(encoder(batch).vector, encoder(batch).vector)


@pytest.mark.parametrize(("init", "std"), [("fan-in", 1 / 16), ("paper", 0.1)])
def test_known_initial_weights(init: str, std: float) -> None:
    torch.manual_seed(0)
    encoder = Qbert(QbertConfig(vocab_size=500, width=128, layers=1, heads=4, hidden=128, init=init))
    for name, parameter in encoder.named_parameters():
        if parameter.ndim == 2 and len(parameter) > 2:
            assert abs(parameter.detach().std().item() - std) < 0.05 * std, name
        elif "bias" in name:
            assert not parameter.any(), name


# --- settings


def test_known_settings_that_are_refused() -> None:
    with pytest.raises(UserError, match="a width of 10 cannot be shared over 4 heads"):
        build(QbertConfig, {"width": 10, "heads": 4}, "here")
    with pytest.raises(UserError, match="here sets first to 'unit': it takes 'layer'"):
        build(CvbertConfig, {"first": "unit"}, "here")
    with pytest.raises(UserError, match="here sets pool to 'pooled': it takes 'cls' or 'mean'"):
        build(QbertConfig, {"pool": "pooled"}, "here")
