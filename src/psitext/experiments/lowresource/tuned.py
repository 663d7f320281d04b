"""Scores over the number of labelled sentences, the whole encoder fine-tuned on them.

There is no dev set where labels are few: a trial takes the recipe's budget and keeps its last weights. Each trial that
is done is a line of a file, so that work goes on where it was stopped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from psitext.assemble import build_head, task_score, usual_head
from psitext.config import recipe_hash
from psitext.experiments.finetune import starting_model
from psitext.experiments.lowresource.draws import Sides, trial
from psitext.experiments.lowresource.fewlabels import Finding, Score, finding, read
from psitext.experiments.lowresource.protocol import FewLabels
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import FinetuneRecipe
from psitext.experiments.runs.training import train
from psitext.files import append_line, remove
from psitext.model.scores import evaluate_network
from psitext.text.examples import Task
from psitext.text.supervised import encode_examples
from psitext.train.loop import Hook
from psitext.train.network import Network

DONE = "trials.jsonl"


def few_labels_tuned(
    recipe: FinetuneRecipe, few: FewLabels, data_dir: Path | None, out: Path, hook: Hook = lambda event: None
) -> Finding:
    """The scores of the recipe's encoder, fine-tuned whole in every trial."""
    task, both = read(recipe, few, data_dir)
    own = recipe_hash(recipe)
    done = {(one.count, one.number): one for one in _done(out / DONE, own)}
    for count, trials in zip(few.counts, few.trials, strict=True):
        for number in range(trials):
            if (count, number) not in done:
                value = _tuned(recipe, few, task, both, count, number, out, hook)
                done[count, number] = Score(count, number, value)
                append_line(out / DONE, json.dumps([own, count, number, value]), durable=True)
    return finding(task, both, list(done.values()), {"steps": recipe.train.steps} if recipe.train.steps else {})


def _tuned(
    recipe: FinetuneRecipe, few: FewLabels, task: Task, both: Sides, count: int, number: int, out: Path, hook: Hook
) -> float:
    """The score of one trial."""
    mine = recipe.model_copy(
        update={
            "name": f"{recipe.name}, {count} labels of a class, trial {number}",
            "train": recipe.train.model_copy(update={"seed": recipe.train.seed + number}),
        }
    )
    folder = RunFolder(out / f"{count}-labels" / f"trial-{number}")
    with folder.claimed(mine) as found:
        model = starting_model(found)
        head = build_head(task, model.encoder, found.head or usual_head(model.encoder.config, task), found.train.seed)
        network = Network(model.encoder, head)
        text = found.text.model_copy(update={"max_len": min(found.text.max_len, model.encoder.config.max_len)})
        chosen = [both.pool[place] for place in trial([one.label for one in both.pool], count, number, few)]
        source = encode_examples(chosen, task, model.tokenizer, text)
        train(folder, found, network, task_score(task), source, None, [hook])
        test = encode_examples(both.test, task, model.tokenizer, text)
        value = evaluate_network(network.eval(), test, task)[task.headline]
    remove(folder.path)
    return value


def _done(file: Path, own: str) -> Iterator[Score]:
    """The trials of this recipe that a file has."""
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        recipe, count, number, value = json.loads(line)
        if recipe == own:
            yield Score(count, number, value)
