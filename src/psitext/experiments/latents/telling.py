"""Sentences moved through a model's latent space and written out again: the tools of ``explain.latent`` with a model.

Sentences enter by the means of their posteriors; nothing is drawn unless ``how`` samples. Source: Li et al. 2020,
tables 2 and 3. Letters: N sentences, P latent numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from psitext.errors import UserError
from psitext.experiments.latents.told import (
    Analogies,
    Near,
    Path,
    Reconstruction,
    Reconstructions,
    Samples,
    Traversal,
    Walk,
    counted,
)
from psitext.explain.latent import arithmetic, paths
from psitext.explain.latent.neighbours import By, nearest
from psitext.explain.latent.prior import COMPONENTS, Covariance, Prior, fit_gaussian, fit_mixture, standard
from psitext.explain.latent.smoothness import smoothness
from psitext.heads.decoding import Writing, WritingConfig
from psitext.model import Model, decoder_of
from psitext.model.writing import usual
from psitext.state import Posterior

Fitted = Literal["gaussian", "mixture"]


def posterior(model: Model, texts: Sequence[str]) -> Posterior:
    """The Gaussians of N sentences. Errors: none; an empty one; a model without a latent space, or without numbers."""
    _space(model)
    if isinstance(texts, str):
        raise UserError("sentences must be a list of strings, not one string: write [sentence]")
    if empty := next((number for number, text in enumerate(texts, 1) if not text.strip()), None):
        raise UserError(f"sentence {empty} is empty; it takes one word at least")
    found = model.encode(texts)
    assert isinstance(found, Posterior)
    if not bool(found.vector.isfinite().all() & found.log_var.isfinite().all()):
        raise UserError("the latents of this model are not finite: its training diverged, or its weights are damaged")
    return found


def fitted(
    model: Model,
    texts: Sequence[str],
    kind: Fitted,
    covariance: Covariance = "full",
    components: Sequence[int] = COMPONENTS,
    seed: int = 0,
) -> Prior:
    """A prior for ``sample`` from the latents of sentences. Errors: as ``explain.latent.prior``."""
    means = posterior(model, texts).vector
    if kind == "gaussian":
        return fit_gaussian(means, covariance)
    return fit_mixture(means, components, covariance, seed)


def sample(model: Model, n: int, prior: Prior | None = None, how: Writing | None = None) -> Samples:
    """``n`` sentences from latents of a prior, N(0, 1) without one; latents and words are drawn by ``how.seed``.

    A language model without a latent draws its words, whatever ``how`` says. Errors: fewer than one; a prior of another
    width, or one for a language model, or beams, with which it would write one sentence n times.
    """
    width, how = decoder_of(model).config.latent, how or usual(model)
    if how.samples != 1:
        raise UserError(
            f"n says how many sentences there are, each from a latent of its own, so samples is 1, not {how.samples}"
        )
    if width == 0:
        if prior is not None or how.beams > 1:
            what = "a prior" if prior is not None else "beams"
            raise UserError(f"a language model without a latent has only its words to draw, and no use for {what}")
        how = replace(how, sample=True)
    given = prior or standard(width)
    if given.width != width:
        raise UserError(f"the prior is one of {given.width} numbers, and this model's latents have {width}")
    texts = model.decode(given.sample(n, how.seed).float(), how)
    return Samples(tuple(texts), "none" if width == 0 else str(given.facts.get("kind", "given")))


def reconstruct(model: Model, texts: Sequence[str], how: Writing | None = None) -> Reconstructions:
    """Every sentence written again from its latent. Errors: as ``posterior``."""
    written = _written(model, posterior(model, texts).vector, how)
    tokenizer = model.writer
    able = [tokenizer.decode(ids.tolist()) for ids in tokenizer.encode(texts)]  # what it can write of the sentences
    rows = [[*ids.tolist(), tokenizer.eos] for ids in tokenizer.encode([*able, *written])]
    asked, got = rows[: len(texts)], rows[len(texts) :]
    right = [sum(a == b for a, b in zip(*pair, strict=False)) for pair in zip(asked, got, strict=True)]
    exact = [old == new for old, new in zip(able, written, strict=True)]
    lengths = map(len, asked)
    each = zip(texts, written, exact, right, lengths, model.longer(texts), strict=True)
    return Reconstructions(tuple(Reconstruction(*one) for one in each))


def interpolate(
    model: Model,
    texts: Sequence[str],
    steps: int = 10,
    course: paths.Course = "linear",
    how: Writing | None = None,
) -> Path:
    """Sentences along a path through the latents of two or more, ``steps`` from each to the next (table 3: 10).

    Errors: as ``posterior`` and ``paths.through``.
    """
    if len(texts) < 2:
        raise UserError(f"an interpolation leads from one sentence to another; give two or more, not {len(texts)}")
    points, places = paths.through(posterior(model, texts).vector, steps, course)
    found = _written(model, points, how)
    return Path(tuple(texts), tuple(found), tuple(places.tolist()), smoothness(found))


def analogy(
    model: Model,
    a: Sequence[str],
    b: Sequence[str],
    c: Sequence[str],
    degree: float = 1.0,
    how: Writing | None = None,
) -> Analogies:
    """A is to B as each sentence of C is to what is written (table 2); of several, A and B are their means.

    Errors: as ``posterior``.
    """
    first, second, third = (posterior(model, some).vector for some in (a, b, c))
    found = _written(model, arithmetic.analogy(first, second, third, degree), how)
    return Analogies(counted(a), counted(b), tuple(c), degree, tuple(found))


def neighbours(model: Model, texts: Sequence[str], among: Sequence[str], top: int = 5, by: By = "cosine") -> Near:
    """The ``top`` nearest sentences of ``among`` to each of ``texts``. Errors: as ``posterior``; a top below 1."""
    if top < 1:
        raise UserError(f"the nearest are one at least, not {top}")
    found = nearest(posterior(model, texts), posterior(model, among), top, by)
    near = tuple(tuple(among[at] for at in row) for row in found.index.tolist())
    return Near(tuple(texts), near, tuple(map(tuple, found.distance.tolist())), by)


def traverse(
    model: Model,
    texts: Sequence[str],
    dimensions: Sequence[int] | None = None,
    *,
    top: int = 3,
    span: float = 3.0,
    steps: int = 6,
    among: Sequence[str] | None = None,
    how: Writing | None = None,
) -> Traversal:
    """Every sentence moved along ``dimensions`` (from 0), or along the ``top`` most active ones, from -span to span
    standard deviations in ``steps``.

    With ``among`` these are the aggregate's of those sentences, and activity is the variance of their posterior means.
    Without, they are the prior's, 1, and activity is the mean KL of the given sentences' posteriors to it, in nats.
    Errors: as ``posterior``; a dimension that is not there; a top or steps below 1; a span that is not above 0.
    """
    width = _space(model).latent
    if top < 1 or steps < 1 or not span > 0:
        raise UserError(f"a traversal has top and steps of 1 at least and a span above 0, not {top}, {steps}, {span:g}")
    if strange := [number for number in dimensions or () if not 0 <= number < width]:
        raise UserError(f"there is no dimension {strange[0]}; this model's are numbered from 0 to {width - 1}")
    state = posterior(model, texts)
    if among is None:
        activity = 0.5 * (state.vector.square() + state.log_var.exp() - 1 - state.log_var).double().mean(0)
        deviation = torch.ones(width, dtype=torch.float64)
    else:
        crowd = posterior(model, among)
        activity = arithmetic.active(crowd.vector)
        deviation = arithmetic.spread(crowd.vector, crowd.log_var, torch.eye(width))
    chosen = list(dimensions) if dimensions else activity.argsort(descending=True, stable=True)[:top].tolist()
    moves = torch.linspace(-span, span, steps + 1, dtype=torch.float64)
    axes = torch.eye(width)[chosen]
    moved = [arithmetic.traversal(latent, axes, deviation[chosen], moves) for latent in state.vector]
    found = _written(model, torch.stack(moved).flatten(0, 2), how)
    rows = iter(zip(*[iter(found)] * len(moves), strict=True))
    return Traversal(
        tuple(
            Walk(text, at, float(activity[at]), float(deviation[at]), tuple(moves.tolist()), tuple(next(rows)))
            for text in texts
            for at in chosen
        )
    )


def _written(model: Model, latents: Tensor, how: Writing | None) -> list[str]:
    """One sentence from each latent."""
    if how is not None and how.samples != 1:
        raise UserError(f"one sentence is written from each latent here, not {how.samples}")
    return model.decode(latents, how)


def _space(model: Model) -> WritingConfig:
    """What the model writes with. Errors: it does not write, or not from latents."""
    decoder = decoder_of(model).config
    if decoder.latent == 0:
        raise UserError(
            "this is a language model without a latent, so there is no space to move in; "
            "`psitext generate sample` writes with it"
        )
    return decoder
