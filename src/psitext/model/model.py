"""A model: an encoder, its head, its named tokenizers and its labels, in one folder.

The folder holds ``config.json`` (format version, every setting resolved), ``model.safetensors``,
``tokenizers/<name>.json``, ``card.md`` and ``checksums.json``; it loads in a fresh interpreter on another platform
and shows damage.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from psitext import __version__
from psitext.assemble import build_encoder, build_head, build_pretraining_head, encoder_config
from psitext.config import build
from psitext.encoders.bert import Bert
from psitext.errors import UserError
from psitext.explain.similarity import TokenVectors
from psitext.files import folder_atomic, sha256, write_atomic
from psitext.heads.affine import AffineConfig
from psitext.heads.pretraining import PretrainingConfig
from psitext.nn.numerics import Precision
from psitext.score import calibration, metrics
from psitext.state import SentenceState, State
from psitext.text.batches import Batch
from psitext.text.examples import Example, Task
from psitext.text.supervised import SupervisedSource, TextConfig, encode_examples
from psitext.text.tokenizer import Tokenizer
from psitext.train import checkpoint, predict
from psitext.train.network import Network

FORMAT = 1
TEXT = "text"  # the name of the tokenizer that reads a model's input
PLAIN = Task(name="text", title="Plain text", kind="regression", text="text", label="label", metrics=(), headline="")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model says of one text. Which fields are filled depends on the task's kind."""

    label: str | float  # class name, score, or the answer's text
    probability: float | None = None  # of that class, calibrated where the model is
    probabilities: Mapping[str, float] = field(default_factory=dict)
    tags: tuple[str, ...] = ()  # one a word
    span: tuple[int, int] | None = None  # characters [start, end) of the passage


class Sentences(nn.Module):
    """The head of a model that has none: no prediction, only the state."""

    def forward(self, state: object, batch: object) -> dict[str, torch.Tensor]:
        """Predict nothing."""
        return {}


