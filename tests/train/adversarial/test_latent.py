"""Latents of a class: the game, its determinism, its classes, and what happens when it fails."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from psitext.errors import UserError
from psitext.train.adversarial import GanConfig, Latents, Player, fit_generator, likeness, play
from psitext.train.adversarial.latent import _Game, apart, as_real
from psitext.train.adversarial.networks import LatentDiscriminator

SMALL = GanConfig(clarity=0.0, noise=6, width=48, steps=500, batch=96, lr=2e-3, average=0.98)
CENTRES = torch.tensor([[2.0, 0.0, 0.0, 0.0], [-2.0, 1.0, 0.0, 0.0], [0.0, -2.0, 3.0, 1.0]])


def latents(sizes: tuple[int, ...] = (300, 60, 20), seed: int = 0) -> Latents:
    """Three classes of very unequal number, each a Gaussian of its own."""
    random = torch.Generator().manual_seed(seed)
    label = torch.cat([torch.full((size,), number) for number, size in enumerate(sizes)])
    spread = torch.tensor([0.5, 1.0, 0.3, 0.1])
    mean = CENTRES[label] + spread * torch.randn(len(label), 4, generator=random)
    return Latents(mean, torch.full_like(mean, -4.0), label, len(sizes))


def test_known_every_class_gets_its_own_latents_however_rare_it_is() -> None:
    fitted = fit_generator(latents(), SMALL)
    for label, like in enumerate(fitted.likeness):
        drawn = fitted.generator.draw(label, 400)
        nearest = torch.cdist(drawn, CENTRES).argmin(1)
        assert float((nearest == label).float().mean()) > 0.95
        assert 0.6 < like.spread < 1.4 and like.directions > 0.5 and like.off < 0.5 and not like.collapsed


def test_law_the_seed_alone_decides_and_nobody_elses_randomness_is_touched() -> None:
    config = SMALL.model_copy(update={"steps": 3, "clarity": 0.5})
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first = fit_generator(latents(), config)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(6)
    again = fit_generator(latents(), config)
    other = fit_generator(latents(), config.model_copy(update={"seed": 1}))
    weights = [torch.cat([p.flatten() for p in one.generator.parameters()]) for one in (first, again, other)]
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])
    assert first.losses == again.losses and set(first.losses) == {"discriminator", "classifier", "generator"}


def test_law_draws_are_functions_of_seed_and_class() -> None:
    generator = fit_generator(latents(), SMALL.model_copy(update={"steps": 2})).generator
    assert torch.equal(generator.draw(1, 5), generator.draw(1, 9)[:5])
    assert not torch.equal(generator.draw(1, 5), generator.draw(1, 5, seed=1))
    still = generator.draw(1, 5, scale=0.0)
    assert torch.equal(still, still[:1].expand(5, -1))


def test_law_collapse_is_seen() -> None:
    data = latents()
    fitted = fit_generator(data, SMALL.model_copy(update={"steps": 2}))
    with torch.no_grad():
        last = fitted.generator.net[-1]
        last.weight.zero_()
        last.bias.copy_((CENTRES[0] - fitted.generator.mean) / fitted.generator.deviation)
    like = likeness(fitted.generator, data, "samples", 0)
    assert like.collapsed and like.spread < 0.01 and like.off < 0.2
    assert not replace(like, spread=0.9, directions=0.9).collapsed


def test_law_batches_have_as_many_of_each_class() -> None:
    data = latents()
    generator = fit_generator(data, SMALL.model_copy(update={"steps": 1})).generator
    order, counts = torch.argsort(data.label, stable=True), torch.bincount(data.label)
    game = _Game(data, SMALL, generator, LatentDiscriminator(4, 3, 8, 1), torch.nn.Identity(), order, counts)
    seen = []

    def loss(turn):  # type: ignore[no-untyped-def]
        real, label = game._real(turn)
        seen.append((real, label))
        return own.sum()

    own = torch.nn.Parameter(torch.zeros(1))
    play([Player("one", [own], loss)], 2)
    for real, label in seen:
        assert torch.bincount(label).tolist() == [32, 32, 32]
        back = real * generator.deviation + generator.mean
        assert float((torch.cdist(back, CENTRES).argmin(1) == label).float().mean()) > 0.95
    assert not torch.equal(seen[0][0], seen[1][0])


def test_law_means_are_taken_as_they_are() -> None:
    data = latents()
    some = torch.arange(7)
    random = torch.Generator().manual_seed(0)
    assert torch.equal(data.drawn(some, "means", random), data.mean[:7])
    drawn = data.drawn(some, "samples", random)
    assert not torch.equal(drawn, data.mean[:7]) and float((drawn - data.mean[:7]).abs().max()) < 0.13 * 5


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_known_losses(loss: str) -> None:
    sure, lost = torch.tensor([9.0, 9.0]), torch.tensor([-9.0, -9.0])
    assert float(apart(sure, lost, loss)) < 1e-3 < 10 < float(apart(lost, sure, loss))  # type: ignore[arg-type]
    score = torch.tensor([-9.0], requires_grad=True)
    as_real(score, loss).backward()  # type: ignore[arg-type]
    assert score.grad is not None and float(score.grad) == pytest.approx(-1, abs=1e-3)  # where it loses it learns


def test_known_bad_input() -> None:
    with pytest.raises(UserError, match="class 2 has 1 sentences"):
        latents((5, 5, 1))
    with pytest.raises(UserError, match="only one"):
        Latents(torch.zeros(3, 2), torch.zeros(3, 2), torch.zeros(3, dtype=torch.int64), 1)
    data = latents()
    flat = replace(data, mean=data.mean * torch.tensor([1.0, 0, 1, 1]))
    with pytest.raises(UserError, match="latent number 1 is the same"):
        fit_generator(flat, SMALL.model_copy(update={"posterior": "means"}))
