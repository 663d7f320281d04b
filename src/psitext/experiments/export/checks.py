"""What is refused before a model is written in another form: places in use, weights that are no numbers."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from psitext.errors import UserError
from psitext.files import holds_another
from psitext.hf.checkpoints import check_new
from psitext.model import Model

ABOUT = "psitext.json"  # what an ONNX export says of itself


def onnx_place(folder: Path) -> None:
    """Of an ONNX export. Errors: ONNX missing; a place that holds something else than an earlier one."""
    missing = [name for name in ("onnx", "onnxscript", "onnxruntime") if find_spec(name) is None]
    if missing:
        raise UserError(f"ONNX files need {', '.join(missing)}: pip install 'psitext[onnx]'")
    if holds_another(folder, (ABOUT,)):
        raise UserError(f"{folder} holds something else than an ONNX export; name another folder")


PLACES: dict[str, Callable[[Path], None]] = {"hf": check_new, "onnx": onnx_place}


def check_finite(model: Model) -> None:
    """Refuse a model of which no form could say anything. Errors: a weight that is no finite number, which is named."""
    for name, weight in model.network.named_parameters():
        if not bool(weight.isfinite().all()):
            raise UserError(
                f"{name} of this model is not finite: its training diverged, or its weights were damaged; train it "
                "again, with a lower train.optim.lr or from another seed"
            )
