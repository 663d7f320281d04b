"""States as a picture in the plane, coloured by label, and in numbers how well labels are told apart.

t-SNE keeps neighbours, not distances, and finds clusters in noise, too; so the numbers are of the states themselves:
the share of a sentence's nearest neighbours that have its label, and the silhouette of the labels, in the scale of
deviation 1 that a classifier reads (``readout``). The same two of the points in the plane stand beside them.

Source: Li et al. 2020, section 4.4, figure 4; van der Maaten and Hinton 2008 (t-SNE); Rousseeuw 1987 (silhouettes).
Letters: S sentences, D numbers of a state.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from psitext.errors import UserError
from psitext.experiments import evaluation
from psitext.experiments.finetune import starting_model
from psitext.experiments.lowresource.draws import per_label
from psitext.experiments.lowresource.fewlabels import Finding, frozen, states
from psitext.experiments.lowresource.protocol import Plane
from psitext.experiments.lowresource.readout import Floats, Labels, Scale
from psitext.experiments.runs.recipes import FinetuneRecipe
from psitext.text.tasks import load_split, load_task

AGREE, SILHOUETTE = "neighbours of the same label", "silhouette"


def plane(recipe: FinetuneRecipe, settings: Plane, data_dir: Path | None) -> Finding:
    """The numbers and the picture of a split's states; in the notes "points" [[x, y, class], ...] and "labels"."""
    assert recipe.task is not None
    task = load_task(recipe.task)
    if task.kind != "classification":
        raise UserError(f"points are coloured by their class; {task.name} is a {task.kind}")
    rows = load_split(task, settings.split, data_dir)
    names, classes = [row.label for row in rows], len(task.labels)
    chosen = per_label(names, settings.measured // classes, settings.seed, "plane")
    drawn = set(per_label(names, settings.points // classes, settings.seed, "plane"))  # of one key: some of the chosen
    some = [rows[place] for place in chosen]
    gold = evaluation.gold(task, some)
    found = states(starting_model(frozen(recipe)), some)
    scaled = Scale.of(found).apply(found)
    shown = np.asarray([place in drawn for place in chosen])
    points = picture(scaled[shown], settings)
    scores = apart(scaled, gold, settings.neighbours)
    scores |= {f"{name}, plane": value for name, value in apart(points, gold[shown], settings.neighbours).items()}
    kept = [
        [round(float(x), 2), round(float(y), 2), int(label)] for (x, y), label in zip(points, gold[shown], strict=True)
    ]
    notes = {"points": kept, "labels": list(task.labels), "width": found.shape[1]}
    return Finding(scores, {settings.split: len(some), "drawn": int(shown.sum())}, notes)


def picture(found: Floats, settings: Plane) -> Floats:
    """(S, 2) points of (S, D) states; the same states give the same points."""
    from sklearn.manifold import TSNE

    start = "pca" if found.shape[1] > 1 else "random"
    made = TSNE(perplexity=settings.perplexity, init=start, random_state=settings.seed, n_jobs=1)
    return np.asarray(made.fit_transform(found), dtype=np.float64)


def apart(found: Floats, labels: Labels, neighbours: int) -> dict[str, float]:
    """The share of the nearest neighbours of (S, D) states that have their label, and the silhouette of the labels.

    Of K equally frequent labels that have nothing to do with the states the share is about 1 / K, the silhouette
    about 0; both are 1 where labels are far apart.
    """
    from sklearn.metrics import silhouette_score
    from sklearn.neighbors import NearestNeighbors

    at = NearestNeighbors(n_neighbors=neighbours, n_jobs=1).fit(found).kneighbors(return_distance=False)
    same: npt.NDArray[np.bool_] = labels[at] == labels[:, None]
    return {AGREE: float(same.mean()), SILHOUETTE: float(silhouette_score(found, labels))}
