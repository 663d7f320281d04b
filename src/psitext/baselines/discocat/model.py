"""DisCoCat as a network: words are tensors or circuits, a text is their contraction (Coecke, Sadrzadeh and Clark 2010;
Lorenz et al. 2021; appendix B of the QBERT paper).

B texts, K classes, D width of a text's state.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import torch
from torch import Tensor, nn

from psitext.baselines.discocat.program import Ansatz, Part, Program
from psitext.baselines.discocat.reading import Reading, Shape, TextReader
from psitext.nn.numerics import MIN_NORM, unit
from psitext.randomness import torch_seed

Vocabulary: TypeAlias = Mapping[str, tuple[str, ...]]  # type -> words known with that type, in the order of their rows
Filled: TypeAlias = tuple[Shape, tuple[int, ...]]  # a shape, and for each of its words a row of that word's tables

UNKNOWN = 0  # the row of every word that is not known with its type
_NOISE = 0.3  # around the identity: 0.7 is the lottery again for one seed in three
_GAIN = 4.0  # of unit states at the start: with 1 a sigmoid stays within 0.27 and 0.73


def vocabulary(readings: Iterable[Reading], types: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """For every type the words that occur with it, in alphabetical order."""
    found: dict[str, set[str]] = {text: set() for text in types}
    for reading in readings:
        for word, text in zip(reading.words, reading.shape.types, strict=True):
            found[text].add(word)
    return {text: tuple(sorted(known)) for text, known in found.items()}


class Discocat(nn.Module):
    """Texts to logits. The parameters are tables: one for every part of every kind of box, a row for every word.

    A word that is not known with its type has row 0 of that type.
    """

    def __init__(self, reader: TextReader, words: Vocabulary, classes: int, seed: int = 0) -> None:
        super().__init__()
        self.config, self.reader, self.words, self.classes = reader.config, reader, words, classes
        self.ansatz = Ansatz(self.config, classes)
        self.index = {text: {word: row for row, word in enumerate(known, UNKNOWN + 1)} for text, known in words.items()}
        self.programs: dict[Shape, Program] = {}
        parts = {part: len(known) + 1 for text, known in words.items() for part in self.ansatz.word_parts(text)}
        parts |= dict.fromkeys(self.ansatz.fixed_parts(self.reader.linear), 1)
        start = _START[self.config.start]
        self.tables = nn.ParameterDict(
            {part.name: nn.Parameter(start(part, rows, seed)) for part, rows in parts.items()}
        )
        if not self.ansatz.circuit:
            self.log_gain = nn.Parameter(torch.tensor(_GAIN).log())
            self.readout = _readout(self.ansatz.width, classes, seed)

    def fill(self, reading: Reading) -> Filled:
        """A reading with rows in place of words."""
        found = zip(reading.words, reading.shape.types, strict=True)
        return reading.shape, tuple(self.index[text].get(word, UNKNOWN) for word, text in found)

    def forward(self, batch: Sequence[Filled]) -> Tensor:
        """Logits (B, K) of filled shapes; texts of one shape are contracted together."""
        states, log_scales = self.states(batch)
        if self.ansatz.circuit:
            return self._born(states)
        if self.config.scale == "raw":
            return self._read(states * log_scales.exp().unsqueeze(1))
        return self.log_gain.exp() * self._read(unit(states))

    def states(self, batch: Sequence[Filled]) -> tuple[Tensor, Tensor]:
        """States (B, D), real or complex, and log scales (B,): what a text contracts to is ``states * exp(scales)``."""
        groups: defaultdict[Shape, list[int]] = defaultdict(list)
        for place, (shape, _) in enumerate(batch):
            groups[shape].append(place)
        found = [self._run(shape, [batch[place][1] for place in places]) for shape, places in groups.items()]
        order = torch.tensor([place for places in groups.values() for place in places]).argsort()
        states, log_scales = (torch.cat(parts)[order] for parts in zip(*found, strict=True))
        return states, log_scales

    def _run(self, shape: Shape, rows: Sequence[tuple[int, ...]]) -> tuple[Tensor, Tensor]:
        if shape not in self.programs:
            self.programs[shape] = self.ansatz.program(shape)
        program = self.programs[shape]
        known = torch.tensor(rows)  # (texts, words)
        picked = {}
        for use in program.uses:
            of_use = [
                torch.zeros(len(rows), dtype=torch.long) if place is None else known[:, place] for place in use.places
            ]
            picked[use.part.name] = self.tables[use.part.name][torch.stack(of_use, 1)]
        return program(picked)

    def _read(self, states: Tensor) -> Tensor:
        return states if self.readout is None else torch.nn.functional.linear(states, self.readout)

    def _born(self, states: Tensor) -> Tensor:
        """Logits whose sigmoids are the Born probabilities of the first K outcomes, given post-selection and those."""
        probs = unit(states).abs().square()[:, : self.classes]
        others = probs.sum(1, keepdim=True) - probs
        logits: Tensor = (probs + MIN_NORM).log() - (others + MIN_NORM).log()
        return logits


def _random(part: Part, rows: int, seed: int) -> Tensor:
    """A table (rows, *shape) of normal numbers that keep the norm of what they act on; of whole turns for angles."""
    drawn = torch.Generator().manual_seed(torch_seed(seed, "discocat", part.name))
    if not part.shape:
        return torch.rand(rows, generator=drawn)
    return torch.randn(rows, *part.shape, generator=drawn) / math.sqrt(part.fan)


def _identity(part: Part, rows: int, seed: int) -> Tensor:
    """The same, but tensors lie near those by which a text contracts to (1, ..., 1), whatever its length: matrices
    near the identity, the others near ones.

    Signs of products of random numbers are a lottery that training has to undo: with it, MC goes from 0.75 to 1.00.
    """
    noise = _random(part, rows, seed)
    if not part.shape:
        return noise
    square = len(part.shape) == 2 and part.shape[0] == part.shape[1]
    return _NOISE * noise + (torch.eye(part.shape[0]) if square else 1.0)


_START = {"random": _random, "identity": _identity}


def _readout(width: int, classes: int, seed: int) -> nn.Parameter | None:
    """(K, D), or None where a state has an entry for every class, as in appendix B."""
    if width == classes:
        return None
    drawn = torch.Generator().manual_seed(torch_seed(seed, "discocat", "readout"))
    return nn.Parameter(torch.randn(classes, width, generator=drawn) / math.sqrt(width))
