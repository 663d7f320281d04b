"""What answers: contexts into the space, latents drawn near them and, if asked, towards a style, and sentences out.

Letters: N contexts, K answers to each, P latent numbers, Q sentences of a style.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from psitext.errors import UserError
from psitext.experiments.dialog.training import CONTEXTS, STYLE
from psitext.heads.decoding import Writing
from psitext.model import Model, Sentences, load
from psitext.model.writing import usual
from psitext.randomness import generator
from psitext.state import Posterior
from psitext.text.dialogs import ContextSource, contexts, plain
from psitext.train import predict
from psitext.train.checkpoint import read_tensors
from psitext.train.network import Network

NEAR = 10  # sentences of a style, the nearest to a context, that its answers are drawn towards in turn
SPREADS = {"fusion": 0.3, "cvae": 1.0, "seq2seq": 0.0}  # of several answers, where none is asked for


@dataclass(frozen=True, slots=True)
class Answering:
    """How contexts are answered.

    ``spread``: how far latents are drawn from a context's mean, in deviations of the prior for a CVAE, else in numbers
    of the space; None is the method's own (and 0 for a single answer). ``style``: which share of the way towards a
    sentence of the style, 0 to 1. ``seed`` decides the draws; how words are chosen is ``Writing``'s.
    """

    n: int = 1
    spread: float | None = None
    style: float = 0.0
    seed: int = 0


@dataclass(frozen=True)
class Responder:
    """A space, the encoder of contexts into it, and the latents of a style."""

    space: Model
    contexts: Model
    style: Tensor | None = None  # (Q, P) float32

    @property
    def method(self) -> str:
        """How it was trained: fusion, seq2seq, cvae."""
        return str(self._facts["method"])

    @property
    def _facts(self) -> dict[str, object]:
        return dict(self.contexts.facts["dialog"])

    def encode(self, given: Sequence[Sequence[str]]) -> Posterior:
        """The Gaussians of N contexts, each a list of utterances, the oldest first.

        Only the last ones, as many as it was trained with, are read. Errors: no context, or one without a word.
        """
        if not given:
            raise UserError("there is no context to answer")
        if any(isinstance(one, str) for one in given):
            raise UserError("a context is a list of utterances, not one string: write [utterance]")
        most = int(str(self._facts["turns"]))
        write = plain if self._facts["tidy"] else str.strip
        said = [[write(one) for one in context if one.strip()][-most:] for context in given]
        if not all(said):
            raise UserError(f"context {said.index([]) + 1} is empty; an answer is to one utterance at least")
        found = contexts(said, self.contexts.tokenizer, int(str(self._facts["context_len"])))
        network = Network(self.contexts.network.encoder, Sentences()).eval()
        source = ContextSource(found, self.contexts.tokenizer)
        mean, log_var = torch.from_numpy(np.stack(predict.run(network, source, predict.gaussians), axis=1))
        return Posterior(mean, log_var)

    def latents(self, given: Sequence[Sequence[str]], how: Answering) -> Tensor:
        """(N * K, P) float32 latents, those of a context together; each a function of the seed, its context's place
        and its own number. Errors: as ``encode``; a style that the run had none of.
        """
        if how.n < 1:
            raise UserError(f"there is at least one answer, not {how.n}")
        spread = (SPREADS[self.method] if how.n > 1 else 0.0) if how.spread is None else how.spread
        if not spread >= 0 or not np.isfinite(spread):
            raise UserError(f"the spread of answers is 0 or more, not {spread:g}")
        found = self.encode(given)
        centres = self._styled(found.vector, how)  # (N, K, P)
        if spread:
            deviation = (0.5 * found.log_var).exp() if self.method == "cvae" else torch.ones_like(found.vector)
            noise = torch.stack([_normal(how, place, centres.shape[2]) for place in range(len(centres))])
            centres = centres + spread * deviation[:, None] * noise
        return centres.flatten(0, 1)

    def _styled(self, mean: Tensor, how: Answering) -> Tensor:
        """(N, K, P) the means, or points on the way from them to sentences of the style that are near."""
        centres = mean[:, None].expand(-1, how.n, -1)
        if not 0 <= how.style <= 1:
            raise UserError(f"style is a share of the way, from 0 to 1, not {how.style:g}")
        if how.style == 0:
            return centres
        if self.style is None:
            raise UserError("this model was trained without a style; name its text in `style` when training")
        near = torch.cdist(mean, self.style).topk(min(NEAR, len(self.style)), largest=False).indices  # (N, NEAR)
        towards = self.style[near[:, torch.arange(how.n) % near.shape[1]]]
        return (1 - how.style) * centres + how.style * towards

    def answers(
        self, given: Sequence[Sequence[str]], how: Answering | None = None, writing: Writing | None = None
    ) -> list[list[str]]:
        """K answers to each of N contexts. The same call gives the same answers. Errors: as ``latents`` and
        ``Model.decode``.
        """
        how, writing = how or Answering(), writing or usual(self.space)
        if writing.samples != 1:
            raise UserError(f"n says how many answers there are, so samples is 1, not {writing.samples}")
        latents = self.latents(given, how)
        # Answers of one latent are one sentence unless words are drawn, and are written once.
        only, which = (latents, None) if writing.sample else torch.unique(latents, dim=0, return_inverse=True)
        texts = self.space.decode(only, writing)
        found = texts if which is None else [texts[at] for at in which.tolist()]
        return [found[at : at + how.n] for at in range(0, len(found), how.n)]

    def respond(
        self, context: Sequence[str], n: int = 1, *, style: float = 0.0, spread: float | None = None, seed: int = 0,
        writing: Writing | None = None,
    ) -> list[str]:  # fmt: skip
        """``n`` answers to one context, a list of utterances."""
        return self.answers([context], Answering(n, spread, style, seed), writing)[0]


def load_responder(path: str | Path) -> Responder:
    """The responder of a finished run. Errors: a folder without one; damage."""
    folder = Path(path)
    space = load(folder)
    if not (folder / CONTEXTS).is_dir() or "dialog" not in space.facts:
        raise UserError(f"{folder} is no run of responses: there is no encoder of contexts beside its model")
    style = read_tensors(folder / STYLE)["latent"] if (folder / STYLE).is_file() else None
    return Responder(space, load(folder / CONTEXTS), style)


def _normal(how: Answering, place: int, width: int) -> Tensor:
    """(K, P) noise of a context's answers."""
    return torch.from_numpy(generator(how.seed, "answers", place).standard_normal((how.n, width))).float()
