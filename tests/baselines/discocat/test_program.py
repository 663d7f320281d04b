"""baselines/discocat/program.py: the same numbers as lambeq's own models, text by text."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

pytest.importorskip("lambeq", reason="lambeq comes with the extra qnlp")

import lambeq

from psitext.baselines.discocat.model import Discocat, Filled, vocabulary
from psitext.baselines.discocat.program import controlled_turn_z, turn_x, turn_z
from psitext.baselines.discocat.reading import TextReader, diagram
from psitext.baselines.discocat.settings import DiscocatConfig

SENTENCE, CLAUSE, OBJECT = "skillful man prepares sauce", "device that carry water", "device that shepherd play"


def network(texts: list[str], **settings: Any) -> tuple[Discocat, list[Filled]]:
    """A fresh model that knows the words of these texts, and the texts as it reads them."""
    reader = TextReader(DiscocatConfig.model_validate({"start": "random", **settings}))
    readings = [reader(text) for text in texts]
    model = Discocat(reader, vocabulary(readings, reader.types()), 2, seed=3)
    return model, [model.fill(reading) for reading in readings]


def theirs(model: Discocat, filled: Filled) -> tuple[Any, list[Any], list[Tensor]]:
    """lambeq's tensor or circuit diagram of a text, its symbols, and the values that our tables give them."""
    shape, rows = filled
    drawn = diagram(shape)
    values: dict[str, Tensor] = {}
    for box in drawn.boxes:
        if type(box).__name__ not in ("Word", "Box"):
            continue
        place = int(box.name) if box.name.isdecimal() else None
        kind = box.name if place is None else shape.types[place].replace(".", "").replace(" ", "_")
        for number, symbol in enumerate(
            dict.fromkeys(
                piece.data for piece in model.ansatz.map(box.to_diagram()).boxes if hasattr(piece.data, "directed_cod")
            )
        ):
            values[symbol.name] = model.tables[f"{kind}/{number}"][0 if place is None else rows[place]].detach()
    circuit = model.ansatz.map(drawn)
    symbols = sorted(circuit.free_symbols, key=lambda symbol: symbol.name)
    return circuit, symbols, [values[symbol.name] for symbol in symbols]


@pytest.mark.parametrize(
    ("reader", "text"),
    [("pregroup", SENTENCE), ("pregroup", OBJECT), ("cups", "a b c d"), ("stairs", "a b c"), ("spiders", "a b c d")],
)
@pytest.mark.parametrize("dim", [2, 3])
def test_parity_of_tensors_with_lambeqs_pytorch_model(reader: str, text: str, dim: int) -> None:
    model, (filled,) = network([text], reader=reader, dim=dim)
    circuit, symbols, values = theirs(model, filled)
    peer = lambeq.PytorchModel()
    peer.symbols = symbols
    peer.weights = torch.nn.ParameterList([torch.nn.Parameter(value.flatten()) for value in values])
    expected = peer.get_diagram_output([circuit])[0]
    state, log_scale = model.states([filled])
    torch.testing.assert_close(state[0] * log_scale[0].exp(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("reader", "text", "layers"),
    [("pregroup", "man sleep", 1), ("cups", "a b", 2), ("stairs", "a b", 1), ("spiders", "a b c", 1)],
)
def test_parity_of_circuits_with_lambeqs_pytorch_quantum_model(reader: str, text: str, layers: int) -> None:
    model, (filled,) = network([text], reader=reader, ansatz="iqp", layers=layers)
    model = model.double()
    circuit, symbols, values = theirs(model, filled)
    peer = lambeq.PytorchQuantumModel()
    peer.symbols = symbols
    peer.weights = torch.nn.Parameter(torch.stack(values))
    expected = peer.get_diagram_output([circuit])[0].double()
    probs = model.states([filled])[0].abs().square()[0]
    torch.testing.assert_close(probs / probs.sum(), expected, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(model([filled]).sigmoid()[0], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("text", [CLAUSE, OBJECT])
def test_parity_of_wired_pronouns_with_lambeqs_evaluation(text: str) -> None:
    """lambeq's torch backend mixes precisions here, and its caps are right for width 2 only: numpy, width 2."""
    model, (filled,) = network([text], pronouns="wires")
    circuit, symbols, values = theirs(model, filled)
    expected = circuit.lambdify(*symbols)(*[value.double().numpy() for value in values]).eval(dtype=float)
    state, log_scale = model.states([filled])
    torch.testing.assert_close(state[0] * log_scale[0].exp(), torch.from_numpy(expected).float(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("ansatz", ["spider", "iqp"])
def test_law_a_text_does_not_feel_its_batch(ansatz: str) -> None:
    texts = [SENTENCE, CLAUSE, OBJECT, "woman prepares meal", "man prepares sauce", "something else entirely", ""]
    model, filled = network(texts, ansatz=ansatz)
    together, scales = model.double().states(filled)
    for place, one in enumerate(filled):
        alone, scale = model.states([one])
        torch.testing.assert_close(alone[0] * scale[0].exp(), together[place] * scales[place].exp())


def test_known_gates_are_those_of_a_textbook() -> None:
    turns = torch.tensor([0.13, 0.4], dtype=torch.float64)
    x = torch.tensor([[0, 1], [1, 0]], dtype=torch.complex128)
    z = torch.tensor([[1, 0], [0, -1]], dtype=torch.complex128)
    angle = 2 * torch.pi * turns[1]
    torch.testing.assert_close(turn_x(turns)[1], torch.linalg.matrix_exp(-0.5j * angle * x))
    torch.testing.assert_close(torch.diag(turn_z(turns)[1]), torch.linalg.matrix_exp(-0.5j * angle * z))
    both = controlled_turn_z(turns)[1]
    torch.testing.assert_close(both[0], torch.ones(2, dtype=torch.complex128))
    torch.testing.assert_close(both[1], turn_z(turns)[1])
