"""Sentences moved through the latent space: between others, by analogy, along dimensions; and what lies near them."""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer

from psitext.cli.generate import sentences
from psitext.cli.generate.options import (
    COURSES,
    DISTANCES,
    MOST_STEPS,
    Beams,
    Column,
    Drawn,
    MaxLen,
    Out,
    Seed,
    Temperature,
    TopP,
    decoding,
    how,
    positive,
)
from psitext.cli.options import ModelName

Given = Annotated[list[str], typer.Argument(help="Sentences, or files of them.")]


def interpolate(
    texts: Annotated[list[str], typer.Argument(help="Two sentences or more, or files of them: a path through all.")],
    model: ModelName,
    steps: Annotated[int, typer.Option("--steps", help="From each sentence to the next.")] = 10,
    course: Annotated[
        str, typer.Option("--how", help="linear, or spherical: along the arc between both directions.")
    ] = "linear",
    text: Column = None,
    beams: Beams = 1,
    drawn: Drawn = False,
    temperature: Temperature = None,
    top_p: TopP = None,
    seed: Seed = 0,
    max_len: MaxLen = None,
    out: Out = None,
) -> None:
    """Write sentences on the way from one to another.

    Example: psitext generate interpolate "a girl poses for a picture" "two men are playing soccer" --model runs/space
    """
    from psitext.cli import early
    from psitext.errors import UserError

    given = decoding(beams, drawn, temperature, top_p, seed, max_len)
    positive("--steps", steps, MOST_STEPS)
    early.choice("--how", course, COURSES)
    sentences.looked(model, out, texts)
    (through,) = sentences.read(texts, column=text)
    if len(through) < 2:
        raise UserError("an interpolation leads from one sentence to another, and there is one; give a second")
    from psitext.cli.terminal import rows_table
    from psitext.experiments.latents import telling
    from psitext.model import load

    found = load(model)
    told = telling.interpolate(found, through, steps, cast("Any", course), how(found, given))
    sentences.tell_cut(found, through)
    if out is not None:
        sentences.kept(told.records(), out)
    else:
        places = (f"{place:.6g}" for place in told.places)
        rows_table([{"place": at, "sentence": one} for at, one in zip(places, told.texts, strict=True)])
    even = told.smoothness
    different = "one and the same sentence" if even.distinct == 1 else f"{even.distinct} different sentences"
    steps_of = "1 step" if even.steps == 1 else f"{even.steps} steps"
    typer.echo(
        f"{different} in {steps_of}; neighbours share {even.overlap:.2f} of their words, "
        f"and the largest step has {even.largest:.2f} of all change"
    )


def analogy(
    a: Annotated[str, typer.Argument(help="A sentence, or a file of them, whose mean it then is.")],
    b: Annotated[str, typer.Argument(help="What A becomes: a sentence, or a file as for A.")],
    c: Annotated[str, typer.Argument(help="What is to change in the same way: a sentence, or a file, each by itself.")],
    model: ModelName,
    degree: Annotated[float, typer.Option("--degree", help="How far: C + degree (B - A).")] = 1.0,
    text: Column = None,
    beams: Beams = 1,
    drawn: Drawn = False,
    temperature: Temperature = None,
    top_p: TopP = None,
    seed: Seed = 0,
    max_len: MaxLen = None,
    out: Out = None,
) -> None:
    """Write what is to C as B is to A.

    Example: psitext generate analogy "a girl is sad" "two girls are sad" "a boy is happy" --model runs/space
    Example: psitext generate analogy past.txt present.txt "a dog ran along the beach" --degree 1.5 --model runs/space
    """
    import math

    from psitext.errors import UserError

    given = decoding(beams, drawn, temperature, top_p, seed, max_len)
    if not math.isfinite(degree):
        raise UserError(f"--degree is a finite number, not {degree}")
    sentences.looked(model, out, [a, b, c])
    first, second, third = sentences.read([a], [b], [c], column=text)
    from psitext.cli.terminal import rows_table
    from psitext.experiments.latents import telling
    from psitext.model import load

    found = load(model)
    told = telling.analogy(found, first, second, third, degree, how(found, given))
    sentences.tell_cut(found, first, second, third)
    if out is not None:
        sentences.kept(told.records(), out)
    elif len(told.texts) == 1:
        typer.echo(sentences.line(told.texts[0]))
    else:
        rows_table([{"sentence": one, "written": new} for one, new in zip(told.c, told.texts, strict=True)])


