"""RAC: a recurrent arithmetic circuit, whose last state is the open bond of a matrix product state.

    h_t = (W_H h_{t-1} + b_H) * (W_I x_t + b_I),    h_0 = 0

Source: NJP 24 053032, eq. 8 and section 3.1; without both biases all gradients vanish (footnote 10). Letters: B texts,
T words, d features of a word, H = chi hidden numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from psitext.encoders.words import WordReader, WordsConfig
from psitext.nn.numerics import autocast
from psitext.nn.scan.recurrence import rac
from psitext.state import Bond
from psitext.text.batches import Batch

LONG = 100  # words beyond which states leave the range of float32 often enough to carry their scale apart

Init = Literal["uniform", "sum", "orthogonal", "glorot"]


class RacConfig(WordsConfig):
    """Shape of a RAC. ``layers`` above 1 feed each state to the next circuit as its word: the function is then no
    longer linear in every word, and has no matrix product state.

    ``init``: "uniform", all in +-1 / sqrt(H), which remembers little at first and trains best on few words; "sum", half
    of the numbers take up each word and half add them up, a bag of words to begin with, which neither forgets nor grows
    over long texts; "orthogonal", W_H so, W_I as Glorot has it, b_I = 1 and b_H = 0, the closest to what the paper can
    have used; "glorot", both matrices so and biases of 0.
    """

    family: Literal["rac"] = "rac"
    bond: int = Field(default=20, gt=0)  # H, the paper's chi
    layers: int = Field(default=1, gt=0)
    init: Init = "uniform"
    biases: bool = True  # false only to see that nothing is learnt without them

    @property
    def width(self) -> int:
        """Real numbers in a state: [h; 1], the open bond of the matrix product state (eq. 17)."""
        return self.bond + 1

    real_width = width

    @property
    def in_words(self) -> str:
        """What it is, for a reader."""
        deep = f"{self.layers} layers of " if self.layers > 1 else ""
        circuit = f"{deep}a recurrent arithmetic circuit of bond dimension {self.bond}"
        return f"{circuit} on words of {self.features} features"


class Cell(nn.Module):
    """The weights of one circuit: ``hidden`` W_H (H, H) and ``hidden_bias`` b_H (H,), ``inputs`` W_I (H, d) and
    ``input_bias`` b_I (H,).
    """

    def __init__(self, features: int, config: RacConfig) -> None:
        super().__init__()
        width = config.bond
        self.hidden = nn.Parameter(torch.empty(width, width))
        self.inputs = nn.Parameter(torch.empty(width, features))
        self.hidden_bias = nn.Parameter(torch.zeros(width), requires_grad=config.biases)
        self.input_bias = nn.Parameter(torch.zeros(width), requires_grad=config.biases)
        with torch.no_grad():
            INITS[config.init](self)
            if not config.biases:
                self.hidden_bias.zero_()
                self.input_bias.zero_()


class Rac(WordReader):
    """Texts -> Bond with real ``vector`` (B, H + 1), which is [h; 1] over its scale, and ``log_scale`` (B,)."""

    def __init__(self, config: RacConfig) -> None:
        super().__init__(config)
        self.config = config
        inputs = [config.features, *[config.bond] * (config.layers - 1)]
        self.cells = nn.ModuleList(Cell(features, config) for features in inputs)

    def forward(self, batch: Batch) -> Bond:
        """Run over every text; one without words stays in [0; 1], whose reading is the prior."""
        with autocast(batch.ids.device, "fp32"):
            x, lengths = self.words(batch)
            scale, long = None, self.config.steps > LONG
            for cell in self.cells[:-1]:
                x, scale = _run(cell, x, scale, lengths, states=True, rescale=long)
            vector, log_scale = _run(self.cells[-1], x, scale, lengths, states=False, rescale=long)
            common = log_scale.clamp_min(0.0)  # of h and of the 1
            ends = (vector * (log_scale - common).exp()[:, None], (-common).exp()[:, None])
        return Bond(torch.cat(ends, dim=1), common)


def _run(
    cell: nn.Module, x: Tensor, scale: Tensor | None, lengths: Tensor | None, *, states: bool, rescale: bool
) -> tuple[Tensor, Tensor]:
    """One circuit over (T, B, d) words, or another circuit's states with their scale (T, B): its last state (B, H) and
    scale (B,), or with ``states`` all, (T, B, H) and (T, B).
    """
    assert isinstance(cell, Cell)
    weights = (cell.hidden[None], cell.hidden_bias[None], cell.inputs[None], cell.input_bias[None])
    if not len(x):  # texts without words, or their states, of which there are none
        shape = x.shape[:2] if states else x.shape[1:2]
        return x.new_zeros(*shape, len(cell.hidden)), x.new_zeros(shape)
    apart = None if scale is None or not rescale else scale[None]  # without rescaling it is 0
    vector, log_scale = rac(x, *weights, lengths=lengths, rescale=rescale, states=states, words_log_scale=apart)
    return vector[0], log_scale[0]


def _uniform(cell: Cell) -> None:
    bound = 1 / math.sqrt(len(cell.hidden))
    for weight in cell.parameters():
        nn.init.uniform_(weight, -bound, bound)


def _sum(cell: Cell) -> None:
    """h = W_I x of the word before in the first half; in the second what was there, and one of the first half's."""
    width = len(cell.hidden)
    taking = (width + 1) // 2
    bound = 1 / math.sqrt(width)
    nn.init.zeros_(cell.hidden)
    # Views, not indices, for which torch loads its compiler where sizes are counted without memory: see assemble.
    cell.hidden.diagonal()[taking:].fill_(1.0)
    cell.hidden.diagonal(-taking).fill_(1.0)
    nn.init.zeros_(cell.inputs)
    nn.init.uniform_(cell.inputs[:taking], -bound, bound)
    cell.hidden_bias[:taking] = 1.0
    cell.input_bias[taking:] = 1.0


def _orthogonal(cell: Cell) -> None:
    nn.init.orthogonal_(cell.hidden)
    nn.init.xavier_uniform_(cell.inputs)
    nn.init.ones_(cell.input_bias)


def _glorot(cell: Cell) -> None:
    nn.init.xavier_uniform_(cell.hidden)
    nn.init.xavier_uniform_(cell.inputs)


INITS: dict[Init, Callable[[Cell], None]] = {
    "uniform": _uniform,
    "sum": _sum,
    "orthogonal": _orthogonal,
    "glorot": _glorot,
}
