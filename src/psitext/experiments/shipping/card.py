"""The card of a shipped model, made from its run's folder and from result lines, and from nothing else."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psitext import __version__
from psitext.errors import UserError
from psitext.experiments.queue.plan import read_queue
from psitext.experiments.results import lines, pages
from psitext.experiments.results.lines import ResultLine
from psitext.experiments.runs.folder import RECIPE, RunFolder
from psitext.experiments.runs.recipes import AutoencodeRecipe, FinetuneRecipe, PretrainRecipe
from psitext.experiments.shipping.plan import Headline, Ship
from psitext.model import Model
from psitext.train.network import parameter_count

LIMITS = "## Limits"
BOOKS = "books/*.jsonl.gz"
# What the recipes call them: for a list, and for a card with the terms.
SOURCES = {
    BOOKS: (
        "112 public-domain books",
        "112 English books by 56 authors, 62 million characters; public domain (authors died before 1930, works "
        "before 1926)",
    ),
    "toy": ("generated stories", "{count} generated stories of the embedded corpus, psitext's own (Apache-2.0)"),
    "toy-sentiment": (
        "generated reviews",
        "the training rows of toy-sentiment: 8,000 generated reviews with their labels, psitext's own (Apache-2.0), "
        "of which a tenth each is kept for dev and test",
    ),
}


@dataclass(frozen=True, slots=True)
class Origin:
    """What a finished run says of itself."""

    recipe: PretrainRecipe | FinetuneRecipe | AutoencodeRecipe
    result: Mapping[str, Any]
    stamp: Mapping[str, Any]  # versions, commit and threads
    held_out: Mapping[str, float]  # the scores of the weights that were kept, without units

    @property
    def facts(self) -> Mapping[str, Any]:
        """The facts of its model: those of a fine-tuning are its result."""
        found: Mapping[str, Any] = self.result.get("facts", self.result)
        return found

    @property
    def hours(self) -> float:
        """Hours of training."""
        return float(self.result["counters"]["seconds"]) / 3600


def origin(folder: RunFolder) -> Origin:
    """Read a run's folder. Errors: a run that has not finished."""
    recipe, result = folder.recipe(), folder.result()
    if not isinstance(recipe, PretrainRecipe | FinetuneRecipe | AutoencodeRecipe):
        raise UserError(f"{folder.path} holds no run that a model ships from")
    tree = json.loads((folder.path / RECIPE).read_text(encoding="utf-8"))
    best = result["counters"]["best_step"]
    dev = [event for event in folder.events() if event["kind"] == "dev"]
    kept = next((event for event in reversed(dev) if event["step"] == best), dev[-1] if dev else {})
    held_out = {key.replace("_", " "): value for key, value in kept.items() if key not in ("kind", "step", "collapsed")}
    return Origin(recipe, result, {key: tree[key] for key in ("versions", "commit", "threads")}, held_out)


def sources(found: Origin, *, terms: bool) -> list[str]:
    """What a run was trained on, in words, with or without the terms. Errors: text that nothing is known of."""
    recipe = found.recipe
    if isinstance(recipe, FinetuneRecipe):
        return _in_words([recipe.task or str(recipe.data.train)], terms=terms)
    return _in_words([name for part in recipe.corpus for name in part.files], terms=terms)


def vocabulary(found: Origin) -> list[str]:
    """The text, with the terms, that a tokenizer was trained on where that is another. Errors: as ``sources``."""
    recipe = found.recipe
    return _in_words(recipe.tokenizer_text, terms=True) if isinstance(recipe, FinetuneRecipe) else []


def _in_words(named: Sequence[str], *, terms: bool) -> list[str]:
    words = []
    for name in named:
        known, _, count = name.partition(":")
        if known not in SOURCES:
            raise UserError(f"a model that ships is trained on the books and the embedded corpus, not on {name}")
        words.append(SOURCES[known][terms].format(count=f"{int(count):,}" if count else ""))
    return words


def headline(wanted: Headline | None, found: Origin, results: Path | None) -> str:
    """The score in a list: that of the queue, where it has run, else the loss or score on what was held out."""
    judged = scored(wanted, results)
    if judged:
        return judged
    name, value = next(iter(found.held_out.items()), ("", 0.0))
    return f"held-out {name} {value:.3f}" if name else ""


