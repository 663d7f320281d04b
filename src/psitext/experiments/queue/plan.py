"""What a queue is: the runs behind a table or a figure of a paper, as one file.

A queue (``recipes/papers/<paper>/<artefact>.toml``) lists variants; a variant is a way to answer tasks, or to
pre-train, with its seeds. The same artefact at the paper's own sizes is ``<artefact>-full.toml`` beside it, or the
same file, where these are small (``scale = "both"``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from psitext.baselines.discocat.settings import DiscocatConfig
from psitext.config import RECIPES, Config, build, read_toml, recipe_hash
from psitext.errors import UserError, near
from psitext.experiments.control.table import ControlRow
from psitext.experiments.dialog.scoring import DialogTest
from psitext.experiments.dialog.ways import recipe_for
from psitext.experiments.lowresource.protocol import FewLabels, Plane
from psitext.experiments.pretrain import pretraining_recipe
from psitext.experiments.queue.lifting import Lifting
from psitext.experiments.queue.likelihood import Bound
from psitext.experiments.queue.rewriting import Rewriting
from psitext.experiments.runs.recipes import AutoencodeRecipe, FinetuneRecipe, PretrainRecipe, Recipe, resolve_recipe
from psitext.experiments.shipping.judging import Judging
from psitext.experiments.states.bonds import Bonds
from psitext.experiments.sweep.protocol import Sweep
from psitext.model.shipped import entries

SEEDED = (
    "pretrain",
    "finetune",
    "discocat",
    "compress",
    "space",
    "control",
    "kets",
)  # ways that answer differently under another seed
# Ways that follow no recipe.
BY_VARIANT = (
    "discocat", "appendix-a", "sweep", "control", "reconstruction", "lift", "as-is", "sentences", "space-as-is",
)  # fmt: skip
LEAVE_MODELS = ("pretrain", "finetune", "space")  # ways whose folder holds a model that other runs may start from
Scale = Literal["mini", "full"]
FULL = "-full"  # of the name of a queue at the paper's own sizes


class Variant(Config):
    """One row of a table, or one curve of a figure."""

    name: str
    how: Literal[
        "finetune",
        "frozen",
        "baselines",
        "bag-of-words",
        "compress",
        "discocat",
        "pretrain",
        "space",
        "appendix-a",
        "sweep",
        "control",
        "respond",
        "few-labels",
        "few-labels-tuned",
        "plane",
        "reconstruction",
        "lift",
        "kets",
        "as-is",
        "sentences",
        "space-as-is",
    ] = "finetune"
    recipe: str = "finetune"
    # A name that --init gives a model for ("minilm"), another run of the queue, or a model as elsewhere.
    init: str | None = None
    encoder: str | None = None  # of a space: its halves, likewise
    decoder: str | None = None
    tasks: tuple[str, ...]  # for pre-training, what its text is called; for a space, a corpus; for appendix A, its case
    seeds: tuple[int, ...] = (1,)
    limit: int | None = None  # training examples
    set: tuple[str, ...] = ()  # a.b=c laid over the recipe
    discocat: DiscocatConfig = DiscocatConfig()  # settings of how = "discocat", which follows no recipe
    control: ControlRow = ControlRow()  # settings of how = "control"
    dialog: DialogTest = DialogTest()  # how = "respond": how answers are tested
    sweep: Sweep | None = None  # settings of how = "sweep"
    sizes: tuple[int, ...] = ()  # of how = "compress": the numbers of a smaller state, chi
    few: FewLabels = FewLabels()  # settings of the two ways with few labels
    plane: Plane = Plane()  # settings of how = "plane"
    rewriting: Rewriting = Rewriting()  # settings of how = "reconstruction"
    lifting: Lifting = Lifting()  # settings of how = "lift"
    kets: Bonds = Bonds()  # settings of how = "kets"
    bound: Bound = Bound()  # settings of how = "space" and "space-as-is"
    judging: Judging = Judging()  # settings of how = "as-is" and "sentences"
    against: tuple[str, ...] = ()  # variants with few labels whose scores are taken off from this one's
    splits: tuple[str, ...] = ()  # to score on; without any the task's dev splits, on which fine-tuning is scored too

    @property
    def models(self) -> tuple[str, ...]:
        """What it starts from or is judged by, each a name that --init gives a model for."""
        judge = {"respond": self.dialog.judge, "control": self.control.judge}.get(self.how)
        return tuple(name for name in (self.init, self.encoder, self.decoder, judge) if name is not None)


class Queue(Config):
    """A table's or a figure's runs, and what its page says of them."""

    title: str
    note: str = ""
    command: str = ""  # what a reader types to make the lines
    scale: Literal["mini", "full", "both"] = "mini"  # sizes for two cores, the paper's own, or these, which are small
    all_metrics: bool = False  # a column for every metric, instead of one for every task
    curve: str = ""  # which loss on dev is drawn over tokens; none for a table
    beside: dict[str, dict[str, str]] = Field(
        default_factory=dict
    )  # rows of other queues, by queue: name there, name here
    paper: dict[str, dict[str, float]] = Field(
        default_factory=dict
    )  # the paper's row: task ("mnli dev_matched"): score
    runs: tuple[Variant, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """One run of a queue."""

    variant: Variant
    task: str
    seed: int

    @property
    def name(self) -> str:
        """Where its folder lies below the queue's: variant/task/seed."""
        return f"{self.variant.name}/{self.task}/seed-{self.seed}"


@dataclass(frozen=True, slots=True)
class Bench:
    """Where a queue works: its folders, its result lines, its data and the models that its names stand for."""

    out: Path
    results: Path
    data_dir: Path | None
    inits: Mapping[str, str]
    jobs: int = 1  # processes of a sweep


