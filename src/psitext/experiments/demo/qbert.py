"""QBERT in the demo: qbert-tiny under a measurement, one sentence as a ket, and its head as a quantum circuit."""

from __future__ import annotations

from pathlib import Path

from psitext.errors import UserError
from psitext.experiments.demo.plan import SAME_WORDS, Part, Plan, Section, Show, called
from psitext.experiments.demo.reviews import Reviews, positive, trained
from psitext.experiments.results import report
from psitext.explain.ket.controls import random_profile
from psitext.model import Model, load
from psitext.state import State

READINGS = 5  # basis states that are told, the likeliest


def section(plan: Plan, reviews: Reviews, out: Path, show: Show) -> Section:
    """Fine-tune it, or take what ``out`` has, and look at its states."""
    tuned = trained(plan, "demo-qbert", plan.qbert, reviews, out / "qbert", show)
    name, metric = called(plan.qbert), reviews.task.headline
    told = positive(tuned.model, reviews)
    before = load(plan.qbert, pool=tuned.recipe.pool).encode(list(SAME_WORDS))
    after = tuned.model.encode(list(SAME_WORDS))
    fidelity = [float(state[0].fidelity(state[1])) for state in (before, after)]
    bits, qubits = after.entropy_bits()[0].tolist(), after.qubits
    random = random_profile(after.width)
    readings = likeliest(after)
    ran = _circuit(plan, reviews, tuned.model)
    lines = [
        f"Complex throughout, read out by a measurement: {metric} {tuned.scores[metric]:.3f}.",
        f'"{SAME_WORDS[0]}" is {reviews.task.labels[-1]} with probability {told[0]:.3f}, and a ket of {qubits} qubits. '
        f"Its likeliest readings: {', '.join(f'{state} ({chance:.3f})' for state, chance in readings)}.",
        f"Entanglement after 1 to {qubits - 1} qubits: {', '.join(f'{one:.2f}' for one in bits)} bits; of random kets "
        f"{', '.join(f'{one:.2f}' for one in random)}.",
        f'Fidelity with "{SAME_WORDS[1]}", the same words: {fidelity[0]:.3f} as {name} comes, {fidelity[1]:.3f} '
        "fine-tuned.",
        *ran[0],
    ]
    parts: tuple[Part, ...] = (
        report.Curves(
            "QBERT: entanglement of a sentence",
            {
                "as it comes": _by_cut(before.entropy_bits()[0].tolist()),
                "fine-tuned": _by_cut(bits),
                "random kets": _by_cut(random),
            },
            x="qubits before the cut",
            y="entropy (bits)",
            note=f'"{SAME_WORDS[0]}" as a ket of {qubits} qubits. Entropy belongs to a state and an order of its '
            "coordinates, which nothing in training fixes.",
        ),
        report.Table(
            "QBERT: two sentences of the same words",
            ["sentence", reviews.task.labels[-1], *(f"bits, cut {cut}" for cut in range(1, qubits))],
            [
                [text, chance, *row]
                for text, chance, row in zip(SAME_WORDS, told, after.entropy_bits().tolist(), strict=True)
            ],
            note=f"Fidelity of the two: {fidelity[0]:.3f} as {name} comes, {fidelity[1]:.3f} fine-tuned.",
        ),
        *ran[1],
    )
    return Section("QBERT", (tuned.row(f"{name}, fine-tuned"),), tuple(lines), parts, {"qbert": tuned.recipe.tree()})


def likeliest(state: State) -> list[tuple[str, float]]:
    """The basis states that a measurement of the first sentence reads most often, as bits, with their probabilities."""
    found = state.probabilities()[0].topk(min(READINGS, state.width))
    return [
        (f"|{place:0{state.qubits}b}>", chance)
        for place, chance in zip(found.indices.tolist(), found.values.tolist(), strict=True)
    ]


def _circuit(plan: Plan, reviews: Reviews, model: Model) -> tuple[list[str], list[Part]]:
    """What the head costs as a circuit, and some reviews under shots; or which extra that takes."""
    try:
        from psitext.experiments.circuits import scoring
        from psitext.quantum import cost, from_model
        from psitext.quantum.costs import in_words
    except UserError as error:
        return [f"The head as a circuit: {error}."], []
    head = from_model(model)
    price = cost(head, head.kets(model.encode([SAME_WORDS[0]])))
    config = scoring.CircuitConfig(shots=plan.shots, limit=plan.circuits)
    some = scoring.drawn(reviews.test, config)
    graded = scoring.graded(model, reviews.task, some, config)
    metric = reviews.task.headline
    line = (
        f"The head as a circuit: {in_words(price.head)}. {len(some):,} reviews, {plan.shots:,} shots each: {metric} "
        f"{graded.found[metric]:.3f}; exact {graded.exact[metric]:.3f}; the same class in {graded.run.agreement:.0%}."
    )
    table = report.Table(
        "QBERT: its head as a circuit",
        ["what", "how much"],
        [[one["what"], one["cost"]] for one in price.rows()],
        note=f"Gates in rz, sx, x and cx. {len(some):,} reviews drawn by a seed, {plan.shots:,} shots each: {metric} "
        f"{graded.found[metric]:.3f}, exact {graded.exact[metric]:.3f}.",
    )
    return [line], [table]


def _by_cut(bits: list[float]) -> list[tuple[float, float]]:
    return [(float(cut), value) for cut, value in enumerate(bits, 1)]