def neighbours(
    texts: Given,
    model: ModelName,
    among: Annotated[str, typer.Option("--among", help="The file of sentences to search.")],
    top: Annotated[int, typer.Option("--top", help="How many of the nearest.")] = 5,
    by: Annotated[
        str, typer.Option("--by", help="cosine or euclidean distance of means, or kl, of the posteriors, symmetric.")
    ] = "cosine",
    text: Column = None,
    out: Out = None,
) -> None:
    """Find the sentences of a file whose latents are nearest.

    Example: psitext generate neighbours "a girl poses for a picture" --among sentences.txt --model runs/space
    """
    from psitext.cli import early

    positive("--top", top)
    early.choice("--by", by, DISTANCES)
    sentences.looked(model, out, [*texts, among])
    asked, crowd = sentences.read(texts, [among], column=text)
    from psitext.cli.terminal import rows_table
    from psitext.experiments.latents import telling
    from psitext.model import load

    found = load(model)
    told = telling.neighbours(found, asked, crowd, top, cast("Any", by))
    sentences.tell_cut(found, asked, crowd)
    if out is not None:
        sentences.kept(told.records(), out)
        return
    for one, near, far in zip(told.texts, told.neighbours, told.distances, strict=True):
        if len(told.texts) > 1:
            typer.echo(sentences.line(one))
        rows_table([{by: distance, "neighbour": other} for other, distance in zip(near, far, strict=True)])


def traverse(
    texts: Given,
    model: ModelName,
    dimension: Annotated[
        list[int] | None,
        typer.Option("--dimension", "-d", help="Which number of the latent, from 0; may be repeated.",
                     show_default="the most active ones"),
    ] = None,
    top: Annotated[int, typer.Option("--top", help="How many of the most active ones.")] = 3,
    span: Annotated[float, typer.Option("--span", help="Standard deviations to either side.")] = 3.0,
    steps: Annotated[int, typer.Option("--steps", help="From one side to the other.")] = 6,
    among: Annotated[
        str | None,
        typer.Option("--among", help="A file of sentences: a deviation is theirs, and so is what is active.",
                     show_default="1, as of the prior"),
    ] = None,
    text: Column = None,
    beams: Beams = 1,
    drawn: Drawn = False,
    temperature: Temperature = None,
    top_p: TopP = None,
    seed: Seed = 0,
    max_len: MaxLen = None,
    out: Out = None,
) -> None:  # fmt: skip
    """Write a sentence again with single numbers of its latent changed.

    Example: psitext generate traverse "a girl poses for a picture" --among sentences.txt --model runs/space
    """
    from psitext.errors import UserError

    given = decoding(beams, drawn, temperature, top_p, seed, max_len)
    positive("--top", top)
    positive("--steps", steps, MOST_STEPS)
    if not 0 < span < float("inf"):
        raise UserError(f"--span is above 0, not {span:g}")
    files = [] if among is None else [among]
    sentences.looked(model, out, [*texts, *files])
    asked, crowd = sentences.read(texts, files, column=text)
    from psitext.cli.terminal import rows_table
    from psitext.experiments.latents import telling
    from psitext.model import load

    found = load(model)
    told = telling.traverse(found, asked, dimension, top=top, span=span, steps=steps, among=crowd or None,
                            how=how(found, given))  # fmt: skip
    sentences.tell_cut(found, asked, crowd)
    if out is not None:
        sentences.kept(told.records(), out)
        return
    for walk in told.walks:
        typer.echo(f"{sentences.line(walk.text)}: dimension {walk.dimension}, standard deviation {walk.deviation:.4f}")
        steps_of = zip(walk.steps, walk.texts, strict=True)
        rows_table([{"deviations": f"{step:.6g}", "sentence": one} for step, one in steps_of])


COMMANDS = (interpolate, analogy, neighbours, traverse)
