"""Sentences from a prior, and sentences written again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from psitext.cli.generate import sentences
from psitext.cli.generate.options import (
    COVARIANCES,
    FITTED,
    MOST_SENTENCES,
    PRIORS,
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

if TYPE_CHECKING:
    from psitext.explain.latent.prior import Prior
    from psitext.model import Model

SAVED = ".safetensors"


def sample(
    model: ModelName,
    n: Annotated[int, typer.Option("--n", "-n", help="How many sentences.")] = 10,
    prior: Annotated[
        str,
        typer.Option(
            "--prior",
            help="Where latents come from: normal (0 and 1), gaussian or mixture (fitted to the sentences of --fit), "
            "or a file that --keep wrote.",
        ),
    ] = "normal",
    fit: Annotated[str | None, typer.Option("--fit", help="A file of sentences to fit a prior to.")] = None,
    covariance: Annotated[
        str, typer.Option("--covariance", help="Of a fitted prior: full, or diagonal, which takes fewer sentences.")
    ] = "full",
    keep: Annotated[Path | None, typer.Option("--keep", help="Write the fitted prior here (.safetensors).")] = None,
    text: Column = None,
    beams: Beams = 1,
    drawn: Drawn = False,
    temperature: Temperature = None,
    top_p: TopP = None,
    seed: Seed = 0,
    max_len: MaxLen = None,
    out: Out = None,
) -> None:
    """Write new sentences, from latents of a prior; a language model without a latent draws its words.

    Example: psitext generate sample --model runs/space --n 20 --prior mixture --fit sentences.txt
    """
    given = decoding(beams, drawn, temperature, top_p, seed, max_len)
    positive("--n", n, MOST_SENTENCES)
    _fits(prior, fit, covariance, keep, text)
    sentences.looked(model, out, [fit] if fit else [])
    (texts,) = sentences.read([fit] if fit else [], column=text)
    from psitext.experiments.latents import telling
    from psitext.model import load

    found = load(model)
    source = _prior(found, prior, texts, covariance, seed)
    told = telling.sample(found, n, source, how(found, given))
    if source is not None and keep is not None:
        from psitext.explain.latent import prior_file

        prior_file.write(source, keep)
        typer.echo(f"prior: {keep}", err=True)
    if out is not None:
        sentences.kept(told.records(), out)
        return
    typer.echo("\n".join(map(sentences.line, told.texts)))


def reconstruct(
    texts: Annotated[list[str], typer.Argument(help="Sentences, or files of them.")],
    model: ModelName,
    text: Column = None,
    beams: Beams = 1,
    drawn: Drawn = False,
    temperature: Temperature = None,
    top_p: TopP = None,
    seed: Seed = 0,
    max_len: MaxLen = None,
    out: Out = None,
) -> None:
    """Write sentences again from their latents, and say how many came back.

    Example: psitext generate reconstruct "a girl makes a silly face" --model runs/space
    """
    given = decoding(beams, drawn, temperature, top_p, seed, max_len)
    sentences.looked(model, out, texts)
    (asked,) = sentences.read(texts, column=text)
    from psitext.cli.terminal import rows_table
    from psitext.experiments.latents import telling
    from psitext.model import load

    found = load(model)
    told = telling.reconstruct(found, asked, how(found, given))
    sentences.tell_cut(found, asked)
    sentences.tell_unknown(found, asked)
    if out is not None:
        sentences.kept(told.records(), out)
    else:
        rows_table([{"sentence": one.text, "written": one.written} for one in told.each])
    count = "1 sentence" if len(asked) == 1 else f"{len(asked):,} sentences"
    typer.echo(f"of {count}: exact match {told.exact:.4f}, token accuracy {told.token_accuracy:.4f}")


def _fits(prior: str, fit: str | None, covariance: str, keep: Path | None, column: str | None) -> None:
    """Refuse a prior that does not go with what it is to be fitted to."""
    from psitext.cli import early
    from psitext.errors import UserError, near

    early.choice("--covariance", covariance, COVARIANCES)
    early.ending(keep, (SAVED,), "priors")
    early.output(keep, (), option="--keep")
    if prior.endswith(SAVED):
        if not Path(prior).is_file():
            raise UserError(f"there is no prior at {prior}")
    elif prior not in PRIORS:
        names = f"{', '.join(PRIORS)}, or a file that --keep wrote ({SAVED})"
        raise UserError(f"--prior is one of {names}, not {prior!r}{near(prior, PRIORS)}")
    if (prior in FITTED) != (fit is not None):
        why = "takes a file of sentences, --fit" if fit is None else "is not fitted to anything; leave --fit out"
        raise UserError(f"--prior {prior} {why}")
    if fit is None and (keep is not None or column is not None or covariance != "full"):
        raise UserError("--keep, --covariance and --text go with a prior that is fitted: --prior mixture --fit FILE")


def _prior(model: Model, name: str, texts: list[str], covariance: str, seed: int) -> Prior | None:
    """The prior of that name; None for the one that a model has anyway."""
    from psitext.experiments.latents import telling
    from psitext.explain.latent import prior_file

    if name == "normal":
        return None
    if name not in FITTED:
        return prior_file.read(Path(name))
    kind: Any = name
    found = telling.fitted(model, texts, kind, cast("Any", covariance), seed=seed)
    sentences.tell_cut(model, texts)
    return found


COMMANDS = (sample, reconstruct)
