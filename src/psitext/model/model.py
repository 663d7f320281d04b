"""What a user holds in hand: encoder, head, tokenizers and labels, and what they do with text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from psitext.assemble import Encoder, HeadConfig
from psitext.baselines.lstm import LstmPosterior
from psitext.encoders.qbert import Qbert
from psitext.encoders.qcls import Qcls
from psitext.encoders.vae import Vae
from psitext.errors import UserError
from psitext.explain.law import WordLaw
from psitext.explain.similarity import TokenVectors
from psitext.heads.decoding import DecoderConfig, Writing
from psitext.heads.pretraining import PretrainingConfig
from psitext.model import answers, folder
from psitext.model.answers import Answer
from psitext.model.scores import evaluate_network
from psitext.nn.complex.layout import to_complex
from psitext.nn.numerics import Precision
from psitext.score import calibration
from psitext.state import Posterior, SentenceState
from psitext.text.batches import Batch
from psitext.text.examples import Example, Task
from psitext.text.supervised import SupervisedSource, TextConfig, encode_examples
from psitext.text.tokenizer import Tokenizer
from psitext.text.tokenizer.causal import CausalTokenizer
from psitext.train import predict
from psitext.train.network import Network

if TYPE_CHECKING:
    from psitext.model.mps import Explanation, Mps, Smaller
    from psitext.model.mps.reading import Closing, Metric
    from psitext.model.mps.sentence import Baseline

TEXT, WRITTEN = "text", "written"  # the names of the tokenizers that read a model's input and write its output
PLAIN = Task(name="text", title="Plain text", kind="regression", text="text", label="label", metrics=(), headline="")


class Sentences(nn.Module):
    """The head of a model that has none: no prediction, only the state."""

    def forward(self, state: object, batch: object) -> dict[str, torch.Tensor]:
        """Predict nothing."""
        return {}


class Vectors(Sentences):
    """The same where no state of a token is wanted either, so that the last layer need not compute them."""

    def reads(self, batch: Batch) -> torch.Tensor:
        """No token's state."""
        return batch.starts[:0]


