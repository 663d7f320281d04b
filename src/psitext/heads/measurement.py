"""The variational measurement: a state becomes a ket, a unitary turns it, its outcomes' probabilities are read out.

    logits = |U psi|^2 w^T + b,   U = exp(i (W + W^H) / 2)                                    (QBERT, eq. 8)

It is what a quantum computer can run with ``psi`` prepared in its qubits: U is a circuit, |.|^2 the shares of counts,
and the linear read-out remains classical. Any family's state can be read, since any vector makes a ket. Letters: B
sentences, D width, K classes.

Two presets. ``PAPER`` is the paper's Appendix A: raw probabilities, no bias, deviations of 0.001 everywhere. As a
probability is of size 1/D, its logits and their gradients are D times smaller than an affine head's. The defaults are
what trains well: probabilities times D, which are of size 1, and a bias. On frozen MiniLM states of 6,000 sentences of
SST-2 (128 dimensions, two epochs, Adam at 1e-3) the defaults reached 0.75 and the paper's 0.51; any deviation of W
from 0.001 to 0.3 did as well.

Everything here runs in float32 (complex64) at least, under bfloat16 training too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from psitext.config import Config
from psitext.errors import UserError
from psitext.heads.affine import Prediction
from psitext.nn.dropout import Dropout
from psitext.nn.numerics import autocast
from psitext.nn.unitary.born import Outcomes, probabilities
from psitext.nn.unitary.cayley import Cayley
from psitext.nn.unitary.circuit import Circuit, Entangler, Gate
from psitext.nn.unitary.exponential import Exponential
from psitext.state import State
from psitext.text.batches import Batch


class MeasurementConfig(Config):
    """Settings of a measurement head."""

    kind: Literal["measurement"] = "measurement"
    unitary: Literal["exp", "cayley", "circuit"] = "exp"
    layers: int = Field(default=4, gt=0)  # of a circuit
    entangler: Entangler = "cz-ring"  # of a circuit
    groups: int | None = Field(default=None, ge=2)  # outcomes told apart; None: every basis state
    scale: Literal["width", "none"] = "width"  # "width": probabilities times the number of basis states
    bias: bool = True
    # Of each part of W, or of a circuit's angles in radians: near the identity, where exp(iH) takes few terms
    init_std: float = Field(default=0.02, ge=0)
    readout_std: float = Field(default=0.02, ge=0)
    dropout: float = Field(default=0.0, ge=0, lt=1)  # of outcomes before the read-out


PAPER = MeasurementConfig(scale="none", bias=False, init_std=0.001, readout_std=0.001)

Unitary = Exponential | Cayley | Circuit
UNITARIES: dict[str, Callable[[int, MeasurementConfig], Unitary]] = {
    "exp": lambda width, config: Exponential(width, config.init_std),
    "cayley": lambda width, config: Cayley(width, config.init_std),
    "circuit": lambda width, config: Circuit(width, config.layers, config.entangler, config.init_std),
}


class MeasurementHead(nn.Module):
    """Classes or a score for a whole text or pair: {"logits": (B, K)}; a regression has K = 1.

    ``turn`` is the unitary, with parameters ``weight_re`` and ``weight_im`` (D, D), or ``angles`` (layers, qubits, 2)
    of a circuit; ``outcomes`` says which basis states are counted together, ``output`` reads them.
    """

    def __init__(self, width: int, outputs: int, config: MeasurementConfig) -> None:
        super().__init__()
        self.config = config
        self.width = width
        self.turn = UNITARIES[config.unitary](width, config)
        if config.groups is not None and config.groups > self.turn.outcomes:
            raise UserError(f"a ket of {self.turn.outcomes} basis states has no {config.groups} groups of outcomes")
        self.outcomes = Outcomes(self.turn.outcomes, config.groups)
        self.scale = float(self.outcomes.width) if config.scale == "width" else 1.0
        self.dropout = Dropout(config.dropout)
        self.output = nn.Linear(self.outcomes.count, outputs, bias=config.bias)
        with torch.no_grad():
            weight = self.output.weight.normal_(std=config.readout_std)
            if config.bias:  # at first uniform outcomes give logits of 0
                self.output.bias.copy_(-weight.mean(-1) * self.scale)

    def reads(self, batch: Batch) -> Tensor:
        """No token's state."""
        return batch.starts[:0]

    def forward(self, state: State, batch: Batch) -> Prediction:
        """Measure the sentence vector; one of norm 0 or without one is refused."""
        with autocast(state.vector.device, "fp32"):
            return {"logits": self.output(self.dropout(self.scale * self.probabilities(state)))}

    def probabilities(self, state: State) -> Tensor:
        """Probabilities of the outcomes that are told apart, each row of sum 1; real (B, outcomes)."""
        if state.width != self.width:
            raise UserError(f"a measurement of kets of width {self.width} cannot read a state of width {state.width}")
        return self.outcomes.grouped(probabilities(self.turn(state.to_ket().vector)))

    def unitary(self) -> Tensor:
        """U recomputed in double precision, complex128: (D, D), or (2^n, 2^n) of a circuit."""
        return self.turn.unitary()

    @torch.no_grad()
    def readout(self) -> tuple[Tensor, Tensor | None]:
        """Weight (K, outcomes), the scale included, and bias (K,), float64: logits = probabilities weight^T + bias."""
        bias = None if self.output.bias is None else self.output.bias.double()
        return self.output.weight.double() * self.scale, bias

    def gates(self) -> tuple[Gate, ...]:
        """A circuit's gates in the order of time: name, qubits, angle."""
        if not isinstance(self.turn, Circuit):
            raise UserError(f"a measurement by {self.config.unitary} is one matrix and has no gates; see its unitary()")
        return self.turn.gates()
