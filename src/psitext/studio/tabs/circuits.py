"""A recurrent arithmetic circuit on a text: which words decided, what would turn it, what is left open on the way.

All of it is ``Model.explain``; here it is told. Letters: n words, K closings.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from psitext.errors import UserError
from psitext.experiments.tensors import drawing
from psitext.model import Model
from psitext.model.mps import Explanation
from psitext.studio import bounds
from psitext.studio.models import CIRCUITS
from psitext.studio.shown import markup
from psitext.studio.work import Studio

EXAMPLE = "It was not as boring as I feared."
LONGEST = 60  # words that are read: the map has a cell for each pair of them
TYPED = 2 * LONGEST  # words of a text: more would take minutes for what is not drawn
FLIPS = 5


def explained(model: Model, text: str) -> str:
    """A text's explanation as HTML. Errors: too many words; as ``Model.explain``."""
    count = len(text.split())
    if count > TYPED:
        raise UserError(f"the text has {count} words; at most {TYPED} are looked at here")
    return told(model.explain(text, top=FLIPS), model.temperature)


def told(found: Explanation, temperature: float = 1.0) -> str:
    """An explanation as HTML, of a model whose log-odds are divided by a temperature before they are probabilities.

    Errors: more words than are drawn.
    """
    if len(found.words) > LONGEST:
        raise UserError(f"the model reads {len(found.words)} words of this text; at most {LONGEST} are drawn here")
    parts = [markup.heading(_answer(found))]
    if not found.words:
        parts.append(markup.paragraph("The model knows no word of this text: this is what it says of no text at all."))
        return markup.answer(*parts, *_left_out(found))
    at = found.shown
    values = found.shapley[at].tolist()
    nothing, now = float(found.nothing[at]), float(found.logits[at])
    parts += [
        markup.words(found.words, values),
        markup.paragraph(
            f"Shapley values of {found.says[at]}: {nothing:+.3f} without a word, {now:+.3f} with all of them."
        ),
        *_calibrated(found, temperature),
        *_left_out(found),
        markup.table(
            "What each word adds, and what its absence alone would change",
            ("word", "adds (Shapley)", "without it"),
            [
                (word, f"{value:+.3f}", f"{alone:+.3f}")
                for word, value, alone in zip(found.words, values, found.leave_one_out[at].tolist(), strict=True)
            ],
        ),
        *_flips(found),
        *_map(found),
    ]
    return markup.answer(*parts)


def _answer(found: Explanation) -> str:
    probability = found.answer.probability
    return f"{found.answer.label}" + ("" if probability is None else f": {probability:.3f}")


def _calibrated(found: Explanation, temperature: float) -> list[str]:
    """Why the probability is not that of the values shown."""
    now, probability = float(found.logits[found.shown]), found.answer.probability
    if temperature == 1.0 or probability is None:
        return []
    what = "log-odds" if len(found.says) == 1 else "logits"
    said = (
        f"These are {what} before calibration. The probability {probability:.3f} is calibrated: it is that of {what} "
        f"divided by the temperature {temperature:.3g}, here {now:+.3f} / {temperature:.3g} = {now / temperature:+.3f}."
    )
    return [markup.paragraph(said, small=True)]


def _left_out(found: Explanation) -> list[str]:
    parts = []
    if found.unknown:
        parts.append(markup.paragraph(f"Words that the model does not know: {', '.join(found.unknown)}.", small=True))
    if found.cut:
        parts.append(markup.paragraph(f"{found.cut} words are beyond what the model reads, and left out.", small=True))
    return parts


def _flips(found: Explanation) -> list[str]:
    title = markup.heading("What would turn it")
    if not found.flips:
        return [title, markup.paragraph("No other single word that the model knows turns the decision.")]
    rows = [(one.word, one.place + 1, one.instead, one.label, one.probability) for one in found.flips]
    head = ("instead of", "at", "the word", "gives", "probability")
    return [title, markup.table("Single other words that turn the decision", head, rows)]


def _map(found: Explanation) -> list[str]:
    if len(found.words) < 2:
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "words.svg"
        drawing.sentence(found, path, found.shown)
        svg = path.read_text(encoding="utf-8")
    most = float(found.entanglement_bits.nan_to_num(nan=0.0).max())
    caption = (
        "Above, the Shapley values. Below, how much of what is still to come is open: the entropy at each later cut "
        f"after each word that was read, at most {most:.3f} bits ({found.metric} metric)."
    )
    return [markup.heading("Entanglement on the way"), markup.figure(svg, caption, wide=True)]


def lay(studio: Studio) -> None:
    """The tab."""
    import gradio as gr

    names = studio.shelf.names(CIRCUITS)

    def work(name: object, given: object) -> str:
        text = bounds.sentence(given, "the text")
        return explained(studio.shelf.model(name, CIRCUITS), text)

    with gr.Tab("Circuits", id=CIRCUITS):
        gr.Markdown("A recurrent arithmetic circuit is a matrix product state: what it says is explained exactly.")
        if not names:
            gr.Markdown(
                "No circuit here answers a task. One is made in minutes:\n\n"
                + markup.code(
                    "psitext finetune --task toy-sentiment --encoder rac --out runs/rac",
                    "psitext studio --model runs/rac",
                ),
                elem_id="circuits-none",
            )
            return
        model = gr.Dropdown(names, value=names[0], label="Model", elem_id="circuits-model")
        given = gr.Textbox(EXAMPLE, lines=2, label="Text", elem_id="circuits-text")
        button = gr.Button("Explain", variant="primary", elem_id="circuits-go")
        shown = gr.HTML(elem_id="circuits-shown")
        studio.ask(work, (model, given), shown, CIRCUITS, button.click)