@dataclass(frozen=True)
class Model:
    """Encoder, head and all that is needed to read text with them. Never changed after it is made."""

    network: Network
    tokenizers: Mapping[str, Tokenizer | CausalTokenizer]
    text: TextConfig
    head: HeadConfig | PretrainingConfig | DecoderConfig | None = None
    task: Task | None = None
    temperature: float = 1.0  # divides the logits before they become probabilities
    facts: Mapping[str, Any] = field(default_factory=dict)  # recipe, scores, versions: what the card tells
    law: WordLaw | None = None  # of a circuit: how often it read each word in training

    @property
    def encoder(self) -> Encoder:
        """The encoder."""
        return self.network.encoder  # type: ignore[return-value]

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the input. Errors: a language model, which reads nothing."""
        found = self.tokenizers.get(TEXT)
        if not isinstance(found, Tokenizer):
            raise UserError("this is a language model: it writes, and has no encoder that reads a text into a state")
        return found

    @property
    def writes(self) -> bool:
        """Whether it has a decoder."""
        return WRITTEN in self.tokenizers

    @property
    def writer(self) -> CausalTokenizer:
        """The tokenizer of the output. Errors: a model that does not write."""
        found = self.tokenizers.get(WRITTEN)
        if not isinstance(found, CausalTokenizer):
            family = self.encoder.config.family
            raise UserError(
                f"this {family} model does not write sentences; an autoencoder does (optimus-tiny, or `psitext "
                "pretrain --config optimus-mini`)"
            )
        return found

    def encode(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None = None,
        *,
        tokens: bool = False,
        precision: Precision = "fp32",
        batch_tokens: int | None = None,
    ) -> SentenceState | Posterior:
        """Texts (or pairs of texts) to states: ``vector`` (B, D) float32 or complex64 on the CPU, and with ``tokens``
        every token's state; of a sentence space a Posterior, whose mean is ``vector``.

        A text that is longer than the model reads is cut; ``longer`` tells which. Errors: no texts, one string in
        place of a list, something that is not a string.
        """
        source = self._plain(texts, pairs)
        bare = Network(self.network.encoder, Sentences() if tokens else Vectors()).eval()
        if isinstance(self.encoder, Vae | LstmPosterior):
            if tokens:
                raise UserError(
                    "a sentence space has no states of tokens; load the model with a pool for its encoder's"
                )
            rows = predict.run(bare, source, predict.gaussians, precision=precision, batch_tokens=batch_tokens)
            mean, log_var = torch.from_numpy(np.stack(rows, axis=1))
            return Posterior(mean, log_var)
        if not tokens:
            rows = predict.run(bare, source, predict.vectors, precision=precision, batch_tokens=batch_tokens)
            return SentenceState(torch.from_numpy(np.stack(rows)))
        pieces = predict.run(bare, source, answers.with_tokens, precision=precision, batch_tokens=batch_tokens)
        vector = torch.from_numpy(np.stack([piece[0] for piece in pieces]))
        states = nn.utils.rnn.pad_sequence([torch.from_numpy(piece[1:]) for piece in pieces], batch_first=True)
        real = torch.arange(states.shape[1]) < torch.tensor([len(piece) - 1 for piece in pieces])[:, None]
        return SentenceState(vector, states, real)

    def decode(self, latent: Posterior | torch.Tensor | npt.NDArray[Any], how: Writing | None = None) -> list[str]:
        """Sentences from (B, P) latents, or from the means of posteriors: greedy, or as ``how`` says; with
        ``how.samples`` > 1 all of one latent's stand together. The same call gives the same sentences.

        Errors: a model that does not write; latents of another width.
        """
        from psitext.model.writing import write

        return write(self, latent, how)

    def longer(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[bool]:
        """Which texts (or pairs) have more tokens than the model reads, so that their ends are left out."""
        return [bool(cut) for cut in self._plain(texts, pairs).cut]

    def token_vectors(self, sentences: Sequence[str]) -> list[TokenVectors]:
        """Every sentence's tokens with their static embeddings and their states in context, for
        ``explain.similarity``.
        """
        pieces = self.tokenizer.encode_offsets(sentences)
        state = self.encode(sentences, tokens=True)
        assert isinstance(state, SentenceState)
        assert state.tokens is not None
        found = []
        for (ids, offsets), tokens in zip(pieces, state.tokens.numpy(), strict=True):
            kept = min(len(ids), self.text.max_len - 2)
            ids, unknown = ids[:kept], ids[:kept] == self.tokenizer.unk
            found.append(TokenVectors(offsets[:kept], self._static(ids), tokens[1 : kept + 1], unknown))
        return found

    def source(self, examples: Sequence[Example], *, labelled: bool) -> SupervisedSource:
        """Examples of this model's task as a source of batches."""
        return encode_examples(examples, self.asked(), self.tokenizer, self.text, labelled=labelled)

    def predict(
        self,
        texts: Sequence[str] | Sequence[Example],
        pairs: Sequence[str] | None = None,
        *,
        precision: Precision = "fp32",
        batch_tokens: int | None = None,
    ) -> list[Answer]:
        """One Answer for every text: a label with its probability, a score, tags, or an answer span."""
        task = self.asked()
        examples = answers.examples_of(texts, pairs)
        answers.check_pairs(task, examples)
        source = self.source(examples, labelled=False)
        read = predict.READERS[task.kind]
        outputs = predict.run(self.network, source, read, precision=precision, batch_tokens=batch_tokens)
        return [
            answers.answer(task, example, output, source, index, self.temperature)
            for index, (example, output) in enumerate(zip(examples, outputs, strict=True))
        ]

    def evaluate(
        self, examples: Sequence[Example], *, precision: Precision = "fp32", batch_tokens: int | None = None
    ) -> dict[str, float]:
        """The task's metrics on labelled examples, and ``collapsed`` = 1.0 when every prediction is the same."""
        source = self.source(examples, labelled=True)
        return evaluate_network(self.network, source, self.asked(), precision=precision, batch_tokens=batch_tokens)

    def logits(self, examples: Sequence[Example], *, precision: Precision = "fp32") -> npt.NDArray[np.float32]:
        """(S, K) scores before the temperature, of a classification or regression."""
        return np.stack(
            predict.run(self.network, self.source(examples, labelled=False), predict.logits, precision=precision)
        )

    def calibrated(self, examples: Sequence[Example]) -> Model:
        """The same model with the temperature that makes its probabilities fit these examples best."""
        labels = encode_examples(examples, self.asked(), self.tokenizer, self.text).label
        assert labels is not None
        return replace(self, temperature=calibration.fit_temperature(self.logits(examples), labels))

    def save(self, path: str | Path) -> Path:
        """Write the model's folder in one step; an older one there is replaced."""
        return folder.write(self, path)

    def to_circuit(self, text: str | None = None, bond: int | None = None) -> Any:
        """The measurement head as a qiskit circuit, behind the state of a text where one is given: prepared exactly, or
        as a matrix-product state of ``bond``. Errors: another head; qiskit missing.
        """
        from psitext.quantum import to_circuit

        return to_circuit(self, text, bond)

    def to_mps(
        self,
        length: int | None = None,
        closing: Closing = "readout",
        metric: Metric = "paper",
        *,
        label: str | None = None,
        texts: Sequence[str] | None = None,
    ) -> Mps:
        """A recurrent arithmetic circuit of one layer as a matrix product state of ``length`` words: by default 50, or
        as many as the model reads where that is fewer or texts are filled up to it.

        ``closing``: "readout", then the state is the log-odds of the second of two classes, a score, or the logit of
        ``label``; "ones", the paper's. ``metric``: "paper", of the weights as they stand; "data", under the law of the
        words that the model was trained on, or of ``texts``. Errors: another model; see ``model/mps/reading.py``.
        """
        from psitext.model.mps import mps_of

        return mps_of(self, length, closing, metric, label=label, texts=texts)

    def explain(
        self,
        text: str,
        *,
        baseline: Baseline | None = None,
        top: int = 5,
        metric: Metric | None = None,
        texts: Sequence[str] | None = None,
        entanglement: bool = True,
    ) -> Explanation:
        """What made a circuit's decision on a text: exact Shapley values, the ``top`` single substitutions that turn
        it, the entanglement that is left after each word.

        ``baseline``: "mean" (of the law; the default where it is known), "zero" or "pad". ``metric`` is that of the
        entanglement, by default "data" where the law is known; without ``entanglement`` long texts are faster. Errors:
        as ``to_mps``; an empty text.
        """
        from psitext.model.mps import explain

        return explain(self, text, baseline=baseline, top=top, metric=metric, texts=texts, entanglement=entanglement)

    def compress(
        self,
        chi: int | None = None,
        tolerance: float | None = None,
        *,
        metric: Metric | None = None,
        length: int | None = None,
        texts: Sequence[str] | None = None,
    ) -> Smaller:
        """A circuit as a smaller linear recurrence, ``.model``: of ``chi`` numbers, or of as few as keep the predicted
        relative error of the logits within ``tolerance``.

        What is weighed are texts of ``length`` words, by default the mean of those of the training, under their law.
        Errors: as ``to_mps``; neither or both of chi and tolerance; a chi outside 1..D.
        """
        from psitext.model.mps import compress

        return compress(self, chi, tolerance, metric=metric, length=length, texts=texts)

    def _static(self, ids: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """(N, D) embeddings of tokens, float32 or complex64."""
        with torch.inference_mode():
            found = self.encoder.token(torch.from_numpy(ids).to(next(self.network.parameters()).device)).cpu()
        return np.asarray((to_complex(found) if isinstance(self.encoder, Qbert | Qcls) else found).numpy())

    def _plain(self, texts: Sequence[str], pairs: Sequence[str] | None) -> SupervisedSource:
        return encode_examples(answers.examples_of(texts, pairs), PLAIN, self.tokenizer, self.text, labelled=False)

    def asked(self) -> Task:
        """The task, or the reason why there is none."""
        if self.task is None:
            raise UserError(
                "this model was pre-trained only and answers no task; `psitext finetune --init <it>` gives it one"
            )
        return self.task
