"""An encoder as an ONNX file, with all that is needed to use it without psitext.

A folder holds ``model.onnx`` (and ``model.onnx.data`` beside it, where weights are too many for one file), the
``tokenizer.json`` and the other files of a tokenizer that transformers reads, and ``psitext.json``: names, lengths,
labels, temperature, and how far the file's values are from the model's. Letters: B texts, L tokens.
"""

from __future__ import annotations

import json
import logging
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tokenizers
import torch

from psitext import __version__
from psitext.errors import UserError
from psitext.experiments.export.checks import ABOUT, check_finite, onnx_place
from psitext.experiments.export.graph import CircuitReader, Graph
from psitext.files import folder_atomic, write_atomic
from psitext.hf.tokenizer_files import write_tokenizer
from psitext.model import PLAIN, Model, Sentences
from psitext.nn.numerics import FLOAT32_GAP
from psitext.state import Bond, Posterior, State
from psitext.text.examples import Example
from psitext.text.supervised import encode_examples
from psitext.train.network import Network

FORMAT = 1
OPSET = 18
FILE = "model.onnx"
ONE_FILE = 2**30  # bytes of weights beyond which they lie beside the graph; protobuf ends at two of these
# What the file and the model both read before the export counts: nothing, little, much, and more than is read.
SHORT, USUAL, LONG = (
    "Fine.",
    "a gripping, funny film, and not as dull as it was said to be",
    "it goes on and on, " * 200,
)
TEXTS = ("", SHORT, USUAL, LONG)
PAIRS = ((SHORT, LONG), (SHORT, SHORT), (LONG, SHORT))
QUESTIONS = ((SHORT, LONG), (SHORT, USUAL), (SHORT, SHORT))

PER_TOKEN = {"token_logits", "span_logits"}

Arrays = dict[str, npt.NDArray[Any]]


def to_onnx(model: Model, folder: Path, one_file: int = ONE_FILE) -> str:
    """Write the folder, and return a sentence that says how far the file's values are from the model's.

    Errors: as ``onnx_place``; weights that are not finite; an encoder or a head without such a form; a file whose
    values are off.
    """
    onnx_place(folder)
    check_finite(model)
    graph = Graph(model)
    with folder_atomic(folder) as part:
        _write_graph(graph, part / FILE, one_file)
        _write_tokenizer(part, model, cut=not isinstance(graph.reader, CircuitReader))
        gap, found = _compared(model, part)
        if not gap <= FLOAT32_GAP:
            raise UserError(f"what {FILE} computes is {gap:.2g} away from the model, more than {FLOAT32_GAP:g}")
        write_atomic(part / ABOUT, json.dumps(_about(model, graph, found, gap), indent=2, ensure_ascii=False))
    return f"onnxruntime against the model on texts of several lengths: {gap:.2g} apart ({FLOAT32_GAP:g} is the limit)"


def _write_graph(graph: Graph, path: Path, one_file: int) -> None:
    import onnx
    from onnx_ir.passes.common import RemoveUnusedNodesPass

    axes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length")}
    # Tensors of their own: one that comes twice would be one input.
    example = tuple(torch.ones(3, 7, dtype=torch.int64) for _ in graph.inputs)
    with _quietly(), torch.no_grad():
        names = list(graph.named(*example))
        program = torch.onnx.export(
            graph, example, dynamo=True, opset_version=OPSET, input_names=graph.inputs, output_names=names,
            dynamic_shapes=dict.fromkeys(graph.inputs, axes), verbose=False,
        )  # fmt: skip
        assert program is not None
        size = sum(weight.nbytes for weight in graph.state_dict().values())
        RemoveUnusedNodesPass()(program.model)  # onnxruntime warns of what a scan leaves behind
        program.save(str(path), external_data=size > one_file)
    onnx.checker.check_model(str(path), full_check=True)


def _write_tokenizer(folder: Path, model: Model, *, cut: bool) -> None:
    """As transformers has it, filled up to the longest text of a batch, and cut where the graph does not cut."""
    write_tokenizer(folder, model.tokenizer, model.text.max_len)
    path = folder / "tokenizer.json"
    inner = tokenizers.Tokenizer.from_file(str(path))
    (pad,) = model.tokenizer.tokens([model.tokenizer.pad])
    inner.enable_padding(pad_id=model.tokenizer.pad, pad_token=pad)
    if cut:
        passage = model.task is not None and model.task.kind == "span"  # a question is never cut before it
        inner.enable_truncation(
            model.text.max_len,
            strategy="only_second" if passage else "longest_first",
            direction="left" if model.text.keep == "last" else "right",
        )
    write_atomic(path, inner.to_str(pretty=True))