@dataclass(frozen=True)
class Model:
    """Encoder, head and all that is needed to read text with them. Never changed after it is made."""

    network: Network
    tokenizers: Mapping[str, Tokenizer]
    text: TextConfig
    head: AffineConfig | PretrainingConfig | None = None
    task: Task | None = None
    temperature: float = 1.0  # divides the logits before they become probabilities
    facts: Mapping[str, Any] = field(default_factory=dict)  # recipe, scores, versions: what the card tells

    @property
    def encoder(self) -> Bert:
        """The encoder."""
        return self.network.encoder  # type: ignore[return-value]

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the input."""
        return self.tokenizers[TEXT]

    def encode(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None = None,
        *,
        tokens: bool = False,
        precision: Precision = "fp32",
        batch_tokens: int = 8_192,
    ) -> SentenceState:
        """Texts (or pairs of texts) to states: ``vector`` (B, D) float32 on the CPU, and with ``tokens`` every
        token's state.

        Errors: no texts, an empty list, something that is not a string.
        """
        source = encode_examples(_examples(texts, pairs), PLAIN, self.tokenizer, self.text, labelled=False)
        bare = Network(self.network.encoder, Sentences())
        if not tokens:
            rows = predict.run(bare, source, predict.vectors, precision=precision, batch_tokens=batch_tokens)
            return SentenceState(torch.from_numpy(np.stack(rows)))
        pieces = predict.run(bare, source, _with_tokens, precision=precision, batch_tokens=batch_tokens)
        vector = torch.from_numpy(np.stack([piece[0] for piece in pieces]))
        states = nn.utils.rnn.pad_sequence([torch.from_numpy(piece[1:]) for piece in pieces], batch_first=True)
        real = torch.arange(states.shape[1]) < torch.tensor([len(piece) - 1 for piece in pieces])[:, None]
        return SentenceState(vector, states, real)

    def token_vectors(self, sentences: Sequence[str]) -> list[TokenVectors]:
        """Every sentence's tokens with their static embeddings and their states in context, for
        ``explain.similarity``.
        """
        pieces = self.tokenizer.encode_offsets(sentences)
        state = self.encode(sentences, tokens=True)
        assert state.tokens is not None
        table = self.encoder.token.weight.detach().float().cpu().numpy()
        found = []
        for (ids, offsets), tokens in zip(pieces, state.tokens.numpy(), strict=True):
            kept = min(len(ids), self.text.max_len - 2)
            found.append(TokenVectors(offsets[:kept], table[ids[:kept]], tokens[1 : kept + 1]))
        return found

    def source(self, examples: Sequence[Example], *, labelled: bool) -> SupervisedSource:
        """Examples of this model's task as a source of batches."""
        return encode_examples(examples, self._task(), self.tokenizer, self.text, labelled=labelled)

    def predict(
        self,
        texts: Sequence[str] | Sequence[Example],
        pairs: Sequence[str] | None = None,
        *,
        precision: Precision = "fp32",
    ) -> list[Answer]:
        """One Answer for every text: a label with its probability, a score, tags, or an answer span."""
        task = self._task()
        examples = _examples(texts, pairs)
        _check_pairs(task, examples)
        source = self.source(examples, labelled=False)
        outputs = predict.run(self.network, source, predict.READERS[task.kind], precision=precision)
        return [
            self._answer(task, example, output, index, source)
            for index, (example, output) in enumerate(zip(examples, outputs, strict=True))
        ]

    def evaluate(self, examples: Sequence[Example], *, precision: Precision = "fp32") -> dict[str, float]:
        """The task's metrics on labelled examples, and ``collapsed`` = 1.0 when every prediction is the same."""
        return evaluate_network(self.network, self.source(examples, labelled=True), self._task(), precision=precision)

    def logits(self, examples: Sequence[Example], *, precision: Precision = "fp32") -> npt.NDArray[np.float32]:
        """(S, K) scores before the temperature, of a classification or regression."""
        return np.stack(
            predict.run(self.network, self.source(examples, labelled=False), predict.logits, precision=precision)
        )

    def calibrated(self, examples: Sequence[Example]) -> Model:
        """The same model with the temperature that makes its probabilities fit these examples best."""
        labels = encode_examples(examples, self._task(), self.tokenizer, self.text).label
        assert labels is not None
        return replace(self, temperature=calibration.fit_temperature(self.logits(examples), labels))

    def save(self, path: str | Path) -> Path:
        """Write the model's folder in one step; an older one there is replaced."""
        path = Path(path)
        with folder_atomic(path) as part:
            write_atomic(part / "config.json", json.dumps(self._config(), indent=2, ensure_ascii=False))
            checkpoint.write_tensors(checkpoint.tensors_of(self.network), part / checkpoint.MODEL)
            for name, tokenizer in self.tokenizers.items():
                tokenizer.save(part / "tokenizers" / f"{name}.json")
            write_atomic(part / "card.md", card(self))
            files = [file for file in sorted(part.rglob("*")) if file.is_file()]
            sums = {str(file.relative_to(part)): sha256(file) for file in files}
            write_atomic(part / checkpoint.CHECKSUMS, json.dumps(sums, indent=2))
        return path

    def _config(self) -> dict[str, Any]:
        head = self.head
        kind = "none" if head is None else "pretraining" if isinstance(head, PretrainingConfig) else "task"
        return {
            "format": FORMAT,
            "psitext": __version__,
            "encoder": self.encoder.config.tree(),
            "head": {"for": kind, "settings": None if head is None else head.tree()},
            "task": self.task.tree() if self.task else None,
            "text": self.text.tree(),
            "temperature": self.temperature,
            "facts": dict(self.facts),
        }

    def _task(self) -> Task:
        if self.task is None:
            raise UserError(
                "this model was pre-trained only and answers no task; `psitext finetune --init <it>` gives it one"
            )
        return self.task

    def _answer(
        self, task: Task, example: Example, output: npt.NDArray[Any], index: int, source: SupervisedSource
    ) -> Answer:
        if task.kind == "regression":
            return Answer(float(output[0]))
        if task.kind == "tagging":
            tags = tuple(task.labels[tag] for tag in output)
            return Answer(" ".join(tags), tags=tags + ("",) * (len(example.words) - len(tags)))
        if task.kind == "span":
            start, end = _characters(source, index, output)
            return Answer((example.pair or "")[start:end], span=(start, end))
        probs = np.exp(calibration.log_probs(output, self.temperature))
        best = int(probs.argmax())
        return Answer(task.labels[best], float(probs[best]), dict(zip(task.labels, map(float, probs), strict=True)))


