"""``Model.explain``: which words of a text made the decision, what would turn it, and its entanglement on the way.

A logit is linear in each word vector, so all of it is exact. Fillers in front of a short text are no words of it: they
are read first, and what is explained begins at the state that they leave. Letters: n words, K closings, D = chi + 1,
V words of the vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from psitext.errors import UserError, near
from psitext.explain.mps.chain import Chain
from psitext.explain.mps.prefix import prefix_map
from psitext.explain.passes import run
from psitext.explain.shapley import shapley
from psitext.explain.substitution import flips, leave_one_out
from psitext.model.answers import Answer
from psitext.model.model import Model
from psitext.model.mps.reading import Circuit, Metric, check_metric, circuit_of
from psitext.model.mps.state import number
from psitext.score import calibration
from psitext.text.supervised import shortened

Baseline = Literal["mean", "zero", "pad"]
BASELINES: dict[Baseline, str] = {
    "mean": "the mean word, which stands for a random one",
    "zero": "the vector 0",
    "pad": "the filler",
}


@dataclass(frozen=True, slots=True)
class Flip:
    """Another word in one place, with which the decision is another."""

    place: int  # of the word replaced, from 0
    word: str
    instead: str
    logits: tuple[float, ...]  # (K,) then
    label: str  # then
    probability: float  # of that label


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """A text under a circuit. Logits are those before the temperature: of two classes their log-odds, K = 1."""

    text: str
    words: tuple[str, ...]  # n words that were read, as the text spells them
    unknown: tuple[str, ...]  # words that the vocabulary lacks: left out, or read as one word for all of them
    cut: int  # words beyond the longest text that the model reads, which were left out
    says: tuple[str, ...]  # what each of K closings is
    answer: Answer
    prior: Answer  # of a text without words
    logits: Tensor  # (K,)
    baseline: Baseline
    nothing: Tensor  # (K,) with the baseline in the place of every word
    shapley: Tensor  # (K, n), which sum to logits - nothing
    leave_one_out: Tensor  # (K, n) the logits with the baseline in one place, less the logits
    flips: tuple[Flip, ...]
    metric: Metric
    entanglement_bits: (
        Tensor  # (n - 1, n - 1) row k after k words, column m - 1 at cuts m > k; else NaN. (0, 0): not made
    )
    temperature: float  # of the calibration: probabilities are those of the logits divided by it

    @property
    def shown(self) -> int:
        """Which closing the decision is about: the only one, or that of the class decided for."""
        return int(self.logits.argmax())

    def record(self) -> dict[str, Any]:
        """All of it as JSON holds it."""
        return {
            "text": self.text,
            "words": list(self.words),
            "unknown": list(self.unknown),
            "cut": self.cut,
            "answer": {"label": self.answer.label, "probabilities": dict(self.answer.probabilities)},
            "prior": {"label": self.prior.label, "probabilities": dict(self.prior.probabilities)},
            "temperature": self.temperature,
            "baseline": self.baseline,
            "closings": [
                {
                    "what": what,
                    "value": float(self.logits[at]),
                    "baseline": float(self.nothing[at]),
                    "shapley": self.shapley[at].tolist(),
                    "leave_one_out": self.leave_one_out[at].tolist(),
                }
                for at, what in enumerate(self.says)
            ],
            "flips": [
                {"place": one.place, "word": one.word, "instead": one.instead, "values": list(one.logits),
                 "label": one.label, "probability": one.probability}
                for one in self.flips
            ],
            "metric": self.metric,
            "entanglement_bits": [[number(bits) for bits in row] for row in self.entanglement_bits],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Read:
    """What a model reads of a text."""

    ids: list[int]
    words: tuple[str, ...]
    unknown: tuple[str, ...]
    cut: int


@torch.no_grad()
def explain(
    model: Model,
    text: str,
    *,
    baseline: Baseline | None = None,
    top: int = 5,
    metric: Metric | None = None,
    texts: Sequence[str] | None = None,
    entanglement: bool = True,
) -> Explanation:
    """What ``Model.explain`` gives."""
    circuit = circuit_of(model, texts)
    baseline = _known(circuit, baseline)
    metric = metric or ("paper" if circuit.law is None else "data")
    check_metric(metric)
    read = _read(model, text)
    answer, prior = model.predict([text, ""])
    chain = _begun(circuit, len(read.ids))
    words = circuit.vectors[read.ids][None]  # (1, n, d)
    there = len(read.ids) > 0
    instead = _vector(circuit, baseline)
    now = run(chain, words).values[0] if there else chain.last @ chain.first
    shares = shapley(chain, words, instead) if there else None
    without = leave_one_out(chain, words, instead) if there else None
    empty = now.new_zeros(len(now), 0)
    bits = now.new_zeros(0, 0)
    if entanglement and len(read.ids) > 1:
        bits = prefix_map(chain, words, circuit.word_root if metric == "data" else None)[0]
    return Explanation(
        text=text,
        words=read.words,
        unknown=read.unknown,
        cut=read.cut,
        says=circuit.says,
        answer=answer,
        prior=prior,
        logits=now,
        baseline=baseline,
        nothing=now if shares is None else shares.nothing[0] * shares.log_scale.exp(),
        shapley=empty if shares is None else shares.values[0] * shares.log_scale.exp(),
        leave_one_out=empty if without is None else without.values[0] * without.log_scale.exp(),
        flips=_flips(model, circuit, chain, words, read, top) if there and circuit.labels else (),
        metric=metric,
        entanglement_bits=bits,
        temperature=model.temperature,
    )


def _known(circuit: Circuit, baseline: Baseline | None) -> Baseline:
    """The baseline, by default the mean word where its law is known. Errors: one that this model does not have."""
    if baseline is None:
        return "zero" if circuit.law is None else "mean"
    if baseline not in BASELINES:
        raise UserError(f"baseline is one of {', '.join(BASELINES)}, not {baseline!r}{near(baseline, BASELINES)}")
    if baseline == "mean":
        _ = circuit.known_law
    if baseline == "pad" and circuit.filler is None:
        raise UserError("this model fills no texts, so it has no padding to take for a baseline; take 'mean' or 'zero'")
    return baseline


def _vector(circuit: Circuit, baseline: Baseline) -> Tensor:
    """(d,) the word that stands for none."""
    if baseline == "mean":
        return circuit.known_law.mean_word(circuit.vectors)
    if baseline == "pad" and circuit.filler is not None:
        return circuit.filler
    return circuit.vectors.new_zeros(circuit.vectors.shape[1])


def _read(model: Model, text: str) -> _Read:
    """The words that a model reads of a text, spelt as there. Errors: an empty text; a model of pairs."""
    if not isinstance(text, str):
        raise UserError(f"a text to explain is a string, not a {type(text).__name__}")
    if not text.strip():
        raise UserError("the text is empty; there is no word to explain")
    if model.asked().pair is not None:
        raise UserError("this model was trained on pairs of texts; what is explained are models of single ones")
    ((ids, places),) = model.tokenizer.encode_offsets([text])
    spelt = np.array([text[start:end] for start, end in places], dtype=object)
    strange = ids == model.tokenizer.unk
    unknown = tuple(spelt[strange])
    if model.text.unknown == "drop":
        ids, spelt = ids[~strange], spelt[~strange]
    kept, _ = shortened(
        np.arange(len(ids), dtype=np.int32), np.empty(0, dtype=np.int32), model.text.max_len, model.text.keep
    )
    return _Read(ids[kept].tolist(), tuple(spelt[kept]), unknown, len(ids) - len(kept))


def _begun(circuit: Circuit, words: int) -> Chain:
    """The chain of so many words, with all closings, behind the fillers that come before them."""
    chain = circuit.whole(max(words, 1))
    if circuit.filler is None:
        return chain
    step = chain.inputs @ torch.cat([circuit.filler, circuit.filler.new_ones(1)])
    first = chain.first
    for _ in range(circuit.steps - words):
        first = step * (chain.hidden @ first)
    if not bool(first.isfinite().all()):
        raise UserError("the fillers before this text take the circuit out of the range of doubles")
    return replace(chain, first=first)


def _flips(model: Model, circuit: Circuit, chain: Chain, words: Tensor, read: _Read, top: int) -> tuple[Flip, ...]:
    """The substitutions that turn the decision most decidedly, by words that training has read."""
    tokenizer, labels = model.tokenizer, circuit.labels
    allowed = torch.from_numpy(~tokenizer.continuation.copy())
    allowed[torch.from_numpy(tokenizer.special.copy())] = False
    if circuit.law is not None:
        allowed &= circuit.law.words > 0
    found = flips(chain, words, circuit.vectors, top, allowed)
    turned = []
    for place, word, logits in zip(found.position[0].tolist(), found.word[0].tolist(), found.logits[0], strict=True):
        if place < 0:
            continue
        values = logits * found.log_scale[0].exp()
        probs = probabilities(values, model.temperature)
        best = max(range(len(labels)), key=probs.__getitem__)
        (name,) = tokenizer.tokens([word])
        turned.append(Flip(place, read.words[place], name, tuple(values.tolist()), labels[best], probs[best]))
    return tuple(turned)


def probabilities(values: Tensor, temperature: float) -> list[float]:
    """Of the classes, from K logits or from the log-odds of the second of two."""
    logits = torch.stack([torch.zeros_like(values[0]), values[0]]) if len(values) == 1 else values
    return [float(math.exp(one)) for one in calibration.log_probs(logits.numpy()[None], temperature)[0]]
