"""The circuit in a model: its weights in double, what closes it, its words and their law; or why there is none.

The head reads [h; 1], so a logit is a closing vector's product with the state: [W_O; b_O] with the bias added to the
last entry. Letters: V words, d width of a word vector, D = chi + 1, K closings, T words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from psitext.encoders.automaton import Automaton
from psitext.encoders.rac import Rac
from psitext.encoders.words import MARKS
from psitext.errors import UserError, near
from psitext.explain.law import WordLaw, counted, place_roots
from psitext.explain.mps.chain import Chain, close, word_root
from psitext.heads.affine import SequenceHead
from psitext.model.model import PLAIN, Model
from psitext.text.examples import Example
from psitext.text.supervised import encode_examples

Closing = Literal["readout", "ones"]
Metric = Literal["paper", "data"]
WORDS = 50  # T where nothing says another: the paper's


@dataclass(frozen=True, slots=True, eq=False)
class Circuit:
    """A model's circuit, all in double on the CPU.

    Of two classes there is one closing, that of the second logit less the first: the log-odds. Of a regression it is
    the score; of more classes every logit is one.
    """

    hidden: Tensor  # (chi, chi)
    hidden_bias: Tensor  # (chi,)
    inputs: Tensor  # (chi, d)
    input_bias: Tensor  # (chi,)
    closings: Tensor | None  # (K, D), None where the head is not affine
    says: tuple[str, ...]  # what each closing is, for a reader
    labels: tuple[str, ...]  # the classes; none of a regression
    vectors: Tensor  # (V, d) of the words
    filler: Tensor | None  # (d,) what stands in front of short texts
    steps: int  # T, the most words that the model reads; all texts have so many where they are filled
    law: WordLaw | None

    @property
    def usual_length(self) -> int:
        """T of what is filled, and of other circuits the paper's, or fewer where the model reads no more."""
        return self.steps if self.filler is not None else min(WORDS, self.steps)

    def chain(self, length: int, closing: Closing = "readout", label: str | None = None) -> Chain:
        """The chain of T sites with one closing vector.

        Errors: T below 1; a head that is not affine; several classes and no label; a label that is none.
        """
        weights = (self.hidden, self.hidden_bias, self.inputs, self.input_bias)
        return close(*weights, length, self.closing(closing, label)[0])

    def whole(self, length: int) -> Chain:
        """The chain with all K closings, (K, D): what explains sentences and is compressed."""
        chain = close(self.hidden, self.hidden_bias, self.inputs, self.input_bias, length)
        return Chain(chain.hidden, chain.inputs, chain.first, self.readout, length)

    @property
    def readout(self) -> Tensor:
        """(K, D) closings by the head. Errors: a head that is not affine."""
        if self.closings is None:
            raise UserError(
                "the head of this model is not affine, so its answers are not linear in the circuit's state; close the "
                "chain with ones (--closing ones), or fine-tune with --head affine"
            )
        return self.closings

    def closing(self, closing: Closing, label: str | None = None) -> tuple[Tensor | None, str]:
        """One closing vector, None for ones, and what the chain then is. Errors: as ``chain``."""
        _one_of("closing", closing, ("readout", "ones"))
        if closing == "ones":
            if label is not None:
                raise UserError("a chain that is closed with ones belongs to no label; leave the label out")
            return None, "1 + the sum of h, closed with ones as in the paper"
        readout = self.readout
        if label is not None and label not in self.labels:
            raise UserError(f"{label!r} is no label of this model{near(label, self.labels) or _there_are(self.labels)}")
        if len(self.labels) == 2:
            turned = label == self.labels[0]
            return (-readout[0], _odds(*self.labels[::-1])) if turned else (readout[0], self.says[0])
        if len(readout) > 1 and label is None:
            raise UserError(
                f"this model has {len(readout)} classes, and each has a logit of its own; name a label "
                f"({', '.join(self.labels)}), or close with ones"
            )
        at = 0 if label is None else self.labels.index(label)
        return readout[at], self.says[at]

    def roots(self, length: int) -> list[Tensor]:
        """T roots of the data's metric, each place with its share of the filler. Errors: no law."""
        return place_roots(self.known_law, self.vectors, self.filler, length)

    @property
    def word_root(self) -> Tensor:
        """A root (p, k) of the metric of words alone. Errors: no law."""
        return word_root(self.vectors, self.known_law.words)

    @property
    def known_law(self) -> WordLaw:
        """The law of words, or the reason why there is none."""
        if self.law is None:
            raise UserError(
                "this model does not hold the law of its words (an earlier psitext made it, or it was not trained "
                "on text); give texts of its kind (--law), or do without (--metric paper, --baseline zero)"
            )
        return self.law


