"""Circuits: a training step against tensorkrowch, entropies against quimb; and how both grow with every size.

tensorkrowch's layer is a uniform matrix product state with a full matrix for every feature: more general than a
circuit, which is one of those. A user who wants a circuit pays the difference. Letters: E models, B texts, T words, d
features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec

import torch
from torch import Tensor

from psitext.experiments.bench.timing import Measured, compare, grown
from psitext.explain.mps.chain import Chain, close, middle
from psitext.explain.mps.formats import to_quimb
from psitext.explain.mps.spectrum import spectrum
from psitext.nn.scan.recurrence import models_at_once, rac
from psitext.randomness import generator, torch_seed

STEPS, TEXTS, FEATURES = 50, 128, 4  # T, B, d of the paper
BONDS = (20, 40)
MODELS = 50  # whose entropies are compared
# What grows, while the others stay as the first of them is here, with how much.
GROWING = {
    "T": (50, 100, 200, 400, 800),
    "chi": (20, 40, 80, 160),
    "d_I": (4, 8, 16, 32, 64),
    "restarts": (4, 8, 16, 32, 64),
}


def tensor_speed(
    rounds: int,
    seed: int,
    tell: Callable[[str], None],
    bonds: tuple[int, ...] = BONDS,
    texts: int = TEXTS,
    models: int = MODELS,
) -> Iterator[Measured]:
    """A training step for every bond dimension, then entropies; what is not installed is skipped, and told."""
    for library, speed in (
        ("tensorkrowch", partial(_training, texts=texts)),
        ("quimb", partial(_entropies, models=models)),
    ):
        if find_spec(library) is None:
            tell(f"skipped, because {library} is not installed: pip install 'psitext[tensor]'")
            continue
        for bond in bonds:
            yield speed(bond, rounds, seed)


def growth(
    rounds: int, seed: int, sizes: Mapping[str, Sequence[int]] = GROWING, texts: int = TEXTS
) -> Iterator[Measured]:
    """A training step, and entropies at the middle cut, of E circuits, with each of T, chi, d_I and E growing."""
    usual = {name: some[0] for name, some in sizes.items()}
    for what, step in (("a training step", partial(_step, texts)), ("entropies", _middle)):
        for name, some in sizes.items():
            steps = [step({**usual, name: size}, seed) for size in some]
            medians, found = grown(steps, some, rounds, seed=seed)
            yield Measured(
                f"{what} of RACs, {name} = {some[0]} against {some[-1]}",
                "s",
                medians[0],
                medians[-1],
                medians[-1] / medians[0],
                rows=texts if what == "a training step" else 0,
                growth=found,
            )


def _step(texts: int, size: Mapping[str, int], seed: int) -> Callable[[], object]:
    """A training step as ``ensemble`` does it: no more models at a time than suit the cache."""
    shape = (size["T"], texts, size["d_I"])
    words = torch.from_numpy(generator(seed, "words").standard_normal(shape).astype("float32"))
    at_once = min(size["restarts"], models_at_once(texts * size["T"], size["chi"]))
    parts = [len(some) for some in torch.arange(size["restarts"]).split(at_once)]
    made = {count: _circuits(count, size["chi"], words, seed) for count in set(parts)}
    steps = [made[count] for count in parts]
    return lambda: [step() for step in steps]


def _middle(size: Mapping[str, int], seed: int) -> Callable[[], object]:
    chains = _chains(size["restarts"], size["chi"], seed, size["d_I"], size["T"])
    return lambda: spectrum(chains, bonds="mid")


def _training(bond: int, rounds: int, seed: int, texts: int) -> Measured:
    """Forward and backward pass of a step, seconds a model; ours trains as many side by side as suits the cache."""
    at_once = models_at_once(texts * STEPS, bond)
    words = torch.from_numpy(generator(seed, "words").standard_normal((STEPS, texts, FEATURES)).astype("float32"))
    ours, theirs = _circuits(at_once, bond, words, seed), _uniform(bond, words, seed)
    timing = compare([([ours], [theirs])] * (rounds + 1), seed=seed)
    return Measured(
        f"a training step of a RAC, chi = {bond}, {at_once} side by side, against tensorkrowch's UMPSLayer",
        "s a model",
        timing.ours / at_once,
        timing.theirs,
        timing.ratio * at_once,
        rows=texts,
    )


def _entropies(bond: int, rounds: int, seed: int, models: int) -> Measured:
    """Entropy at the middle cut of many models, seconds for all."""
    chains = _chains(models, bond, seed)
    cut = middle(STEPS)
    ours = spectrum(chains, bonds="mid").entropy_bits[:, 0]
    theirs = torch.tensor(_one_by_one(chains, cut), dtype=torch.float64)
    gap = float((ours - theirs).abs().max())
    if not gap < 1e-10:
        raise AssertionError(f"the entropies of the two sides differ by {gap:g}")
    rounds_of = [([lambda: spectrum(chains, bonds="mid")], [partial(_one_by_one, chains, cut)])] * (rounds + 1)
    timing = compare(rounds_of, seed=seed)
    return Measured(
        f"entropies of {models} models, chi = {bond}, against quimb's, one by one",
        "s",
        timing.ours,
        timing.theirs,
        timing.ratio,
    )


def _circuits(models: int, bond: int, words: Tensor, seed: int) -> Callable[[], object]:
    """Psitext's step; the gradient of a read-out is any."""
    weights = [weight.requires_grad_() for weight in _weights(models, bond, seed, words.shape[2])]
    slope = torch.ones(models, words.shape[1], bond)

    def step() -> None:
        for weight in weights:
            weight.grad = None
        rac(words, *weights)[0].backward(slope)

    return step


def _uniform(bond: int, words: Tensor, seed: int) -> Callable[[], object]:
    """The step of tensorkrowch, in the settings that are fastest here, on the same words with a 1 beside."""
    from tensorkrowch.models import UMPSLayer

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(seed, "uniform", bond))
        shape = {"n_features": STEPS + 1, "in_dim": FEATURES + 1, "out_dim": 2, "bond_dim": bond + 1}
        layer = UMPSLayer(**shape, init_method="randn_eye", std=1e-3)
    layer.auto_stack, layer.auto_unbind = True, False
    x = torch.cat([words, torch.ones(*words.shape[:2], 1)], dim=2).movedim(0, 1).contiguous()  # (B, T, d + 1)
    layer.trace(x[:1])

    def step() -> None:
        layer.zero_grad()
        layer(x).sum().backward()

    return step


def _weights(models: int, bond: int, seed: int, features: int = FEATURES) -> list[Tensor]:
    """W_H, b_H, W_I and b_I of circuits whose states neither vanish nor grow."""
    rng = torch.Generator().manual_seed(torch_seed(seed, "circuits", bond))

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=rng)

    hidden = normal(models, bond, bond) * 0.5 / bond**0.5
    inputs = 0.6 / features**0.5 * normal(models, bond, features)
    return [hidden, 0.1 * normal(models, bond), inputs, 1 + 0.1 * normal(models, bond)]


def _chains(models: int, bond: int, seed: int, features: int = FEATURES, steps: int = STEPS) -> Chain:
    hidden, hidden_bias, inputs, input_bias = _weights(models, bond, seed, features)
    return close(hidden, hidden_bias, inputs, input_bias, steps)


def _one_by_one(chains: Chain, cut: int) -> list[float]:
    """The same by quimb, conversion included, which it needs."""
    found = []
    for number in range(len(chains.hidden)):
        state = to_quimb(chains[number])
        state.normalize()
        found.append(float(state.entropy(cut)))
    return found
