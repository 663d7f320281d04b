"""Words in their texts: one word in several, and what each word of one did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from psitext.cli.explain.options import Figure, Json, Law, MetricOrBest, drawn, looked, texts_of
from psitext.cli.options import ModelName

if TYPE_CHECKING:
    from psitext.model.mps import Explanation


def similarity(
    sentences: Annotated[list[str], typer.Argument(help="Sentences that hold the word.")],
    model: ModelName,
    word: Annotated[str, typer.Option("--word", help="The word to compare.")],
    beside: Annotated[
        list[str] | None,
        typer.Option("--beside", help="Another model, a causal one beside a bidirectional one, say; may be repeated."),
    ] = None,
) -> None:
    """Compare a word's static embedding with its states in context (chapter 15.8.1).

    A language model's state of a word has read what stands before it, a BERT's the whole sentence.

    Example: psitext explain similarity --model runs/books --word crane "a crane is flying" "a crane driver came"
    Example: psitext explain similarity --model runs/books --beside runs/gpt2-mini --word bank "..." "..."
    """
    from psitext.cli import early

    names = [model, *(beside or [])]
    for name in names:
        early.model(name)
    from psitext.cli.terminal import rows_table
    from psitext.explain.similarity import word_similarity
    from psitext.model import load
    from psitext.model.contexts import reader

    rows, lacking = [], []
    for name in names:
        found = word_similarity(word, sentences, reader(load(name)))
        rows += [{**({"model": name} if beside else {}), **pair._asdict()} for pair in found.table()]
        lacking += [name] if found.unknown else []
    rows_table(rows)
    for name in lacking:
        whose = f"the vocabulary of {name}" if beside else "the model's vocabulary"
        typer.echo(f"{whose} lacks {word!r}; what was compared is its sign for unknown words", err=True)


def text(
    text: Annotated[str, typer.Argument(help="The text.")],
    model: ModelName,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            help="What stands for no word: mean (of the words' law), zero, or pad (the filler, where there is one).",
            show_default="mean where the law of words is known",
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", help="Substitutions to show.")] = 5,
    metric: MetricOrBest = None,
    law: Law = None,
    column: Annotated[str | None, typer.Option("--text", help="The column of that file that holds the text.")] = None,
    figure: Figure = None,
    json: Json = False,
) -> None:
    """Explain a circuit's decision on a text: what each word adds (exact Shapley values), and what would turn it.

    The log-odds (of more classes, each logit) less those of a text of baselines are shared out among the words.
    --figure also draws the entanglement that is left after each word.

    Example: psitext explain text "not as boring as I feared" --model runs/rac --figure words.svg
    """
    looked(model, figure, law, column, metric=metric, baseline=baseline)
    from psitext.cli.output import spoken
    from psitext.model import load

    found = load(model).explain(
        text,
        baseline=cast("Any", baseline),
        top=top,
        metric=cast("Any", metric),
        texts=texts_of(law, column),
        entanglement=json or figure is not None,
    )
    closing = found.shown
    if json:
        typer.echo(spoken({**found.record(), "model": model}))
    else:
        _tell(found, closing)
    if figure is not None and not found.words:
        typer.echo("no figure: there is no word to draw", err=True)
    elif figure is not None:
        from psitext.experiments.tensors import drawing

        drawing.sentence(found, figure, closing)
        drawn(figure, json)


def _tell(found: Explanation, closing: int) -> None:
    from psitext.cli.terminal import rows_table
    from psitext.model.mps.sentence import BASELINES

    if found.unknown:
        how = "left out" if not set(found.unknown) & set(found.words) else "read as one and the same"
        typer.echo(f"unknown to the model, and {how}: {', '.join(found.unknown)}", err=True)
    if found.cut:
        typer.echo(f"{found.cut:,} words are beyond what the model reads; left out", err=True)
    if not found.words:
        typer.echo(f"the model knows no word of this text; what it says is its prior: {_said(found.prior)}")
        return
    typer.echo(f"{_said(found.answer)}; of a text without words: {_said(found.prior)}")
    value, nothing = float(found.logits[closing]), float(found.nothing[closing])
    typer.echo(f"{found.says[closing]}: {value:.4f}; {nothing:.4f} with {BASELINES[found.baseline]} in every place")
    temperature = found.temperature
    if temperature != 1.0 and found.answer.probabilities:
        what = "log-odds" if len(found.says) == 1 else "logits"
        typer.echo(
            f"probabilities are calibrated: they are those of {what} divided by the temperature {temperature:.4g} "
            f"({value:.4f} / {temperature:.4g} = {value / temperature:.4f}); {what} here are those before it"
        )
    columns = zip(found.words, found.shapley[closing].tolist(), found.leave_one_out[closing].tolist(), strict=True)
    rows_table([{"word": word, "adds": adds, "without it": without} for word, adds, without in columns])
    if not found.flips and found.answer.probabilities:
        typer.echo("no other word in one place would turn the decision")
    rows_table(
        [
            {"place": one.place + 1, "word": one.word, "instead": one.instead, "then": one.label,
             "probability": one.probability}
            for one in found.flips
        ]
    )  # fmt: skip


def _said(answer: Any) -> str:
    label = answer.label
    return f"{label:.4f}" if isinstance(label, float) else f"{label} ({answer.probability:.4f})"


LOOKS = (similarity, text)