def circuit_of(model: Model, texts: Sequence[str] | None = None) -> Circuit:
    """The circuit in a model; ``texts`` make the law of words in place of those it was trained on.

    Errors: another family, several layers, no biases, weights that are not finite; texts without any known word.
    """
    encoder = model.encoder
    if isinstance(encoder, Automaton):
        raise UserError(
            "this model is an automaton, which is what compress makes of a circuit; look at the circuit it came from"
        )
    if not isinstance(encoder, Rac):
        raise UserError(
            f"this model is a {encoder.config.family}; only a recurrent arithmetic circuit (rac-tiny, or psitext "
            "finetune --encoder rac) is a matrix product state (a sentence's ket is one under any model: `psitext "
            "explain ket`, `psitext export --text`)"
        )
    if encoder.config.layers > 1:
        raise UserError(
            f"a circuit of {encoder.config.layers} layers is not linear in every word, so it is no matrix product "
            "state: nothing explains, compresses or exports it; train one with layers = 1"
        )
    if not encoder.config.biases:
        raise UserError(
            "a circuit without biases stays at h = 0 whatever it reads, so there is nothing to look at; train one with "
            "biases = true"
        )
    cell = encoder.cells[0]
    weights = {
        name: _double(getattr(cell, name), what)
        for name, what in (("hidden", "W_H"), ("hidden_bias", "b_H"), ("inputs", "W_I"), ("input_bias", "b_I"))
    }
    closings, says = _closings(model)
    vectors = _double(encoder.token.weight, "a word vector")
    filler = None if encoder.words.filler is None else _double(encoder.words.filler, "the filler's vector")
    filled = encoder.config.pad != "none"
    return Circuit(
        **weights,
        closings=closings,
        says=says,
        labels=() if model.task is None else model.task.labels,
        vectors=vectors,
        filler=vectors.new_zeros(vectors.shape[1]) if encoder.config.pad == "zero" else filler,
        steps=encoder.config.steps if filled else min(encoder.config.steps, model.text.max_len - MARKS),
        law=model.law if texts is None else law_of(model, texts),
    )


def law_of(model: Model, texts: Sequence[str]) -> WordLaw:
    """The law of some texts, as the model reads them. Errors: no texts; none with a word that it knows."""
    if isinstance(texts, str) or not len(texts):
        raise UserError("a law of words is made of a list of texts, at least one")
    examples = [Example(text=text) for text in texts]
    return counted(encode_examples(examples, PLAIN, model.tokenizer, model.text, labelled=False))


def check_metric(metric: str) -> None:
    """Refuse what names no metric."""
    _one_of("metric", metric, ("paper", "data"))


def _closings(model: Model) -> tuple[Tensor | None, tuple[str, ...]]:
    """(K, D) of an affine head, and what each is."""
    head, task = model.network.head, model.task
    if not isinstance(head, SequenceHead) or task is None:
        return None, ()
    weight, bias = (_double(part, "the read-out") for part in (head.output.weight, head.output.bias))
    closings = torch.cat([weight[:, :-1], (weight[:, -1] + bias)[:, None]], dim=1)
    if task.kind == "regression":
        return closings, ("the score",)
    if len(closings) == 2:
        return closings[1:] - closings[:1], (_odds(*task.labels),)
    return closings, tuple(f"the logit of {label}" for label in task.labels)


def _odds(against: str, of: str) -> str:
    return f"the log-odds of {of} against {against}"


def _double(weight: Tensor, what: str) -> Tensor:
    value = weight.detach().cpu().double()
    if not bool(value.isfinite().all()):
        raise UserError(f"{what} of this model is not finite: its training diverged; train it again from another seed")
    return value


def _one_of(what: str, name: str, names: tuple[str, ...]) -> None:
    if name not in names:
        raise UserError(f"{what} is one of {', '.join(names)}, not {name!r}{near(name, names)}")


def _there_are(labels: tuple[str, ...]) -> str:
    return f"; it has: {', '.join(labels)}" if labels else "; it has none"
