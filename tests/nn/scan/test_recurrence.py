"""The recurrence against a plain loop: values, all gradients, lengths, chunks, scales, layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from psitext.nn.scan import recurrence as module
from psitext.nn.scan.recurrence import models_at_once, rac, scan

NAMES = ("words", "hidden", "hidden_bias", "inputs", "input_bias", "start")


def arguments(
    models: int = 3,
    steps: int = 6,
    batch: int = 5,
    width: int = 4,
    features: int = 2,
    *,
    own_words: bool = False,
    scale: float = 0.8,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
) -> dict[str, Tensor]:
    """Random words, weights and first states, all with gradients."""
    generator = torch.Generator().manual_seed(seed)
    shapes = {
        "words": (*((models,) if own_words else ()), steps, batch, features),
        "hidden": (models, width, width),
        "hidden_bias": (models, width),
        "inputs": (models, width, features),
        "input_bias": (models, width),
        "start": (models, batch, width),
    }
    made = {name: torch.randn(*shape, generator=generator, dtype=torch.float64) for name, shape in shapes.items()}
    return {name: (scale * value).to(dtype).requires_grad_() for name, value in made.items()}


def affine(words: Tensor, inputs: Tensor, input_bias: Tensor) -> Tensor:
    """Gates (E, T, B, H)."""
    each = words if words.dim() == 4 else words.expand(len(inputs), *words.shape)
    return torch.einsum("ehd,etbd->etbh", inputs, each) + input_bias[:, None, None]


def loop(gates: Tensor, weight: Tensor, bias: Tensor, start: Tensor | None, lengths: Tensor | None) -> Tensor:
    """All states (E, T + 1, B, H) as the equation has them; of ended sequences the last one."""
    models, steps, batch, width = gates.shape
    h = gates.new_zeros(models, batch, width) if start is None else start
    states = [h]
    for t in range(steps):
        after = (torch.einsum("ehk,ebk->ebh", weight, h) + bias[:, None]) * gates[:, t]
        h = after if lengths is None else torch.where((lengths > t)[:, None], after, h)
        states.append(h)
    return torch.stack(states, 1)


def assert_same_gradients(found: Tensor, expected: Tensor, of: list[Tensor], tolerance: float = 1e-12) -> None:
    """Of a random linear function of both, relative to the largest component; and twice, as the memory is used up."""
    weights = torch.randn(expected.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    reference = torch.autograd.grad((expected * weights).sum(), of, retain_graph=True)
    for again in range(2):
        gradients = torch.autograd.grad((found * weights).sum(), of, retain_graph=not again)
        for gradient, right in zip(gradients, reference, strict=True):
            assert (gradient - right).abs().max() <= tolerance * (1 + right.abs().max())


@pytest.mark.parametrize("models,chunk", [(1, None), (3, None), (3, 1), (5, 2)])
@pytest.mark.parametrize("own_words", [False, True])
@pytest.mark.parametrize("states", [False, True])
def test_parity_with_a_plain_loop(
    models: int, chunk: int | None, own_words: bool, states: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if chunk:
        monkeypatch.setattr(module, "models_at_once", lambda *shape: chunk)
    for started, ragged, rescale in product((False, True), repeat=3):
        args = arguments(models, own_words=own_words)
        start = args["start"] if started else None
        lengths = torch.tensor([3, 6, 0, 6, 5]) if ragged else None
        options = {"start": start, "lengths": lengths, "rescale": rescale, "states": states}
        cell = args["hidden"], args["hidden_bias"]
        gates = affine(*(args[name] for name in ("words", "inputs", "input_bias")))
        expected = loop(gates, *cell, start, lengths)
        if states:
            there = torch.ones(6, 5) if lengths is None else torch.arange(6)[:, None] < lengths
            expected = expected[:, 1:] * there[..., None]
        else:
            expected = expected[:, -1]
        of = [args[name] for name in NAMES if started or name != "start"]
        for vector, log_scale in (
            rac(args["words"], *cell, args["inputs"], args["input_bias"], **options),
            scan(gates, *cell, **options),
        ):
            assert not log_scale.requires_grad and (rescale or not log_scale.any())
            found = vector * log_scale.exp()[..., None]
            torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
            assert_same_gradients(found, expected, of)


@pytest.mark.parametrize("states", [False, True])
def test_law_gradcheck(states: bool) -> None:
    args = arguments(2, 4, 3, 3, 2)

    def unit(*values: Tensor) -> Tensor:
        vector, _ = rac(
            **dict(zip(NAMES, values, strict=True)), lengths=torch.tensor([4, 1, 3]), rescale=True, states=states
        )
        return F.normalize(vector[..., :1, :] if states else vector, dim=-1)  # its scale must not matter

    def plain(*values: Tensor) -> Tensor:
        vector, log_scale = rac(**dict(zip(NAMES, values, strict=True)), states=states)
        return vector * log_scale.exp()[..., None]

    for function in (unit, plain):
        assert torch.autograd.gradcheck(function, tuple(args.values()))


@pytest.mark.parametrize("states", [False, True])
@pytest.mark.parametrize("rescale", [False, True])
def test_parity_many_sequences_of_all_lengths(states: bool, rescale: bool) -> None:
    """More of them than the cache has in a line."""
    args = arguments(2, 9, 50, 3, 2)
    lengths = torch.randint(0, 10, (50,), generator=torch.Generator().manual_seed(0))
    words = args["words"].masked_fill((torch.arange(9)[:, None] >= lengths)[..., None], torch.nan)
    vector, log_scale = rac(**args | {"words": words}, lengths=lengths, rescale=rescale, states=states)
    gates = affine(*(args[name] for name in ("words", "inputs", "input_bias")))
    expected = loop(gates, args["hidden"], args["hidden_bias"], args["start"], lengths)
    expected = expected[:, 1:] * (torch.arange(9)[:, None] < lengths)[..., None] if states else expected[:, -1]
    found = vector * log_scale.exp()[..., None]
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    assert_same_gradients(found, expected, list(args.values()))


FUNCTIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "itself": lambda vector, log_scale: vector * log_scale.exp()[..., None],
    "unit": lambda vector, log_scale: F.normalize(vector, dim=-1),
    "log norm": lambda vector, log_scale: (vector.norm(dim=-1).log() + log_scale)[..., None],
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("scale", [0.2, 4.0])
def test_law_functions_of_the_pair_do_not_see_how_it_was_scaled(name: str, scale: float) -> None:
    """Through twenty doublings a step, so that float32 would need scaling every second one."""
    args = arguments(2, 40, 3, 4, 2, scale=scale)
    without = {key: value for key, value in args.items() if key != "start"}
    expected = FUNCTIONS[name](*rac(**without))
    assert_same_gradients(FUNCTIONS[name](*rac(**without, rescale=True)), expected, list(without.values()), 1e-9)


@pytest.mark.parametrize("lengths", [None, torch.tensor([2000, 700, 1])])
def test_known_two_thousand_words_stay_finite_in_float32(lengths: Tensor | None) -> None:
    single = {k: v for k, v in arguments(2, 2000, 3, 8, 4, scale=1, dtype=torch.float32).items() if k != "start"}
    assert not rac(**single)[0].isfinite().all(), "without rescaling this overflows"
    double = {name: value.detach().double().requires_grad_() for name, value in single.items()}
    results = []
    for args in (single, double):
        vector, log_scale = rac(**args, lengths=lengths, rescale=True)
        assert vector.isfinite().all() and log_scale.isfinite().all() and log_scale.max() > 1000
        assert ((vector.abs().amax(-1) >= 0.5) & (vector.abs().amax(-1) < 1) | (log_scale == 0)).all()
        F.normalize(vector, dim=-1)[..., 0].sum().backward()
        results.append((vector.detach(), log_scale))
    (vector, log_scale), (right, right_scale) = results
    torch.testing.assert_close(log_scale.double(), right_scale, rtol=1e-6, atol=0)
    torch.testing.assert_close(vector.double(), right, rtol=0, atol=1e-3)
    for name in ("words", "hidden", "inputs", "input_bias"):
        found, expected = single[name].grad, double[name].grad
        assert found is not None and expected is not None and found.isfinite().all()
        assert (found - expected).abs().max() < 1e-2 * expected.abs().max()


def test_known_a_word_that_clears_the_state_ends_its_scale() -> None:
    """All gates 0 in the middle of a long text: what follows is as if nothing had been before."""
    args = arguments(2, 300, 2, 4, 3, scale=1.5, dtype=torch.float32)
    cell = args["hidden"].detach(), args["hidden_bias"].detach(), args["inputs"].detach(), torch.zeros(2, 4)
    words = args["words"].detach().clone()
    words[200] = 0
    whole, scale = rac(words, *cell, rescale=True)
    rest, rest_scale = rac(words[201:], *cell, rescale=True)
    assert rac(words[:200], *cell, rescale=True)[1].min() > 126 * math.log(2), "a bias times 2^-k would be lost"
    assert torch.equal(whole, rest) and torch.equal(scale, rest_scale)


def test_known_without_bias_states_may_shrink_below_the_dtype() -> None:
    args = arguments(2, 1000, 3, 4, 2, scale=0.2, dtype=torch.float32)
    args["hidden_bias"] = torch.zeros(2, 4)
    vector, log_scale = rac(**args, rescale=True)
    assert (log_scale < -1000).all() and ((vector.abs().amax(-1) >= 0.5) & (vector.abs().amax(-1) < 1)).all()
    F.normalize(vector, dim=-1)[..., 0].sum().backward()
    assert all(value.grad.isfinite().all() for value in args.values() if value.grad is not None)
    assert args["hidden"].grad is not None and args["hidden"].grad.abs().max() > 0
    assert not rac(**args)[0].any(), "without rescaling nothing is left"
    states, scales = rac(**args, rescale=True, states=True)
    assert not scales.any() and not states[:, -1].any(), "what may be words keeps a bias of theirs small"


@settings(max_examples=30)
@given(seed=st.integers(0, 2**31 - 1), grown=st.booleans())
def test_law_no_sequence_and_no_model_changes_another(seed: int, grown: bool) -> None:
    """To the bit, and with its scale, though one of the models has diverged and words grow elsewhere."""
    args = {k: v.detach() for k, v in arguments(2, 90, 4, 3, 2, scale=2, seed=seed, dtype=torch.float32).items()}
    lengths = torch.tensor([90, 4, 80, 0])
    before = rac(**args, lengths=lengths, rescale=True)
    args["words"] = args["words"].clone()
    args["words"][:, 0] *= 100 if grown else 0.01
    args["words"][5:, 1], args["words"][80:, 2] = torch.nan, torch.inf  # behind their ends
    args["hidden"] = torch.stack([args["hidden"][0], torch.full((3, 3), torch.nan)])
    after = rac(**args, lengths=lengths, rescale=True)
    for old, new in zip(before, after, strict=True):
        assert torch.equal(new[0, 1:], old[0, 1:])
    assert after[0][1, 0].isnan().all() and torch.equal(after[0][1, 3], before[0][1, 3])


def test_parity_layers_with_a_scale_of_their_own() -> None:
    """Two layers, of which the first already leaves float32; and in double equal to two plain loops."""
    first, second = arguments(2, 12, 3, 4, 2), arguments(2, 12, 3, 4, 4, seed=1)
    lengths = torch.tensor([12, 7, 9])
    names = ("hidden", "hidden_bias", "inputs", "input_bias")
    lower, upper = ([args[name] for name in names] for args in (first, second))
    states, scale = rac(first["words"], *lower, lengths=lengths, rescale=True, states=True)
    vector, log_scale = rac(states, *upper, lengths=lengths, rescale=True, words_log_scale=scale)
    h = loop(affine(first["words"], *lower[2:]), *lower[:2], None, lengths)[:, 1:]
    expected = loop(affine(h, *upper[2:]), *upper[:2], None, lengths)[:, -1]
    found = vector * log_scale.exp()[..., None]
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-12)
    assert_same_gradients(found, expected, [first["words"], *lower, *upper], 1e-11)

    wild = [arguments(1, 600, 2, 4, d, scale=1.5, seed=d, dtype=torch.float32) for d in (2, 4)]
    lower, upper = ([args[name] for name in names] for args in wild)
    states, scale = rac(wild[0]["words"], *lower, rescale=True, states=True)
    assert scale.max() > 200
    vector, log_scale = rac(states, *upper, rescale=True, words_log_scale=scale)
    F.normalize(vector, dim=-1)[..., 0].sum().backward()
    assert log_scale.isfinite().all() and log_scale.min() > scale.max()
    assert all(weight.grad is not None and weight.grad.isfinite().all() for weight in (*lower, *upper))


def test_known_without_gradients_nothing_is_kept() -> None:
    args = arguments()
    with_gradients = rac(**args, rescale=True)
    with torch.no_grad():
        without = rac(**args, rescale=True)
    for one, other in zip(with_gradients, without, strict=True):
        assert torch.equal(one, other) and not other.requires_grad
    frozen = {name: value.detach() for name, value in args.items()}
    assert rac(**frozen)[0].grad_fn is None


@pytest.mark.parametrize("name", NAMES)
def test_law_each_argument_may_be_the_only_one_that_learns(name: str) -> None:
    args = arguments(own_words=True)
    whole = torch.autograd.grad(rac(**args)[0].sum(), args[name])
    alone = {key: value if key == name else value.detach() for key, value in args.items()}
    assert torch.equal(torch.autograd.grad(rac(**alone)[0].sum(), args[name])[0], whole[0])


def test_known_autocast_and_half_words_change_no_precision() -> None:
    args = {name: value.detach() for name, value in arguments(dtype=torch.float32).items()}
    args["words"] = args["words"].bfloat16()
    weight = args["hidden"].requires_grad_()
    results = []
    for enabled in (False, True):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            vector, _ = rac(**args)
            results.append((vector, *torch.autograd.grad(vector.sum(), weight)))
    for one, other in zip(*results, strict=True):
        assert one.dtype == torch.float32 and torch.equal(one, other)


def test_known_no_words_leave_the_first_state() -> None:
    args = arguments(steps=1)
    no_words = args | {"words": args["words"][:0]}
    for empty in (no_words, args | {"lengths": torch.zeros(5, dtype=torch.long)}):
        for rescale in (False, True):
            vector, log_scale = rac(**empty, rescale=rescale)
            torch.testing.assert_close(vector * log_scale.exp()[..., None], args["start"], rtol=1e-15, atol=0)
            (gradient,) = torch.autograd.grad((vector * log_scale.exp()[..., None]).sum(), args["start"])
            assert torch.equal(gradient, torch.ones_like(gradient))
            states, scales = rac(**empty, rescale=rescale, states=True)
            assert states.shape == (3, len(empty["words"]), 5, 4) and not states.any() and not scales.any()


def test_known_models_at_once_fill_the_chunk() -> None:
    assert models_at_once(128 * 50, 20) == 16
    assert models_at_once(128 * 50, 20, torch.float64) == 8
    assert models_at_once(128 * 2000, 40) == 1


@pytest.mark.parametrize(
    "change,message",
    [
        ({"words": torch.zeros(6, 5, 3)}, r"words of shape \(6, 5, 3\) instead of \(6, 5, 2\) or \(3, 6, 5, 2\)"),
        ({"hidden": torch.zeros(3, 4, 5)}, r"weight of shape \(3, 4, 5\) instead of \(3, 4, 4\)"),
        ({"hidden_bias": torch.zeros(4)}, r"bias of shape \(4,\) instead of \(3, 4\)"),
        ({"input_bias": torch.zeros(3, 5)}, r"input bias of shape \(3, 5\) instead of \(3, 4\)"),
        ({"start": torch.zeros(5, 4)}, r"start of shape \(5, 4\) instead of \(3, 5, 4\)"),
        ({"words_log_scale": torch.zeros(1, 6, 5)}, "words with a scale need rescale=True"),
        ({"words_log_scale": torch.zeros(6, 5)}, r"scale of words of shape \(6, 5\) instead of \(1, 6, 5\)"),
    ],
)
def test_known_shapes_that_do_not_fit_are_refused(change: dict[str, Tensor], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rac(**{**arguments(dtype=torch.float32), **change})
    with pytest.raises(ValueError, match=r"gates of shape \(2, 6, 5, 4\) instead of \(3, 6, 5, 4\)"):
        scan(torch.zeros(2, 6, 5, 4), torch.zeros(3, 4, 4), torch.zeros(3, 4))
