"""Every TOML file that ships is read, checked and built: recipes of runs, tasks, queues of a paper."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from docs_blocks import ROOT
from psitext.assemble import (
    build_decoder,
    build_encoder,
    build_head,
    build_pretraining_head,
    build_space,
    usual_head,
)
from psitext.config import RECIPES, read_recipe, recipe_hash, recipe_names, recipe_text
from psitext.errors import UserError
from psitext.experiments.compare import settings as comparisons
from psitext.experiments.queue import Bench, jobs, queue_names, read_queue, recipe_of
from psitext.experiments.results import lines
from psitext.experiments.runs import corpus
from psitext.experiments.runs.recipes import (
    COMMANDS,
    AutoencodeRecipe,
    FinetuneRecipe,
    PretrainRecipe,
    Recipe,
    RespondRecipe,
    resolve_recipe,
)
from psitext.experiments.shipping.judging import GENERATED
from psitext.heads.measurement import MeasurementConfig
from psitext.text.tasks import TASKS, load_task
from psitext.train.network import Network, parameter_count

RECORDS = set((RECIPES / "tasks").glob("*.toml"))


def resolved(name: str) -> Recipe:
    """The recipe under the verb it names; one that names none must be right for some verb."""
    tree = read_recipe(name)
    wrong = []
    for command, verbs in COMMANDS.items():
        if tree.get("verb", command) not in verbs:
            continue
        try:
            return resolve_recipe(command, name)
        except UserError as error:
            wrong.append(f"{command}: {error}")
    pytest.fail("; ".join(wrong))


def test_law_every_file_is_a_recipe_a_task_or_a_queue_under_a_name_of_its_own() -> None:
    # Recipes are known by their file's name alone, so two of one name would hide each other here.
    corpora = [RECIPES / "corpora" / f"{name}.toml" for name in corpus.names()]
    named: list[Path] = [*recipe_names().values(), *RECORDS, *queue_names().values(), *corpora]
    named += comparisons.presets().values()
    assert sorted(named) == sorted(RECIPES.rglob("*.toml"))


@pytest.mark.parametrize("name", recipe_names())
def test_law_what_is_printed_of_a_recipe_is_that_recipe_anywhere(name: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(recipe_text(name), encoding="utf-8")
    assert read_recipe(str(tmp_path / "mine.toml")) == read_recipe(name)


@pytest.mark.parametrize("name", recipe_names())
def test_smoke_recipe_is_built(name: str) -> None:
    recipe = resolved(name)
    if isinstance(recipe, RespondRecipe) or recipe.encoder is None:
        return
    with torch.device("meta"):  # shapes without memory, so that the largest preset is built too
        if isinstance(recipe, AutoencodeRecipe):
            encoder: torch.nn.Module = build_space(recipe.encoder)
            head: torch.nn.Module = build_decoder(recipe.decoder)
            places = {p.device.type for part in (encoder, head) for p in part.parameters()}
            assert places == {"meta"}
            return
        encoder = build_encoder(recipe.encoder)
        if isinstance(recipe, PretrainRecipe):
            head = build_pretraining_head(encoder, recipe.head)
        else:
            task = load_task("sst2")
            head = build_head(task, encoder, recipe.head or usual_head(recipe.encoder, task))
    assert {parameter.device.type for part in (encoder, head) for parameter in part.parameters()} == {"meta"}


def test_law_every_record_is_a_task() -> None:
    assert TASKS.keys() == {path.stem for path in RECORDS}
    assert all(load_task(name) is task for name, task in TASKS.items())


@pytest.mark.parametrize("name", queue_names())
def test_smoke_queue_names_tasks_and_recipes_that_exist(name: str) -> None:
    queue = read_queue(name)
    bench = Bench(Path("out"), Path("results"), Path("data"), {})
    for job in jobs(queue):
        if job.variant.how == "pretrain":
            recipe = recipe_of(job, bench)
            assert isinstance(recipe, PretrainRecipe)
            assert {part.dir for part in recipe.corpus} == {"data"}
        elif job.variant.how == "space":
            recipe = recipe_of(job, bench)
            assert isinstance(recipe, AutoencodeRecipe)
            assert corpus.named(job.task).test, "it is judged on them"
        elif job.variant.how == "respond":
            assert isinstance(recipe_of(job, bench), RespondRecipe)
        elif job.variant.how == "control":
            assert load_task(job.task).name == job.task
        elif job.variant.how == "reconstruction":
            assert corpus.named(job.task).test, "its sentences are written again"
        elif job.variant.how == "sentences":
            assert job.task == GENERATED or corpus.named(job.task).test, "its sentences judge a space"
        elif job.variant.how != "appendix-a":
            assert load_task(job.task).name == job.task
            assert recipe_of(job, bench).tree()["task"] == job.task
    others = [read_queue(other) for other in queue.beside]
    assert all(len(list(jobs(other))) > 0 for other in others)


def test_law_results_that_are_there_are_of_recipes_that_a_queue_names() -> None:
    """A run whose recipe got another hash would be done again; families and heads to come must not cause that."""
    bench = Bench(Path("out"), Path("results"), None, {})
    found = {(job.task, job.seed, recipe_hash(recipe_of(job, bench))) for job in jobs(read_queue("bert/glue-minilm"))}
    done = {(line.task, line.seed, line.recipe) for line in lines.read(ROOT / "results" / "bert-glue-minilm.jsonl")}
    assert done
    assert done <= found


def test_law_families_of_one_size_have_as_many_parameters_and_the_same_text() -> None:
    sizes = {}
    for family in ("bert", "qbert", "cvbert"):
        recipe = resolve_recipe("pretrain", f"books-{family}-mini" if family != "bert" else "books-mini")
        assert isinstance(recipe, PretrainRecipe)
        encoder = recipe.encoder.model_copy(update={"vocab_size": recipe.tokenizer.vocab_size})
        with torch.device("meta"):
            built = build_encoder(encoder)
            sizes[family] = parameter_count(Network(built, build_pretraining_head(built, recipe.head)))
        # A rate and a decay have other units in CAdamW, see qbert-mini.toml.
        train = recipe.train.model_copy(update={"optim": None})
        text = (recipe.corpus, recipe.tokenizer, recipe.samples, train)
        if family == "bert":
            first = text
        assert text == first, family
    assert sizes["qbert"] == pytest.approx(sizes["bert"], rel=0.02)
    assert sizes["cvbert"] == pytest.approx(sizes["bert"], rel=0.02)


@pytest.mark.parametrize(
    ("base", "control"), [("qbert-base", "cvbert-base"), ("qbert-mini", "cvbert-mini"), ("qbert-tiny", "cvbert-tiny")]
)
def test_law_a_cvbert_is_the_qbert_but_for_its_first_token(base: str, control: str) -> None:
    ours, theirs = (resolve_recipe("pretrain", name).tree() for name in (base, control))
    different = {key for key in ours["encoder"] if ours["encoder"][key] != theirs["encoder"][key]}
    assert different == {"family", "first"}
    assert {key for key in ours if ours[key] != theirs[key]} == {"name", "encoder"}


def test_known_the_papers_choices() -> None:
    """What the published models have, in the base presets and in the tiny one that is for comparisons."""
    paper = {"first": "unit", "score": "modulus", "queries": False, "outputs": False, "init": "paper"}
    for verb, name in (
        ("pretrain", "qbert-base"),
        ("pretrain", "qbert-tiny-paper"),
        ("finetune", "qcls-transformer-base"),
    ):
        recipe = resolve_recipe(verb, name)
        assert {key: recipe.tree()["encoder"][key] for key in paper} == paper, name
        if isinstance(recipe, PretrainRecipe):
            assert recipe.head.logits == "modulus"


BERT_CASED = 108_310_272  # parameters of bert-base-cased with its pooler
GPT2 = 124_439_808  # of GPT-2 small, whose vocabulary is 50,257


@pytest.mark.parametrize(
    ("name", "encoder", "decoder"),
    [  # W_E makes means and log-variances, W_M a vector for each of 12 layers, W_D one more; three tokens are new
        ("optimus-base", BERT_CASED + 2 * 32 * 768, GPT2 + 3 * 768 + 13 * 768 * 32),
        ("optimus-768", BERT_CASED + 2 * 768 * 768, GPT2 + 3 * 768 + 13 * 768 * 768),
        ("optimus-refine", BERT_CASED + 2 * 32 * 768, GPT2 + 3 * 768 + 13 * 768 * 32),
        ("gpt2-small", 0, GPT2 + 3 * 768),
    ],
)
def test_known_the_published_halves_of_optimus(name: str, encoder: int, decoder: int) -> None:
    recipe = resolve_recipe("pretrain", name)
    assert isinstance(recipe, AutoencodeRecipe)
    with torch.device("meta"):
        parts = build_space(recipe.encoder), build_decoder(recipe.decoder)
    assert [sum(p.numel() for p in part.parameters()) for part in parts] == [encoder, decoder]


def test_known_optimus_is_trained_as_published() -> None:
    first, then = (resolve_recipe("pretrain", name) for name in ("optimus-base", "optimus-refine"))
    assert isinstance(first, AutoencodeRecipe) and isinstance(then, AutoencodeRecipe)
    for recipe, cycles, batch in ((first, 10, 128), (then, 1, 16)):
        objective = recipe.objective
        assert (objective.schedule, objective.zero, objective.rise) == ("cyclical-zero", None, None), "0.5 and 0.25"
        assert (objective.cycles, objective.beta, objective.free_bits) == (cycles, 1.0, "dimension")
        assert (recipe.train.epochs, recipe.train.batch_sequences, recipe.train.optim.lr) == (1, batch, 5e-5)
        assert recipe.pool == "pooled" and recipe.decoder.latent == recipe.encoder.latent == 32
    assert first.sentences.limit == 1_990_000 and first.sentences.max_words == 64


def test_known_a_head_without_a_name_is_known_by_its_keys() -> None:
    recipe = resolve_recipe("finetune", "finetune", ["head.unitary=circuit", "task=toy-sentiment"])
    assert isinstance(recipe, FinetuneRecipe)
    assert recipe.head == MeasurementConfig(unitary="circuit")
