"""Sentences moved through a small space: what is written is what the model writes from the latents that are meant."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch

import tellers
import tiny
from psitext.errors import UserError
from psitext.experiments.latents.telling import analogy, fitted, interpolate, neighbours, reconstruct, sample, traverse
from psitext.explain.latent import paths, prior
from psitext.explain.latent.smoothness import smoothness
from psitext.heads.decoding import Writing
from psitext.model import TEXT, Model, Sentences
from psitext.model.writing import usual
from psitext.text.supervised import TextConfig
from psitext.text.tokenizer import train as train_tokenizer
from psitext.train.network import Network

ALL = tellers.SENTENCES


def decoded(latents: torch.Tensor) -> tuple[str, ...]:
    return tuple(tellers.space().decode(latents, Writing(max_len=15)))


def means(texts: list[str]) -> torch.Tensor:
    return tellers.space().encode(texts).vector


def reader() -> Model:
    """A BERT without a decoder."""
    tokenizer = train_tokenizer("words", ALL, tiny.VOCAB)
    return Model(Network(tiny.bert(), Sentences()).eval(), {TEXT: tokenizer}, TextConfig(max_len=16))


def test_law_reconstructions_are_what_is_written_from_means() -> None:
    texts = [*ALL, "Two  men SITS", "the dog sits in a boat", " ".join(["one boy"] * 9)]
    model = tellers.space()
    found = reconstruct(model, texts)
    assert tuple(one.written for one in found.each) == decoded(means(texts))
    assert tuple(one.text for one in found.each) == tuple(texts)
    assert [one.cut for one in found.each] == model.longer(texts) and found.each[-1].cut
    learnt = found.each[: len(ALL)]
    assert sum(one.exact for one in learnt) >= len(ALL) / 2  # it has learnt some of them by heart ...
    assert all(one.exact == (one.written == one.text) for one in learnt)
    assert not found.each[-1].exact  # ... and cannot have seen what is beyond its limit
    assert all(one.right == one.tokens for one in found.each if one.exact)
    assert found.exact == sum(one.exact for one in found.each) / len(texts)
    for one in found.each:
        asked, got = ([*ids.tolist(), -1] for ids in model.writer.encode([one.text, one.written]))
        pairs = list(zip(asked, got, strict=False))
        assert (one.right, one.tokens) == (sum(a == b for a, b in pairs), len(asked))
    right, tokens = sum(one.right for one in found.each), sum(one.tokens for one in found.each)
    assert found.token_accuracy == right / tokens


def test_law_a_path_is_written_from_its_points() -> None:
    texts = [ALL[0], ALL[7], ALL[10]]
    for course in get_args(paths.Course):
        found = interpolate(tellers.space(), texts, 4, course)
        points, places = paths.through(means(texts), 4, course)
        assert found.texts == decoded(points) and found.places == tuple(places.tolist())
        assert found.texts[::4] == decoded(means(texts)) and found.through == tuple(texts)
        assert found.smoothness == smoothness(found.texts)
        lines = found.records()
        assert [line["tau"] for line in lines] == [0, 0.25, 0.5, 0.75, 0, 0.25, 0.5, 0.75, 1]
        assert [(line["from"], line["to"]) for line in lines] == [(ALL[0], ALL[7])] * 4 + [(ALL[7], ALL[10])] * 5
    back = interpolate(tellers.space(), texts[::-1], 4)
    assert back.texts == interpolate(tellers.space(), texts, 4).texts[::-1]


def test_law_analogies() -> None:
    model, c = tellers.space(), [ALL[4], ALL[8]]
    a, b = ALL[:3], ALL[6:9]
    assert analogy(model, a, b, c, degree=0).texts == decoded(means(c))
    assert analogy(model, a, a, c).texts == decoded(means(c))
    found = analogy(model, a, b, c, degree=1.5)
    assert found.texts == decoded(means(c) + 1.5 * (means(b).mean(0) - means(a).mean(0)))
    assert (found.a, found.c) == ("the mean of 3 sentences", tuple(c))
    assert analogy(model, [ALL[0]], [ALL[1]], [ALL[0]]).texts == decoded(means([ALL[1]]))


def test_law_neighbours_are_nearest() -> None:
    model, asked = tellers.space(), [ALL[2], "the dog"]
    found = neighbours(model, asked, ALL, 4, "euclidean")
    table = np.linalg.norm((means(asked)[:, None] - means(ALL)).numpy().astype(float), axis=2)
    order = np.argsort(table, axis=1, kind="stable")[:, :4]
    assert found.neighbours == tuple(tuple(ALL[at] for at in row) for row in order)
    np.testing.assert_allclose(found.distances, np.take_along_axis(table, order, 1), atol=1e-5)
    for by in ("cosine", "kl"):
        assert neighbours(model, asked, ALL, 1, by).neighbours[0] == (ALL[2],)
    assert len(neighbours(model, asked, ALL, 99).neighbours[0]) == len(ALL)


def test_law_a_traversal_passes_through_its_sentence() -> None:
    model, texts = tellers.space(), [ALL[1], ALL[6]]
    found = traverse(model, texts, [4, 0], span=2, steps=4)
    assert [(walk.text, walk.dimension) for walk in found.walks] == [(text, d) for text in texts for d in (4, 0)]
    for walk in found.walks:
        assert walk.steps == (-2, -1, 0, 1, 2) and walk.deviation == 1
        moved = means([walk.text]).repeat(5, 1)
        moved[:, walk.dimension] += torch.tensor(walk.steps)
        assert walk.texts == decoded(moved)
    state = model.encode(texts)
    kl = (state.vector**2 + state.log_var.exp() - 1 - state.log_var).mean(0) / 2
    chosen = [walk.dimension for walk in traverse(model, texts, top=2, steps=1).walks]
    assert chosen == kl.argsort(descending=True)[:2].tolist() * 2


def test_law_a_traversal_among_others_goes_by_their_aggregate() -> None:
    model = tellers.space()
    crowd = model.encode(ALL)
    variance = crowd.vector.double().var(0)
    found = traverse(model, [ALL[3]], top=3, among=ALL).walks
    assert [walk.dimension for walk in found] == variance.argsort(descending=True)[:3].tolist()
    for walk in found:
        assert walk.activity == pytest.approx(float(variance[walk.dimension]), rel=1e-5)
        aggregate = (
            crowd.vector[:, walk.dimension].double().var(unbiased=False)
            + crowd.log_var[:, walk.dimension].exp().double().mean()
        )
        assert walk.deviation == pytest.approx(float(aggregate) ** 0.5, rel=1e-5)


def test_law_samples_are_written_from_the_priors_latents() -> None:
    model = tellers.space()
    plain = sample(model, 6)
    assert plain.texts == decoded(prior.standard(tellers.WIDTH).sample(6, 0).float()) and plain.prior == "normal"
    other = sample(model, 6, how=replace(usual(model), seed=5))
    assert other.texts == decoded(prior.standard(tellers.WIDTH).sample(6, 5).float()) != plain.texts
    ours = fitted(model, ALL, "gaussian", "diagonal")
    torch.testing.assert_close(ours.means[0], means(ALL).double().mean(0))
    assert sample(model, 6, ours).texts == decoded(ours.sample(6, 0).float())
    mixed = fitted(model, ALL, "mixture", "diagonal", (1, 2, 3))
    assert sample(model, 2, mixed).prior == "mixture" and set(mixed.facts["bic"]) == {"1"}  # of so few


def test_law_a_language_model_draws_its_words() -> None:
    model = tellers.language_model()
    found = sample(model, 8)
    assert found == sample(model, 8) and len(set(found.texts)) > 1 and found.prior == "none"
    assert sample(model, 8, how=replace(usual(model), seed=1)) != found
    with pytest.raises(UserError, match="only its words to draw, and no use for beams"):
        sample(model, 2, how=Writing(max_len=9, beams=2))
    with pytest.raises(UserError, match="no use for a prior"):
        sample(model, 2, prior.standard(0))
    with pytest.raises(UserError, match=r"a language model without a latent, .* `psitext generate sample`"):
        reconstruct(model, ["a girl sits"])


def test_law_everything_is_json() -> None:
    model = tellers.space()
    everything = [
        sample(model, 2), reconstruct(model, ALL[:2]), interpolate(model, ALL[:2], 2), traverse(model, ALL[:2]),
        analogy(model, ALL[:1], ALL[1:2], ALL[2:4]), neighbours(model, ALL[:2], ALL, 3),
    ]  # fmt: skip
    for told in everything:
        lines = told.records()
        assert json.loads(json.dumps(lines)) == lines and len({tuple(line) for line in lines}) == 1
    assert [len(told.records()) for told in everything] == [2, 2, 3, 2 * 3 * 7, 2, 6]


def test_known_what_is_refused() -> None:
    model = tellers.space()
    with pytest.raises(UserError, match="this model does not write sentences"):
        sample(reader(), 1)
    with pytest.raises(UserError, match="this model does not write sentences"):
        reconstruct(reader(), ["a girl sits"])
    with pytest.raises(UserError, match="sentence 2 is empty"):
        reconstruct(model, ["a girl sits", " \t"])
    with pytest.raises(UserError, match="not one string"):
        reconstruct(model, "a girl sits")
    with pytest.raises(UserError, match="there are no texts"):
        reconstruct(model, [])
    with pytest.raises(UserError, match="give two or more, not 1"):
        interpolate(model, ALL[:1])
    with pytest.raises(UserError, match="at least one step, not 0"):
        interpolate(model, ALL[:2], 0)
    with pytest.raises(UserError, match="one at least, not 0"):
        neighbours(model, ALL[:1], ALL, 0)
    with pytest.raises(UserError, match="one at least, not 0"):
        sample(model, 0)
    with pytest.raises(UserError, match="one of 5 numbers, and this model's latents have 6"):
        sample(model, 1, prior.standard(5))
    with pytest.raises(UserError, match="no dimension 6; this model's are numbered from 0 to 5"):
        traverse(model, ALL[:1], [0, 6])
    with pytest.raises(UserError, match="a span above 0, not 3, 6, 0"):
        traverse(model, ALL[:1], span=0)
    with pytest.raises(UserError, match="so samples is 1, not 3"):
        sample(model, 1, how=Writing(max_len=9, samples=3, sample=True))
    with pytest.raises(UserError, match="one sentence is written from each latent here, not 2"):
        reconstruct(model, ALL[:1], Writing(max_len=9, samples=2, sample=True))