def queue_names() -> dict[str, Path]:
    """The queues that ship with psitext, by paper/artefact."""
    folder = RECIPES / "papers"
    return {str(path.relative_to(folder).with_suffix("")): path for path in sorted(folder.rglob("*.toml"))}


def at_scale(name: str, scale: Scale) -> str:
    """The name of an artefact's queue at a scale. Errors: it has none of that scale."""
    known = queue_names()
    if scale == "mini" or name not in known or read_queue(name).scale != "mini":
        return name
    full = f"{name}{FULL}"
    if full not in known:
        there = ", ".join(one.removesuffix(FULL) for one in known if read_queue(one).scale != "mini")
        raise UserError(f"{name} has one scale only; the paper's own sizes are there for: {there}")
    return full


def read_queue(name: str) -> Queue:
    """A queue by paper/artefact, or a TOML file."""
    known = queue_names()
    if name not in known and not name.endswith(".toml"):
        raise UserError(
            f"nothing to reproduce is called {name!r}{near(name, known) or '; there is: ' + ', '.join(known)}"
        )
    path = known.get(name, Path(name))
    return build(Queue, read_toml(path), path.name)


def jobs(queue: Queue) -> Iterator[Job]:
    """Every run, in the order of the file."""
    for variant in queue.runs:
        for task in variant.tasks:
            for seed in variant.seeds if variant.how in SEEDED else (0,):
                yield Job(variant, task, seed)


def with_own_models(bench: Bench, queue: Queue, job: Job) -> Bench:
    """The bench on which the name of another run of the queue stands for the model that it leaves, that of the job's
    seed where it has it; what --init says of a name goes before.
    """
    own = {}
    shipped = {entry.name for entry in entries()}  # whose names stay theirs, whatever a run is called
    for variant in (one for one in queue.runs if one.how in LEAVE_MODELS and one.name not in shipped):
        seed = job.seed if job.seed in variant.seeds else variant.seeds[0]
        own[variant.name] = str(bench.out / Job(variant, job.task, seed).name)
    return replace(bench, inits={**own, **bench.inits})


def recipe_of(job: Job, bench: Bench) -> Recipe:
    """The complete recipe of a job."""
    variant = job.variant
    if variant.how == "space":
        return _space(job, bench)
    overrides = [*variant.set, f"train.seed={job.seed}"]
    if variant.how == "respond":
        return recipe_for(variant.name, overrides, variant.init, bench.data_dir, bench.inits, variant.recipe)
    if variant.how == "pretrain":
        started = {"init": bench.inits.get(variant.init, variant.init)} if variant.init else {}
        found = pretraining_recipe(variant.recipe, overrides, {"name": variant.name, **started})
        assert isinstance(found, PretrainRecipe)
        return found if bench.data_dir is None else _in_folder(found, bench.data_dir)
    data = {"dir": str(bench.data_dir) if bench.data_dir else None, "limit": variant.limit}
    init = None if variant.init is None else bench.inits.get(variant.init, variant.init)
    given: dict[str, Any] = {"task": job.task, "data": data, "name": variant.name, "init": init}
    tuned = resolve_recipe("finetune", variant.recipe, overrides, given)
    assert isinstance(tuned, FinetuneRecipe)
    return tuned


def _space(job: Job, bench: Bench) -> AutoencodeRecipe:
    """A space, trained on the training text of the corpus that its task names."""
    variant = job.variant
    starts = {"init": variant.init, "encoder_from": variant.encoder, "decoder_from": variant.decoder}
    given: dict[str, Any] = {key: bench.inits.get(name, name) for key, name in starts.items() if name is not None}
    part = {"files": [f"corpus:{job.task}"], "dir": None if bench.data_dir is None else str(bench.data_dir)}
    overrides = [*variant.set, f"train.seed={job.seed}"]
    found = resolve_recipe("pretrain", variant.recipe, overrides, {"name": variant.name, "corpus": [part], **given})
    assert isinstance(found, AutoencodeRecipe)
    return found


def _in_folder(recipe: Recipe, folder: Path) -> PretrainRecipe:
    assert isinstance(recipe, PretrainRecipe)
    parts = tuple(part.model_copy(update={"dir": part.dir or str(folder)}) for part in recipe.corpus)
    return recipe.model_copy(update={"corpus": parts})


def hash_of(job: Job) -> str:
    """The hash of a job's recipe without what differs between machines: where data and models lie."""
    if job.variant.how in BY_VARIANT:
        return recipe_hash(job.variant.model_copy(update={"tasks": (job.task,), "seeds": (job.seed,)}))
    recipe = recipe_of(job, Bench(Path(), Path(), None, {}))
    if job.variant.how == "respond":
        recipe = recipe.model_copy(update={"name": f"{recipe.name}: {recipe_hash(job.variant.dialog)}"})
    if job.variant.how == "space" and job.variant.bound != Bound():
        recipe = recipe.model_copy(update={"name": f"{recipe.name}: {recipe_hash(job.variant.bound)}"})
    if job.variant.sizes:
        recipe = recipe.model_copy(update={"name": f"{recipe.name}: {job.variant.sizes}"})
    settings = {"few-labels": job.variant.few, "few-labels-tuned": job.variant.few, "plane": job.variant.plane}
    settings |= {"kets": job.variant.kets}
    if job.variant.how in settings:
        own = f"{job.variant.how} {recipe_hash(settings[job.variant.how])}"
        recipe = recipe.model_copy(update={"name": f"{recipe.name}: {own}"})
    return recipe_hash(recipe)
