"""A classifier that measures: the probability of every class, exact and from so many shots; its circuit and its cost.

Letters: K classes, M outcomes, N shots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from psitext.model import Model
from psitext.randomness import generator
from psitext.score.calibration import log_probs
from psitext.studio import bounds
from psitext.studio.models import MEASUREMENT
from psitext.studio.shown import figures, markup, wires
from psitext.studio.work import Studio

if TYPE_CHECKING:
    from psitext.quantum import Cost, HeadCircuit

Floats = npt.NDArray[np.float64]
EXAMPLE = "not dull but gripping"
LEAST, MOST = 1.0, 5.0  # of the shots' power of ten
REPEATS = 200  # of the whole measurement, for the spread of what N shots say
BAND = (0.05, 0.95)
NONE = "No model here reads its sentences by a measurement. One is made in minutes:\n\n" + markup.code(
    "psitext finetune --task toy-sentiment --init qbert-tiny --head measurement --out runs/measured",
    "psitext studio --model runs/measured",
)


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A sentence measured N times, beside what is exact; probabilities after the model's calibration."""

    sentence: str
    labels: tuple[str, ...]
    exact: Floats  # (K,)
    counted: Floats  # (K,) from N shots
    low: Floats  # (K,) of REPEATS such measurements the 5th of 100
    high: Floats  # (K,) and the 95th
    turned: float  # share of them that name another class than the exact probabilities do
    shots: int
    outcomes: Floats  # (M,) exact probabilities
    shares: Floats  # (M,) of N shots
    head: HeadCircuit


def measure(model: Model, sentence: str, shots: int, seed: int = 0) -> Measured:
    """Measure a sentence's ket. The same seed gives the same counts.

    Errors: qiskit missing; another head; a state of norm 0.
    """
    from psitext.quantum import from_model

    head = from_model(model)
    outcomes = head.probabilities(head.kets(model.encode([sentence])))[0]
    outcomes = outcomes / outcomes.sum()  # to rounding, as multinomial draws need it
    shares = generator(seed, "studio shots", shots).multinomial(shots, outcomes, size=REPEATS) / shots
    exact, *each = np.exp(log_probs(head.logits(np.concatenate([outcomes[None], shares])), model.temperature))
    repeated = np.stack(each)
    low, high = np.quantile(repeated, BAND, axis=0)
    turned = float((repeated.argmax(1) != exact.argmax()).mean())
    return Measured(
        sentence, head.labels, exact, repeated[0], low, high, turned, shots, outcomes, shares[0], head
    )  # fmt: skip


def told(found: Measured, cost: Cost) -> str:
    """A measurement as HTML."""
    count = f"{found.shots:,} shots"
    best = found.labels[int(found.exact.argmax())]
    rows = [
        [label, float(exact), float(counted), f"{low:.3f} to {high:.3f}"]
        for label, exact, counted, low, high in zip(
            found.labels, found.exact, found.counted, found.low, found.high, strict=True
        )
    ]
    parts = [
        markup.heading(f"{best}: {found.exact.max():.3f}"),
        markup.table(
            f"Probability of every class, exact and from {count}",
            ("class", "exact", count, "90 of 100 times"),
            rows,
        ),
        markup.paragraph(
            f"Of {REPEATS} measurements of {count} each, {found.turned:.1%} name another class than the exact "
            "probabilities do."
        ),
        markup.figure(
            figures.outcomes(found.outcomes, found.shares, found.shots),
            f"The {len(found.outcomes)} outcomes that the read-out weighs: exact, and as {count} found them.",
        ),
        markup.heading("The circuit"),
        markup.figure(
            wires.circuit(found.head.qubits, found.head.measured, found.head.gates, _in_words(found.head)),
            f"{_in_words(found.head)} Qubit 0 is the most significant bit.",
            wide=True,
        ),
        markup.table("What it costs", ("what", "how much"), [(row["what"], row["cost"]) for row in cost.rows()]),
        markup.paragraph(
            "A logit is what the read-out gives a class before the logits become probabilities: the mean over the "
            f"shots of the weight of what was read. A standard error of {cost.logit_error:g} is one of every logit.",
            small=True,
        ),
    ]
    return markup.answer(*parts)


def _in_words(head: HeadCircuit) -> str:
    gates = f"{len(head.gates):,} gates" if head.gates else "one unitary matrix"
    return f"State preparation, the head ({gates}), measurement of {head.measured} of {head.qubits} qubits."


def lay(studio: Studio) -> None:
    """The tab."""
    import gradio as gr

    names = studio.shelf.names(MEASUREMENT)
    costs: dict[object, Cost] = {}  # of a head, whatever it reads; only the worker asks

    def work(name: object, given: object, power: object, seed: object) -> str:
        sentence = bounds.sentence(given, "the sentence")
        shots = round(10 ** bounds.number(power, LEAST, MOST, "the power of ten"))
        found = measure(
            studio.shelf.model(name, MEASUREMENT), sentence, shots, bounds.integer(seed, 0, bounds.SEED, "the seed")
        )
        if name not in costs:
            from psitext.quantum import cost

            costs[name] = cost(found.head)
        return told(found, costs[name])

    with gr.Tab("Measurement", id=MEASUREMENT):
        gr.Markdown("A sentence's state is measured, and the outcomes' shares decide: exactly, or by so many shots.")
        if not names:
            gr.Markdown(NONE, elem_id="measurement-none")
            return
        model = gr.Dropdown(names, value=names[0], label="Model", elem_id="measurement-model")
        given = gr.Textbox(EXAMPLE, label="Sentence", elem_id="measurement-sentence")
        with gr.Row():
            power = gr.Slider(
                LEAST, MOST, value=3.0, step=0.5, label="Shots, as a power of ten", elem_id="measurement-shots",
                info="1 is 10 shots, 3 is 1,000, 5 is 100,000",
            )  # fmt: skip
            seed = gr.Number(0, precision=0, minimum=0, maximum=bounds.SEED, label="Seed", elem_id="measurement-seed")
        button = gr.Button("Measure", variant="primary", elem_id="measurement-go")
        shown = gr.HTML(elem_id="measurement-shown")
        studio.ask(work, (model, given, power, seed), shown, MEASUREMENT, button.click, given.submit, power.release)
