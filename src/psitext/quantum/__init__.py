"""Measurement heads as quantum circuits: the sole importer of qiskit and PennyLane.

Read in this order: ``gates`` and ``head`` (a head as plain numbers, and its exact answers), ``circuits`` (as gates and
files), ``machines`` (what runs them), ``running`` (sentences through a head, beside the exact answers), ``costs``,
``export``, ``training`` (on a machine), ``appendix_a``.
"""

from importlib.util import find_spec

from psitext.errors import UserError

if find_spec("qiskit") is None or find_spec("qiskit_aer") is None:
    raise UserError("circuits need qiskit and its simulator: pip install 'psitext[quantum]'")

from psitext.quantum.circuits.build import Preparation, circuit
from psitext.quantum.circuits.files import read_qasm3
from psitext.quantum.circuits.pennylane import qnode
from psitext.quantum.costs import Cost, cost
from psitext.quantum.export import from_model, to_circuit
from psitext.quantum.head import HeadCircuit, from_gates, from_head, from_matrix
from psitext.quantum.machines.machine import Machine, ideal, noisy, on
from psitext.quantum.machines.noise import Noise
from psitext.quantum.running import Run, measure, run
from psitext.quantum.training import Course, Trained, train

__all__ = [
    "circuit",
    "run",
    "cost",
    "from_model",
    "to_circuit",
    "from_head",
    "from_matrix",
    "from_gates",
    "read_qasm3",
    "qnode",
    "measure",
    "train",
    "HeadCircuit",
    "Preparation",
    "Run",
    "Cost",
    "Course",
    "Trained",
    "Machine",
    "Noise",
    "ideal",
    "noisy",
    "on",
]
