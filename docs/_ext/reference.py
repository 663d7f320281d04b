"""The reference: a page for every room of the house, made from its main modules when the site is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "api" / "generated"  # no part of the repository
# In the order of the road: the page, what it is about, and its modules below psitext.
ROOMS = {
    "states": ("States", "state"),
    "estimator": ("Estimators", "estimator.classifier estimator.regressor estimator.transformer"),
    "nn": (
        "Numbers and layers",
        "nn.numerics nn.transformer nn.complex.layout nn.complex.linear nn.complex.attention nn.unitary.exponential "
        "nn.unitary.born nn.scan.recurrence nn.schmidt nn.kets.cuts nn.kets.geometry nn.kets.product nn.kets.qubits",
    ),
    "text": (
        "Text",
        "text.batches text.examples text.tasks text.tables text.sources text.supervised text.tokenizer.vocabulary "
        "text.tokenizer.learn text.twofold.source",
    ),
    "encoders": ("Encoders", "encoders.bert encoders.qbert encoders.qcls encoders.rac encoders.vae assemble"),
    "heads": ("Heads", "heads.affine heads.pretraining heads.measurement heads.modulus heads.decoding"),
    "hf": ("Checkpoints of others", "hf.checkpoints hf.lift hf.decoders.folder hf.decoders.original"),
    "score": ("Scores", "score.losses score.elbo score.annealing score.metrics score.statistics score.calibration"),
    "train": ("Training", "train.loop train.network train.budget train.checkpoint train.predict train.optim.cadamw"),
    "explain": (
        "Explanations",
        "explain.similarity explain.law explain.shapley explain.substitution explain.mps.chain explain.mps.spectrum "
        "explain.mps.formats explain.latent.paths explain.latent.arithmetic explain.latent.neighbours "
        "explain.latent.prior explain.ket.portrait",
    ),
    "quantum": (
        "Circuits",
        "quantum.head quantum.costs quantum.running quantum.training quantum.export quantum.circuits.order "
        "quantum.circuits.build quantum.circuits.files quantum.machines.machine quantum.machines.noise",
    ),
    "model": ("Models", "model.model model.loading model.answers model.settings model.mps.state model.mps.sentence"),
    "runs": (
        "Runs and results",
        "experiments.run experiments.evaluation experiments.compare.comparing experiments.export.huggingface "
        "experiments.export.onnx experiments.latents.report "
        "experiments.latents.telling experiments.results.lines experiments.results.report",
    ),
    "ground": (
        "The ground it stands on",
        "config.checking config.recipes config.toml config.values errors files randomness",
    ),
}


def page(title: str, modules: str) -> str:
    """The page of a room."""
    names = [f"psitext.{name}" for name in modules.split()]
    sections = [f"{name}\n{'-' * len(name)}\n\n.. automodule:: {name}\n" for name in names]
    return "\n".join([title, "=" * len(title), "", *sections])


def write(app: Any) -> None:
    """Write the pages that changed, so that a second build reads only those."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.rst"):
        if old.stem not in ROOMS:
            old.unlink()
    for room, (title, modules) in ROOMS.items():
        file, text = FOLDER / f"{room}.rst", page(title, modules)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Before Sphinx looks which pages there are."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
