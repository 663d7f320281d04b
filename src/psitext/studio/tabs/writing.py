"""Sentences written from a latent space: on the way between two, by analogy, and from nothing.

All of it is ``experiments.latents.telling``; here it is bounded and told.
"""

from __future__ import annotations

from typing import cast

from psitext.errors import UserError, near
from psitext.experiments.latents import telling
from psitext.experiments.latents.told import Analogies, Path, Samples
from psitext.explain.latent.paths import COURSES, Course
from psitext.heads.decoding import Writing
from psitext.model import Model
from psitext.model.writing import usual
from psitext.studio import bounds
from psitext.studio.models import WRITING
from psitext.studio.shown import markup
from psitext.studio.work import Studio

STEPS, SAMPLES, DEGREE, WARM = 12, 10, 3.0, 3.0  # the most of each
# Sentences that the space that comes with psitext writes as they are; it writes in lower case.
ENDS = "it was never boring.", "the theatre was half empty."
ANALOGY = (
    "i laughed and wept and forgot the time.",
    "he laughed and wept and forgot the time.",
    "i was happy for a week.",
)


def path(model: Model, start: str, end: str, steps: int, course: str) -> Path:
    """Sentences on the way. Errors: as ``telling.interpolate``; a course that there is not."""
    if course not in COURSES:
        raise UserError(f"the way is one of {', '.join(COURSES)}, not {course[:40]!r}{near(course[:40], COURSES)}")
    return telling.interpolate(model, [start, end], steps, cast("Course", course))


def drawn(model: Model, count: int, temperature: float, seed: int) -> Samples:
    """Sentences from draws of the prior: greedy at temperature 0, otherwise with words drawn, too."""
    how = usual(model)
    if temperature > 0:
        how = Writing(max_len=how.max_len, sample=True, temperature=temperature, seed=seed)
    else:
        how = Writing(max_len=how.max_len, seed=seed)
    return telling.sample(model, count, how=how)


def told_path(found: Path) -> str:
    """A path as HTML."""
    even = found.smoothness
    rows = [(f"{place:.2f}", one) for place, one in zip(found.places, found.texts, strict=True)]
    return markup.answer(
        markup.table(f"From “{found.through[0]}” to “{found.through[1]}”", ("place", "sentence"), rows),
        markup.paragraph(
            f"{even.distinct} different sentences; neighbours share {even.overlap:.2f} of their words, and the largest "
            f"step has {even.largest:.2f} of all change."
        ),
    )


def told_analogy(found: Analogies) -> str:
    """An analogy as HTML."""
    rows = [("as", found.a), ("is to", found.b), ("so", found.c[0]), ("is to", found.texts[0])]
    return markup.answer(
        markup.heading(found.texts[0] or "(nothing)"),
        markup.table(f"C + {found.degree:g} (B - A)", ("", "sentence"), rows),
    )


def told_samples(found: Samples) -> str:
    """Samples as HTML."""
    rows = list(enumerate(found.texts, 1))
    return markup.answer(markup.table("Drawn from the prior, N(0, 1)", ("number", "sentence"), rows))


def lay(studio: Studio) -> None:
    """The tab, with a tab inside for each of the three."""
    import gradio as gr

    names = studio.shelf.names(WRITING)
    with gr.Tab("Writing", id=WRITING):
        gr.Markdown("A space of sentences is written from: every point of it is a sentence.")
        if not names:
            gr.Markdown(
                "No sentence space here. One is made from a file of sentences:\n\n"
                + markup.code(
                    "psitext pretrain --config optimus-mini --data sentences.txt --out runs/space",
                    "psitext studio --model runs/space",
                ),
                elem_id="writing-none",
            )
            return
        model = gr.Dropdown(names, value=names[0], label="Model", elem_id="writing-model")
        if read := studio.shelf.read(WRITING):
            gr.HTML(markup.answer(*(markup.paragraph(one, small=True) for one in read)), elem_id="writing-read")
        with gr.Tabs():
            _between(studio, model)
            _analogy(studio, model)
            _sampling(studio, model)


def _between(studio: Studio, model: object) -> None:
    import gradio as gr

    def work(name: object, start: object, end: object, steps: object, course: object) -> str:
        ends = bounds.sentence(start, "the first sentence"), bounds.sentence(end, "the second sentence")
        count = bounds.integer(steps, 1, STEPS, "the number of steps")
        return told_path(path(studio.shelf.model(name, WRITING), *ends, count, bounds.typed(course, "the way")))

    with gr.Tab("Between two", id="between"):
        start = gr.Textbox(ENDS[0], label="From", elem_id="between-start")
        end = gr.Textbox(ENDS[1], label="To", elem_id="between-end")
        steps = gr.Slider(1, STEPS, value=8, step=1, label="Steps", elem_id="between-steps")
        course = gr.Radio(list(COURSES), value="linear", label="Way", elem_id="between-course")
        button = gr.Button("Write the way", variant="primary", elem_id="between-go")
        shown = gr.HTML(elem_id="between-shown")
        studio.ask(work, (model, start, end, steps, course), shown, "between", button.click)


def _analogy(studio: Studio, model: object) -> None:
    import gradio as gr

    def work(name: object, a: object, b: object, c: object, degree: object) -> str:
        first, second, third = (
            bounds.sentence(one, f"sentence {name}") for name, one in (("A", a), ("B", b), ("C", c))
        )
        far = bounds.number(degree, 0, DEGREE, "the degree")
        return told_analogy(telling.analogy(studio.shelf.model(name, WRITING), [first], [second], [third], far))

    with gr.Tab("Arithmetic", id="analogy"):
        a = gr.Textbox(ANALOGY[0], label="A", elem_id="analogy-a")
        b = gr.Textbox(ANALOGY[1], label="is to B", elem_id="analogy-b")
        c = gr.Textbox(ANALOGY[2], label="as C is to what?", elem_id="analogy-c")
        degree = gr.Slider(0, DEGREE, value=1, step=0.1, label="How far", elem_id="analogy-degree")
        button = gr.Button("Write what it is", variant="primary", elem_id="analogy-go")
        shown = gr.HTML(elem_id="analogy-shown")
        studio.ask(work, (model, a, b, c, degree), shown, "analogy", button.click)


def _sampling(studio: Studio, model: object) -> None:
    import gradio as gr

    def work(name: object, count: object, temperature: object, seed: object) -> str:
        return told_samples(
            drawn(
                studio.shelf.model(name, WRITING),
                bounds.integer(count, 1, SAMPLES, "the number of sentences"),
                bounds.number(temperature, 0, WARM, "the temperature"),
                bounds.integer(seed, 0, bounds.SEED, "the seed"),
            )
        )

    with gr.Tab("Sampling", id="sample"):
        count = gr.Slider(1, SAMPLES, value=5, step=1, label="Sentences", elem_id="sample-count")
        warm = gr.Slider(
            0, WARM, value=0, step=0.1, label="Temperature of the words",
            info="0 takes the most probable word each time", elem_id="sample-temperature",
        )  # fmt: skip
        seed = gr.Number(0, precision=0, minimum=0, maximum=bounds.SEED, label="Seed", elem_id="sample-seed")
        button = gr.Button("Write", variant="primary", elem_id="sample-go")
        shown = gr.HTML(elem_id="sample-shown")
        studio.ask(work, (model, count, warm, seed), shown, "sample", button.click)