def scored(wanted: Headline | None, results: Path | None) -> str:
    """The score of the queue in words, nothing where it has not run."""
    if wanted is None or results is None:
        return ""
    those = [line for line in lines.newest(_lines(results, wanted.queue)) if _of(line) == _place(wanted)]
    scores = [line.metrics[wanted.metric] for line in those if wanted.metric in line.metrics]
    if not scores:
        return ""
    return f"{wanted.task} {wanted.split} {wanted.metric.replace('_', ' ')} {sum(scores) / len(scores):.3f}"


def _lines(results: Path, queue: str) -> Path:
    return results / f"{queue.replace('/', '-')}.jsonl"


def _of(line: ResultLine) -> tuple[str, str, str]:
    return line.run, line.task, line.split


def _place(wanted: Headline) -> tuple[str, str, str]:
    return wanted.run, wanted.task, wanted.split


def card(wanted: Ship, found: Origin, model: Model, results: Path | None) -> str:
    """The whole card, Markdown."""
    parts = (_what(wanted, model), _made(wanted, found), _held_out(found), _judged(wanted, results), _ends(wanted))
    return "\n".join(itertools.chain.from_iterable(parts))


def judged_again(text: str, wanted: Ship, results: Path) -> str:
    """A card with the tables of today's result lines in place of those that it has."""
    before, limits, after = text.partition(f"\n{LIMITS}\n")
    return "\n".join([before.partition("\n### ")[0], *_judged(wanted, results)]) + limits + after


def _what(wanted: Ship, model: Model) -> Iterator[str]:
    config = model.encoder.config
    yield from (f"# {wanted.name}", "", wanted.purpose, "")
    yield f"- encoder: {config.family}, {config.in_words}, vocabulary {config.vocab_size:,}"
    pool = getattr(config, "pool", None)
    if pool is not None:
        yield f"- sentence vector: {pool}"
    if model.writes and model.head is not None:
        yield f"- writes with: {model.head.in_words}, vocabulary {model.head.vocab_size:,}"  # type: ignore[union-attr]
    if model.task:
        yield f"- answers: {model.task.title} ({', '.join(model.task.labels)})"
    yield f"- parameters: {parameter_count(model.network):,}, stored as bfloat16, computed with as float32"
    yield from (f"- made with psitext {__version__}; terms: Apache-2.0", "")


def _made(wanted: Ship, found: Origin) -> Iterator[str]:
    train, counters, stamp = found.recipe.train, found.result["counters"], found.stamp
    yield from ("## Training", "")
    yield from (f"- text: {one}" for one in sources(found, terms=True))
    yield from (f"- vocabulary: words of {one}" for one in vocabulary(found))
    starts = {"encoder": wanted.encoder, "decoder": wanted.decoder, "word vectors": wanted.words}
    yield from (f"- {part} from {name}" for part, name in starts.items() if name is not None)
    yield f"- recipe: `{wanted.recipe}`, hash {found.facts['recipe']}, seed {train.seed}, {train.precision}"
    yield f"- {counters['step']:,} steps, {counters['tokens']:,} tokens; the weights of step {counters['best_step']:,}"
    cores = f"{stamp['threads']} thread" + "s" * (stamp["threads"] != 1)
    yield f"- {found.hours:.2f} hours of {cores} on {stamp['versions']['system']}, torch {stamp['versions']['torch']}"
    yield from (f"- commit {str(stamp['commit'])[:12]}", "")


def _held_out(found: Origin) -> Iterator[str]:
    yield from ("## Scores", "", "On text that was held out, before weights were rounded to bfloat16:", "")
    yield from (f"- {name}: {value:.4g}" for name, value in found.held_out.items())
    yield ""


def _judged(wanted: Ship, results: Path | None) -> Iterator[str]:
    """The tables of the queues that have run."""
    if results is None:
        return
    for name in wanted.queues:
        file = _lines(results, name)
        if file.exists():
            yield pages.section(read_queue(name), file).replace("## ", "### ", 1)


def _ends(wanted: Ship) -> Iterator[str]:
    yield from (LIMITS, "", *(f"- {one}" for one in wanted.limits), "")
    yield "`make models` trains, packs and describes it again; docs/models.md says how to make one of your own."
    yield ""
