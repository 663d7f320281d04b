"""Circuits as SVG: one wire a qubit, the most significant on top, time from left to right.

A head that is one matrix is one box; a head of gates shows them, as many as are still to be seen.
"""

from __future__ import annotations

from collections.abc import Sequence

from psitext.studio.shown.markup import text

Gate = tuple[str, tuple[int, ...], float | None]  # name, qubits, angle in radians
STEP, ROW, BOX = 62, 40, 28  # pixels: from gate to gate, from wire to wire, the height of a gate
LEFT = 46  # of the wires
GATES = 64  # that are drawn one by one; more are one box


def circuit(qubits: int, measured: int, gates: Sequence[Gate] = (), title: str = "") -> str:
    """A ket's preparation, the head and the measurement of the first ``measured`` of ``qubits`` wires."""
    columns, height = _columns(gates, qubits), ROW * qubits + 20
    parts = [_box(LEFT + 16, 70, 0, qubits, "state")]
    x = LEFT + 108
    if columns:
        for column in columns:
            parts += [_gate(x, gate) for gate in column]
            x += STEP
    else:
        parts.append(_box(x, 70, 0, qubits, "head"))
        x += 92
    parts += [_meter(x, qubit) for qubit in range(measured)]
    width = x + 56
    wires = [
        f'<line x1="{LEFT}" y1="{_y(qubit)}" x2="{width - 8}" y2="{_y(qubit)}"/>'
        f'<text x="{LEFT - 8}" y="{_y(qubit) + 4}" text-anchor="end">{qubit}</text>'
        for qubit in range(qubits)
    ]
    return (
        f'<svg role="img" aria-label="{text(title)}" class="psi-circuit" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">{"".join(wires)}{"".join(parts)}</svg>'
    )


def _columns(gates: Sequence[Gate], qubits: int) -> list[list[Gate]]:
    """Gates by when they can happen: each after all that touch a wire that it covers. None where they are too many."""
    if len(gates) > GATES:
        return []
    ready = [0] * qubits
    columns: list[list[Gate]] = []
    for gate in gates:
        covered = range(min(gate[1]), max(gate[1]) + 1)
        at = max(ready[qubit] for qubit in covered)
        if at == len(columns):
            columns.append([])
        columns[at].append(gate)
        for qubit in covered:
            ready[qubit] = at + 1
    return columns


def _y(qubit: int) -> int:
    return 30 + ROW * qubit


def _box(x: int, width: int, first: int, last: int, name: str) -> str:
    """A box over the wires ``first`` to ``last`` - 1."""
    top, height = _y(first) - BOX // 2, ROW * (last - first - 1) + BOX
    middle = top + height / 2 + 4
    return (
        f'<rect x="{x}" y="{top}" width="{width}" height="{height}" rx="4"/>'
        f'<text x="{x + width / 2}" y="{middle}" text-anchor="middle">{text(name)}</text>'
    )


def _gate(x: int, gate: Gate) -> str:
    name, qubits, angle = gate
    if len(qubits) == 1:
        told = name if angle is None else f"{name} {angle:.2f}"
        return f'<g class="psi-gate">{_box(x, STEP - 8, qubits[0], qubits[0] + 1, told)}</g>'
    middle, (one, other) = x + (STEP - 8) / 2, qubits
    ends = f'<circle cx="{middle}" cy="{_y(one)}" r="4"/>' + (
        f'<circle cx="{middle}" cy="{_y(other)}" r="4"/>'
        if name == "cz"
        else f'<circle class="psi-open" cx="{middle}" cy="{_y(other)}" r="9"/>'
        f'<line x1="{middle}" y1="{_y(other) - 9}" x2="{middle}" y2="{_y(other) + 9}"/>'
    )
    return f'<line x1="{middle}" y1="{_y(one)}" x2="{middle}" y2="{_y(other)}"/>{ends}'


def _meter(x: int, qubit: int) -> str:
    y = _y(qubit)
    return (
        f'<rect x="{x}" y="{y - BOX // 2}" width="34" height="{BOX}" rx="4"/>'
        f'<path d="M {x + 7} {y + 7} A 10 10 0 0 1 {x + 27} {y + 7} M {x + 17} {y + 7} L {x + 25} {y - 8}"/>'
    )