def _compared(model: Model, folder: Path) -> tuple[float, Arrays]:
    """The largest difference of any output, over its own largest value where that is above 1; and what was found."""
    read = _examples(model)
    pairs = None if read[0].pair is None else [example.pair or "" for example in read]
    expected, found = _expected(model, read), run_folder(folder, [example.text for example in read], pairs)
    if expected.keys() != found.keys():
        raise ValueError(f"the file gives {sorted(found)} and the model {sorted(expected)}")
    gaps = []
    for name, right in expected.items():
        theirs = found[name][~np.isnan(right)] if name in PER_TOKEN else found[name]
        right = right[~np.isnan(right)] if name in PER_TOKEN else right
        finite = np.isfinite(right)
        if not np.array_equal(right[~finite], theirs[~finite]):  # -inf where no answer can be
            return math.inf, found
        gaps.append(float(np.abs(right - theirs)[finite].max() / np.abs(right[finite]).max(initial=1)))
    return max(gaps), found


def run_folder(folder: Path, texts: Sequence[str], pairs: Sequence[str] | None = None) -> Arrays:
    """What an exported folder says of texts, by onnxruntime and tokenizers."""
    import onnxruntime

    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.encode_special_tokens = True
    encoded = tokenizer.encode_batch(list(texts) if pairs is None else list(zip(texts, pairs, strict=True)))
    fed = {
        "input_ids": np.array([one.ids for one in encoded], dtype=np.int64),
        "attention_mask": np.array([one.attention_mask for one in encoded], dtype=np.int64),
        "token_type_ids": np.array([one.type_ids for one in encoded], dtype=np.int64),
    }
    session = onnxruntime.InferenceSession(str(folder / FILE), providers=["CPUExecutionProvider"])
    wanted = [one.name for one in session.get_inputs()]
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(None, {name: fed[name] for name in wanted}), strict=True))


def _examples(model: Model) -> list[Example]:
    """What both read: texts, pairs of them, or questions and passages, as the model's task has it."""
    task = model.task
    if task is None or task.pair is None:
        return [Example(text, words=tuple(text.split())) for text in TEXTS]
    return [Example(*both) for both in (QUESTIONS if task.kind == "span" else PAIRS)]


@torch.inference_mode()
def _expected(model: Model, read: Sequence[Example]) -> Arrays:
    """What the model itself says, by the names of the outputs; nan for padding, of which nothing is said."""
    padded = model.text.model_copy(update={"layout": "padded"})
    source = encode_examples(read, model.task or PLAIN, model.tokenizer, padded, labelled=False)
    batch = source.build(np.arange(len(read)))
    network = model.network if model.task is not None else Network(model.network.encoder, Sentences())
    predicted, state = network.eval()(batch)
    found = {name: values.cpu().numpy() for name, values in {**_named(state), **predicted}.items()}
    for name in PER_TOKEN & found.keys():
        found[name][(batch.owner == 0).numpy()] = np.nan
    return found


def _named(state: State) -> dict[str, torch.Tensor]:
    vector = state.vector
    if isinstance(state, Posterior):
        return {"mean": vector, "log_var": state.log_var}
    if isinstance(state, Bond):
        return {"state": vector, "log_scale": state.log_scale}
    return {"state_re": vector.real, "state_im": vector.imag} if vector.is_complex() else {"state": vector}


def _about(model: Model, graph: Graph, found: Arrays, gap: float) -> dict[str, Any]:
    task = model.task
    return {
        "format": FORMAT,
        "psitext": __version__,
        "family": model.encoder.config.family,
        "opset": OPSET,
        "inputs": {name: ["batch", "length"] for name in graph.inputs},
        "outputs": {name: _axes(name, values) for name, values in found.items()},
        "max_len": model.text.max_len,
        "task": None if task is None else task.kind,
        "labels": [] if task is None else list(task.labels),
        "temperature": model.temperature,
        "largest_difference": gap,
        "tolerance": FLOAT32_GAP,
    }


def _axes(name: str, values: npt.NDArray[Any]) -> list[str | int]:
    if name in PER_TOKEN:
        return ["batch", "length", values.shape[-1]]
    return ["batch", *values.shape[1:]]


@contextmanager
def _quietly() -> Iterator[None]:
    """Without what torch says of packages that nobody asked for, and of its own plans."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
