"""A rival trained for as long as it may take: a number of steps, or minutes that a measured beginning makes steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from torch import Tensor

from psitext.baselines.control import Arae, AraeConfig, CtrlGen, CtrlGenConfig
from psitext.errors import UserError
from psitext.experiments.control.control import number_of
from psitext.experiments.control.rivals.arae import AraeGame
from psitext.experiments.control.rivals.ctrl_gen import CtrlGenGame
from psitext.experiments.control.rivals.rows import Rows, rows_of
from psitext.heads.decoding import LstmConfig, Writing
from psitext.randomness import torch_seed
from psitext.text.examples import Example
from psitext.text.tokenizer.causal import CausalTokenizer
from psitext.train.adversarial import Player, Turn, play
from psitext.train.network import parameter_count

WARM = 6  # steps that are measured; the first of them is not counted
Tell = Callable[[int, Mapping[str, float]], None]


@dataclass(frozen=True, slots=True)
class Rival:
    """A trained rival: labels in, sentences out."""

    network: CtrlGen | Arae
    labels: tuple[str, ...]
    writer: CausalTokenizer
    steps: int
    sentences: int  # it learnt from
    losses: Mapping[str, float]  # of its players, at the end

    def write(self, label: str, n: int, how: Writing | None = None, *, seed: int = 0) -> list[str]:
        """``n`` sentences with a label, greedy or as ``how`` says; fewer are the first of these."""
        how = how or Writing(max_len=self.network.decoder.config.max_len - 1)
        rows = self.network.write(number_of(label, self.labels), n, how, seed)
        return [self.writer.decode(row) for row in rows.tolist()]

    @property
    def facts(self) -> dict[str, float]:
        """What a reader of results must know."""
        sizes = {"parameters": parameter_count(self.network), "decoder": parameter_count(self.network.decoder)}
        return {**sizes, "steps": self.steps, "sentences": self.sentences, **self.losses}


def train_rival(
    config: CtrlGenConfig | AraeConfig,
    examples: Sequence[Example],
    labels: Sequence[str],
    writer: CausalTokenizer,
    seed: int = 0,
    tell: Tell = lambda step, losses: None,
) -> Rival:
    """Train a rival from nothing; the same examples, settings, seed and number of steps give the same one.

    Errors: neither steps nor minutes, or both; a label without a sentence.
    """
    if (config.steps is None) == (config.minutes is None):
        raise UserError(f"{config.kind} is trained for a number of steps or of minutes; set one of the two")
    rows, _ = rows_of(examples, labels, writer, config.max_tokens)

    def fresh() -> tuple[CtrlGen | Arae, list[Player]]:
        return _built(config, len(labels), writer, rows, seed)

    steps = config.steps or _steps(fresh()[1], config.minutes or 0.0, seed)
    network, players = fresh()
    losses = play(players, steps, seed, tell)
    return Rival(network.requires_grad_(False).eval(), tuple(labels), writer, steps, len(rows), losses)


def _built(
    config: CtrlGenConfig | AraeConfig, labels: int, writer: CausalTokenizer, rows: Rows, seed: int
) -> tuple[CtrlGen | Arae, list[Player]]:
    writes = LstmConfig(
        vocab_size=writer.vocab_size, bos=writer.bos, eos=writer.eos, pad=writer.pad, max_len=config.max_tokens + 1
    )
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(torch_seed(seed, "weights of a rival"))
        if isinstance(config, CtrlGenConfig):
            generator = CtrlGen(config, labels, writes)
            return generator, CtrlGenGame(generator, config, rows).players()
        network = Arae(config, labels, writes)
        return network, AraeGame(network, config, rows).players()


def _steps(players: Sequence[Player], minutes: float, seed: int) -> int:
    """How many steps fit, by the time of a few of them; ``players`` are spent on it."""
    late = max((one.begins for one in players), default=0.0)
    early = _seconds([one for one in players if not one.begins], seed)
    if not late:
        return max(round(60 * minutes / early), 1)
    # A game that is over at once is one in which everything happens: the last steps of a long one.
    whole = _seconds([replace(one, begins=0.0) for one in players], seed, last=True)
    return max(round(60 * minutes / (late * early + (1 - late) * whole)), 1)


def _seconds(players: Sequence[Player], seed: int, last: bool = False) -> float:
    """Seconds of one step, the median of a few; ``last``: of steps at the end of a game."""
    if last:
        players = [replace(one, loss=_at_the_end(one)) for one in players]
    ended: list[float] = []
    play(players, WARM, seed, lambda step, losses: ended.append(time.perf_counter()))
    spent = sorted(second - first for first, second in pairwise(ended))
    return spent[len(spent) // 2]


def _at_the_end(player: Player) -> Callable[[Turn], Tensor]:
    def loss(turn: Turn) -> Tensor:
        return player.loss(replace(turn, step=turn.steps - 1))

    return loss
