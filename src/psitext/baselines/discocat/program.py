"""From a shape to what runs on a batch of it: lambeq's ansatz, unrolled into one tensor network.

lambeq draws a shape's diagram and puts tensors or gates in the place of its boxes. Here the result is walked once, wire
by wire, into a ``Contraction`` whose operands are rows of parameter tables: cups and spiders join wires, diagonal gates
lie on a wire without cutting it. lambeq contracts text by text; tests hold both to the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from lambeq import AtomicType, IQPAnsatz, SpiderAnsatz
from lambeq.backend import quantum, tensor
from lambeq.backend.grammar import Word
from lambeq.backend.symbol import Symbol
from torch import Tensor

from psitext.baselines.discocat.contraction import Contraction, Wires, plan
from psitext.baselines.discocat.reading import Shape, diagram, linear, ty
from psitext.baselines.discocat.settings import DiscocatConfig

_SORTS = (AtomicType.NOUN, AtomicType.SENTENCE)
_DIAGONAL = ("Rz", "CRz")


@dataclass(frozen=True, slots=True)
class Part:
    """One tensor, or one angle (shape ()), of those that make up a kind of box.

    ``fan`` counts the entries of a tensor that leave it in the direction of reading; an angle has 1.
    """

    kind: str
    number: int
    shape: tuple[int, ...]
    fan: int

    @property
    def name(self) -> str:
        """What its table is called among the parameters."""
        return f"{self.kind}/{self.number}"


@dataclass(frozen=True, slots=True)
class Use:
    """A part at work: operands of the network, and the word of the text that each belongs to (None: to no word).

    ``gate`` names what the angles of a circuit turn.
    """

    part: Part
    gate: str
    operands: tuple[int, ...]
    places: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A shape, ready to run. ``log_factor`` is the logarithm of the scalars in its diagram."""

    uses: tuple[Use, ...]
    contraction: Contraction
    log_factor: float

    def __call__(self, rows: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Run a batch: for every part's name its rows (B, operands, *shape) -> states (B, D), log scales (B,)."""
        given: dict[int, Tensor] = {}
        for use in self.uses:
            value = rows[use.part.name]
            value = _GATES[use.gate](value) if use.gate else value
            given |= zip(use.operands, value.unbind(1), strict=True)
        found, log_scale = self.contraction(given)
        return found.flatten(1), log_scale + self.log_factor


class Ansatz:
    """Shapes to programs, by lambeq's ansatz of the settings; ``classes`` decides the qubits of an open wire."""

    def __init__(self, config: DiscocatConfig, classes: int) -> None:
        self.circuit = config.ansatz == "iqp"
        self.qubits = max(1, math.ceil(math.log2(classes)))
        self.width = 2**self.qubits if self.circuit else config.dim  # D of the states
        if self.circuit:
            self.map = IQPAnsatz(dict.fromkeys(_SORTS, self.qubits), n_layers=config.layers)
        else:
            self.map = SpiderAnsatz(dict.fromkeys(_SORTS, tensor.Dim(config.dim)))

    def word_parts(self, text: str) -> list[Part]:
        """The parts of every word of a type."""
        return list(self._parts(Word("0", ty(text)), _kind(text)).values())

    def fixed_parts(self, reader: str) -> list[Part]:
        """The parts of the boxes that a linear reader draws besides words."""
        boxes = {box.name: box for box in diagram(linear(reader, 2)).boxes if _has_data(box)}
        fixed = [box for name, box in boxes.items() if not name.isdecimal()]
        return [part for box in fixed for part in self._parts(box, box.name).values()]

    def program(self, shape: Shape) -> Program:
        """The program of a shape."""
        drawn = diagram(shape)
        places: dict[str, tuple[Part, int | None]] = {}
        for box in {box.name: box for box in drawn.boxes if _has_data(box)}.values():
            place = int(box.name) if box.name.isdecimal() else None
            kind = box.name if place is None else _kind(shape.types[place])
            places |= {symbol: (part, place) for symbol, part in self._parts(box, kind).items()}
        walk = _Walk(places, 2 if self.circuit else None)
        for layer in self.map(drawn).layers:
            left, box, _ = layer.unpack()
            walk.take(box, len(left))
        return walk.program()

    def _parts(self, box: Any, kind: str) -> dict[str, Part]:
        """The parts of one box, by the names of lambeq's symbols, in the order in which they are drawn."""
        found: dict[str, Part] = {}
        for piece in self.map(box.to_diagram()).boxes:
            if isinstance(piece.data, Symbol):
                shape = () if self.circuit else (*piece.dom.dim, *piece.cod.dim)
                found[piece.data.name] = Part(kind, len(found), shape, piece.data.directed_cod)
        return found


class _Walk:
    """A diagram's layers, from top to bottom, as operands over numbered wires."""

    def __init__(self, places: Mapping[str, tuple[Part, int | None]], size: int | None) -> None:
        self.places = places
        self.size = size
        self.open: list[int] = []  # wires that hang out of what was taken so far, from left to right
        self.joined: list[int] = []  # wire -> an older wire that it is one with, or itself
        self.sizes: list[int] = []
        self.operands: list[Wires] = []
        self.constants: dict[int, Tensor] = {}
        self.uses: dict[tuple[Part, str], list[tuple[int, int | None]]] = {}
        self.log_factor = 0.0

    def take(self, box: Any, at: int) -> None:
        """The next box, whose first input is the open wire number ``at``."""
        inputs = self.open[at : at + len(box.dom)]
        outputs = inputs
        if isinstance(box, tensor.Swap):
            outputs = inputs[::-1]
        elif isinstance(box, tensor.Cup):
            self.join(inputs)
            outputs = []
        elif isinstance(box, tensor.Cap):
            outputs = [self.wire(box.cod.dim[0])] * 2
        elif isinstance(box, tensor.Spider):
            outputs = [self.join(inputs or [self.wire(box.type.dim[0])])] * box.n_legs_out
        elif isinstance(box, quantum.Scalar):
            self.log_factor += math.log(abs(box.array))
        else:
            outputs = self.operand(box, inputs)
        self.open[at : at + len(box.dom)] = outputs

    def operand(self, box: Any, inputs: list[int]) -> list[int]:
        """A tensor or gate: its outputs are new wires, those of a diagonal gate its inputs."""
        part, place = self.places[box.data.name] if isinstance(box.data, Symbol) else (None, None)
        gate = _gate(box) if part is not None and not part.shape else ""
        outputs = inputs if gate in _DIAGONAL else [self.wire(self.size or width) for width in box.cod.dim]
        wires = tuple(inputs if gate in _DIAGONAL else inputs + outputs)
        number = len(self.operands)
        self.operands.append(wires)
        if part is None:
            array = np.asarray(box.array, dtype=np.complex128)
            self.constants[number] = torch.from_numpy(array).reshape([self.sizes[wire] for wire in wires])
        else:
            self.uses.setdefault((part, gate), []).append((number, place))
        return outputs

    def wire(self, size: int) -> int:
        """A new wire."""
        self.joined.append(len(self.joined))
        self.sizes.append(size)
        return self.joined[-1]

    def root(self, wire: int) -> int:
        """The oldest wire that this one is one with."""
        while self.joined[wire] != wire:
            wire = self.joined[wire]
        return wire

    def join(self, wires: list[int]) -> int:
        """Make several wires one."""
        roots = [self.root(wire) for wire in wires]
        oldest = min(roots)
        for wire in roots:
            self.joined[wire] = oldest
        return oldest

    def program(self) -> Program:
        """What was taken, planned."""
        operands = [tuple(self.root(wire) for wire in wires) for wires in self.operands]
        output = tuple(self.root(wire) for wire in self.open)
        sizes = {wire: self.sizes[wire] for wires in [*operands, output] for wire in wires}
        uses = tuple(Use(part, gate, *zip(*found, strict=True)) for (part, gate), found in self.uses.items())
        return Program(uses, plan(operands, sizes, output, self.constants), self.log_factor)


def turn_x(turns: Tensor) -> Tensor:
    """Rx(2 pi turns): (...) -> (..., 2, 2) complex, symmetric."""
    cos, sin = torch.cos(math.pi * turns), -1j * torch.sin(math.pi * turns)
    return torch.stack([torch.stack([cos + 0j, sin], -1), torch.stack([sin, cos + 0j], -1)], -2)


def turn_z(turns: Tensor) -> Tensor:
    """The diagonal of Rz(2 pi turns): (...) -> (..., 2) complex."""
    half = torch.polar(torch.ones_like(turns), math.pi * turns)
    return torch.stack([half.conj(), half], -1)


def controlled_turn_z(turns: Tensor) -> Tensor:
    """The diagonal of a controlled Rz(2 pi turns), control first: (...) -> (..., 2, 2) complex."""
    turned = turn_z(turns)
    return torch.stack([torch.ones_like(turned), turned], -2)


_GATES = {"Rx": turn_x, "Rz": turn_z, "CRz": controlled_turn_z}


def _gate(box: Any) -> str:
    inner = getattr(box, "controlled", None)
    return type(box).__name__ if inner is None else f"C{type(inner).__name__}"


def _has_data(box: Any) -> bool:
    """Whether a grammar box is more than wires."""
    return type(box).__name__ in ("Word", "Box")


def _kind(text: str) -> str:
    """A type as part of a parameter's name, which may hold no dot: ``"n.r s n.l"`` -> ``"nr_s_nl"``."""
    return text.replace(".", "").replace(" ", "_")