def load(source: str | Path, *, pool: str | None = None) -> Model:
    """Load a model: a folder that psitext saved, a run's folder, or ``hf:<folder or hub id>``.

    ``pool`` says what the sentence vector is ("pooled", "cls", "mean"); None keeps what the model was made with.

    Errors: no such folder, one that is not a model, one whose files are damaged or of another format.
    """
    if str(source).startswith("hf:"):
        return from_hf(str(source)[3:], pool)
    path = _folder(Path(source))
    _check_whole(path)
    tree = json.loads((path / "config.json").read_text(encoding="utf-8"))
    if tree.get("format") != FORMAT:
        raise UserError(f"{path} has format {tree.get('format')}; this psitext reads format {FORMAT}")
    task = build(Task, tree["task"], str(path)) if tree["task"] else None
    encoder = build_encoder(encoder_config(tree["encoder"], str(path)))
    head, module = _head(tree["head"], task, encoder, str(path))
    network = Network(encoder, module)
    checkpoint.load_tensors(network, checkpoint.read_tensors(path / checkpoint.MODEL), str(path))
    tokenizers = {file.stem: Tokenizer.load(file) for file in sorted((path / "tokenizers").glob("*.json"))}
    text = build(TextConfig, tree["text"], str(path))
    model = Model(network.eval(), tokenizers, text, head, task, tree["temperature"], tree["facts"])
    return model if pool in (None, encoder.config.pool) else with_pool(model, str(pool))


def from_hf(source: str, pool: str | None = None) -> Model:
    """A Hugging Face BERT, by folder or hub id, as a model without a task."""
    from psitext.hf.bert import read_bert

    found = read_bert(source, pool=pool)
    encoder = build_encoder(found.config)
    checkpoint.load_tensors(encoder, found.encoder, source)
    text = TextConfig(max_len=min(found.config.max_len, 512))
    return Model(Network(encoder, Sentences()).eval(), {TEXT: found.tokenizer}, text, facts={"from": f"hf:{source}"})


def with_pool(model: Model, pool: str) -> Model:
    """The encoder of a model under another sentence vector, without a head: what read the old vector cannot read
    the new one.
    """
    old = model.encoder
    config = build(type(old.config), {**old.config.tree(), "pool": pool}, "the sentence vector")
    encoder = build_encoder(config)
    tensors = checkpoint.tensors_of(encoder) | {
        name: value
        for name, value in checkpoint.tensors_of(old).items()
        if encoder.pooler is not None or "pooler" not in name
    }
    checkpoint.load_tensors(encoder, tensors, "the encoder")
    return Model(Network(encoder, Sentences()).eval(), model.tokenizers, model.text, facts=model.facts)


def evaluate_network(
    network: nn.Module, source: SupervisedSource, task: Task, *, precision: Precision = "fp32"
) -> dict[str, float]:
    """A task's metrics of a network on a labelled source."""
    outputs = predict.run(network, source, predict.READERS[task.kind], precision=precision)
    predicted: npt.NDArray[Any]
    gold: npt.NDArray[Any]
    if task.kind == "tagging":
        assert source.tags is not None
        predicted, gold = np.concatenate(outputs), source.tags[source.tags >= 0]
    elif task.kind == "span":
        assert source.span is not None
        # Half-open ranges; an answer that truncation cut off is the empty range, which no prediction equals.
        found = np.stack(outputs)
        predicted, gold = np.add(found, (0, 1)), np.where(source.span >= 0, np.add(source.span, (0, 1)), 0)
    else:
        assert source.label is not None
        scores = np.stack(outputs)
        predicted, gold = (scores[:, 0] if task.kind == "regression" else scores.argmax(-1)), source.label
    values = metrics.evaluate(task.metrics, predicted, gold)
    return {**values, "collapsed": float(metrics.collapsed(predicted))}


