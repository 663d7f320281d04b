"""An LSTM autoencoder with a structured code: numbers that stand for the sentence, beside the label that it has.

Letters: B sentences, T tokens of a row ``bos w1 .. wn eos``, E features of a word, H width, P numbers of a code, K
labels, V vocabulary.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from psitext.baselines.control.settings import StructuredConfig
from psitext.baselines.lstm import LstmDecoder
from psitext.heads.decoding import LstmConfig, Writing, asked
from psitext.nn.perceptron import with_class
from psitext.randomness import generator


class Structured(nn.Module):
    """Encoder and decoder over one vocabulary; both read the decoder's features of words."""

    def __init__(self, config: StructuredConfig, labels: int, writes: LstmConfig, outputs: int) -> None:
        super().__init__()
        self.labels, self.code = labels, config.code
        sizes = {"features": config.features, "width": config.width, "dropout": config.dropout}
        self.decoder = LstmDecoder(writes.model_copy(update={**sizes, "latent": config.code + labels}))
        self.reader = nn.LSTM(config.features, config.width, batch_first=True)
        self.to_code = nn.Linear(config.width, outputs)

    def read(self, features: Tensor, lengths: Tensor) -> Tensor:
        """(B, outputs) what the encoder makes of (B, T, E) features, the first ``lengths`` of each row."""
        packed = pack_padded_sequence(features, lengths.cpu(), batch_first=True, enforce_sorted=False)
        found: Tensor = self.to_code(self.reader(packed)[1][0][0])
        return found

    def read_rows(self, rows: Tensor, lengths: Tensor) -> Tensor:
        """The same of (B, T) tokens."""
        return self.read(self.decoder.token(rows), lengths)

    def logits(self, rows: Tensor, lengths: Tensor, code: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        """(M, V) scores of every token but the first of (B, T) rows, and (M,) the right ones."""
        at = asked(rows, lengths)
        states = self.decoder.states(rows[:, :-1], with_class(code, label, self.labels))
        return self.decoder.logits(states[at]), rows[:, 1:][at]

    def written(self, code: Tensor, label: Tensor, how: Writing) -> Tensor:
        """(B, L) tokens of sentences with these codes and labels, see ``Decoder.write``."""
        return self.decoder.write(with_class(code, label, self.labels), how)

    def encoder_parameters(self) -> list[nn.Parameter]:
        """What reads, without the features of words, which are the decoder's."""
        return [*self.reader.parameters(), *self.to_code.parameters()]


def normal(seed: int, label: int, count: int, width: int) -> Tensor:
    """(count, width) standard normal numbers for sentences of a label; fewer are the first of these."""
    drawn = generator(seed, "code of a label", label).standard_normal((count, width))
    return torch.from_numpy(np.asarray(drawn, dtype=np.float32))


def lengths_of(written: Tensor, eos: int) -> Tensor:
    """(B,) tokens of (B, L) rows up to the first ``eos``, which counts; all of them where there is none."""
    ended = (written == eos).int().cumsum(1) - (written == eos).int()  # ends before each token
    return (ended == 0).sum(1)
