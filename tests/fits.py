"""A run small enough to be done many times: a tiny BERT that tells good words from bad ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch

import tiny
import toys
from psitext.heads.affine import AffineConfig, SequenceHead
from psitext.score.losses import Score, classification
from psitext.text.examples import Example, Task
from psitext.text.supervised import SupervisedSource, TextConfig, encode_examples
from psitext.text.tokenizer import train as train_tokenizer
from psitext.train.loop import Hook, Outcome, Validation, fit
from psitext.train.network import Network
from psitext.train.optim import OptimConfig, build_optimizer
from psitext.train.settings import TrainConfig

TASK = Task(name="words", kind="classification", text="text", label="label", labels=("down", "up"))


@dataclass
class Bench:
    """What ``fit`` needs, made anew for every run; ``events`` is what the runs told their hooks."""

    folder: Path
    source: SupervisedSource
    events: list[dict[str, Any]] = field(default_factory=list)

    def network(self, dropout: float = 0.0) -> Network:
        torch.manual_seed(1)
        encoder = tiny.bert(seed=1, dropout=dropout, attention_dropout=dropout)
        return Network(encoder, SequenceHead(16, 2, AffineConfig(dropout=dropout)))

    def config(self, **changes: Any) -> TrainConfig:
        optim = OptimConfig(**({"lr": 1e-2} | changes.pop("optim", {})))
        asked = {"batch_sequences": 8, "precision": "fp32", "log_every": 1, "evaluate_every": 4, "checkpoint_every": 3}
        return TrainConfig(**({"steps": 10, "optim": optim} | asked | changes))

    def run(
        self,
        network: Network,
        config: TrainConfig,
        *,
        out: str = "run",
        score: Score | None = None,
        validation: Validation | None = None,
        hooks: Sequence[Hook] = (),
    ) -> Outcome:
        self.events = []
        assert config.steps is not None
        return fit(
            network,
            build_optimizer(network.encoder, network.head, config.optim),
            score or classification(),
            self.source,
            config,
            steps=config.steps,
            folder=self.folder / out,
            validation=validation,
            hooks=[lambda event: self.events.append(dict(event)), *hooks],
        )

    def curve(self, name: str = "loss", kind: str = "train") -> list[Any]:
        return [event[name] for event in self.events if event["kind"] == kind]


@cache
def source() -> SupervisedSource:
    """64 texts of two or three words; the label says whether they are good."""
    examples = [
        Example(f"{text} {'so' if index % 3 else ''}", None, label)
        for index, (text, label) in enumerate(toys.words_and_labels(64))
    ]
    tokenizer = train_tokenizer("words", (example.text for example in examples), 40)
    assert tokenizer.vocab_size <= tiny.VOCAB
    return encode_examples(examples, TASK, tokenizer, TextConfig(max_len=8))


def weights(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """A copy of all parameters, by name."""
    return {name: value.detach().clone() for name, value in module.named_parameters()}


def same(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> bool:
    """Bit for bit."""
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)