def card(model: Model) -> str:
    """The model card: what it is, what it was trained on, how it scored, in Markdown."""
    config = model.encoder.config
    lines = [
        f"# {model.facts.get('name', config.family)}",
        "",
        f"A {config.family} encoder, {config.layers} layers of width {config.width}, "
        f"vocabulary {config.vocab_size}, made with psitext {__version__}.",
        "",
    ]
    if model.task:
        lines += [
            f"Task: {model.task.title} ({model.task.kind}; labels: {', '.join(model.task.labels) or 'a score'}).",
            "",
        ]
    lines += [f"- {key}: {value}" for key, value in model.facts.items() if key != "name"]
    return "\n".join(lines) + "\n"


def _examples(texts: Sequence[str] | Sequence[Example], pairs: Sequence[str] | None) -> list[Example]:
    if isinstance(texts, str):
        raise UserError("texts must be a list of strings, not one string: write [text]")
    if not len(texts):
        raise UserError("there are no texts")
    if pairs is not None and len(pairs) != len(texts):
        raise UserError(f"there are {len(texts)} texts but {len(pairs)} second texts")
    result = []
    for index, text in enumerate(texts):
        if isinstance(text, Example):
            result.append(text)
        elif isinstance(text, str):
            result.append(Example(text=text, pair=None if pairs is None else pairs[index], words=tuple(text.split())))
        else:
            raise UserError(f"text {index} is a {type(text).__name__}, not a string")
    return result


def _check_pairs(task: Task, examples: Sequence[Example]) -> None:
    wanted = task.pair is not None
    wrong = next((index for index, example in enumerate(examples) if (example.pair is not None) != wanted), None)
    if wrong is not None:
        need = "pairs of texts; give the second ones too" if wanted else "single texts, not pairs"
        raise UserError(f"text {wrong}: this model was trained on {need}")


def _characters(source: SupervisedSource, index: int, span: npt.NDArray[Any]) -> tuple[int, int]:
    ranges, shift = source.characters[index], int(source.first[index])
    return int(ranges[span[0] - shift, 0]), int(ranges[span[1] - shift, 1])


def _with_tokens(predicted: object, state: State, batch: Batch) -> list[npt.NDArray[Any]]:
    assert isinstance(state, SentenceState)
    assert state.tokens is not None
    rows, _ = batch.sequences(state.tokens.float())
    return [
        np.concatenate([vector[None], row[:length]])
        for vector, row, length in zip(
            state.vector.float().cpu().numpy(), rows.cpu().numpy(), batch.lengths.tolist(), strict=True
        )
    ]


def _head(
    tree: Mapping[str, Any], task: Task | None, encoder: Bert, origin: str
) -> tuple[AffineConfig | PretrainingConfig | None, nn.Module]:
    if tree["for"] == "task":
        assert task is not None
        affine = build(AffineConfig, tree["settings"], origin)
        return affine, build_head(task, encoder, affine)
    if tree["for"] == "pretraining":
        words = build(PretrainingConfig, tree["settings"], origin)
        return words, build_pretraining_head(encoder, words)
    return None, Sentences()


def _folder(path: Path) -> Path:
    for candidate in (path, path / "model"):
        if (candidate / "config.json").is_file() and (candidate / checkpoint.CHECKSUMS).is_file():
            return candidate
    if not path.exists():
        raise UserError(f"there is no model at {path}")
    if (path / "recipe.json").is_file():
        raise UserError(
            f"the run in {path} has not finished, so it holds no model yet; `psitext resume {path}` goes on with it"
        )
    if (path / "config.json").is_file():
        raise UserError(f"{path} is not a psitext model; a Hugging Face folder is loaded as hf:{path}")
    raise UserError(f"{path} is not a model: it has no config.json")


def _check_whole(path: Path) -> None:
    sums: dict[str, str] = json.loads((path / checkpoint.CHECKSUMS).read_text())
    for name, digest in sums.items():
        file = path / name
        if not file.is_file() or (name != "card.md" and sha256(file) != digest):
            raise UserError(f"{file} is missing or damaged: its checksum is not the one it was saved with")
