"""Names to objects, in tables that can be read; and what fits what.

Looking a name up comes first, building after, so an error inside a constructor is never reported as an unknown name.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from psitext.baselines.lstm import LstmDecoder, LstmPosterior, LstmPosteriorConfig
from psitext.baselines.recurrent import Recurrent, RecurrentConfig, Vectors, VectorsConfig
from psitext.config import build, named_by_keys
from psitext.encoders.automaton import Automaton, AutomatonConfig
from psitext.encoders.bert import Bert, BertConfig
from psitext.encoders.qbert import CvbertConfig, Qbert, QbertConfig
from psitext.encoders.qcls import Qcls, QclsConfig
from psitext.encoders.rac import Rac, RacConfig
from psitext.encoders.vae import Nothing, NothingConfig, Vae, VaeConfig
from psitext.errors import UserError, near
from psitext.heads.affine import AffineConfig, SequenceHead, SpanHead, TokenHead
from psitext.heads.complex_pretraining import ComplexPretrainingHead
from psitext.heads.decoding import CausalConfig, Decoder, DecoderConfig, LstmConfig
from psitext.heads.measurement import MeasurementConfig, MeasurementHead
from psitext.heads.modulus import ModulusConfig, ModulusHead
from psitext.heads.pretraining import PretrainingConfig, PretrainingHead
from psitext.score import losses
from psitext.score.losses import Score
from psitext.text.examples import Task

M = TypeVar("M", bound=nn.Module)

Encoder = Bert | Qbert | Qcls | Rac | Automaton | Recurrent | Vectors | Vae | LstmPosterior
EncoderConfig = Annotated[
    BertConfig
    | QbertConfig
    | CvbertConfig
    | QclsConfig
    | RacConfig
    | AutomatonConfig
    | RecurrentConfig
    | VectorsConfig
    | VaeConfig
    | LstmPosteriorConfig,
    Field(discriminator="family"),
    named_by_keys(BertConfig),
]
# What a sentence space is made by: an encoder with a posterior, or none in a language model.
SpaceEncoder = Vae | LstmPosterior | Nothing
SpaceConfig = Annotated[
    VaeConfig | LstmPosteriorConfig | NothingConfig,
    Field(discriminator="family"),
    named_by_keys(VaeConfig, LstmPosteriorConfig),
]
HeadConfig = Annotated[
    AffineConfig | MeasurementConfig | ModulusConfig,
    Field(discriminator="kind"),
    named_by_keys(AffineConfig, MeasurementConfig, ModulusConfig),
]

ENCODERS: dict[str, tuple[type[EncoderConfig], Callable[[Any], Encoder]]] = {
    "bert": (BertConfig, Bert),
    "qbert": (QbertConfig, Qbert),
    "cvbert": (CvbertConfig, Qbert),
    "qcls": (QclsConfig, Qcls),
    "rac": (RacConfig, Rac),
    "automaton": (AutomatonConfig, Automaton),
    "recurrent": (RecurrentConfig, Recurrent),
    "vectors": (VectorsConfig, Vectors),
    "vae": (VaeConfig, Vae),
    "lstm-vae": (LstmPosteriorConfig, LstmPosterior),
}
HAVE_TOKENS = ("bert", "qbert", "cvbert")  # families whose states keep those of tokens, in their context
# What reads a whole text, over states of an encoder's width, as so many numbers.
HEADS: dict[str, tuple[type[HeadConfig], Callable[[EncoderConfig, int, Any], nn.Module]]] = {
    "affine": (AffineConfig, lambda shape, outputs, config: SequenceHead(shape.real_width, outputs, config)),
    "measurement": (MeasurementConfig, lambda shape, outputs, config: MeasurementHead(shape.width, outputs, config)),
    "modulus": (ModulusConfig, lambda shape, outputs, config: ModulusHead(shape.width, outputs, config)),
}
USUAL_HEADS: dict[str, HeadConfig] = {
    "bert": AffineConfig(),
    "qbert": MeasurementConfig(),
    "cvbert": ModulusConfig(),
    "qcls": MeasurementConfig(),
    "rac": AffineConfig(),
    "automaton": AffineConfig(),
    "recurrent": AffineConfig(),
    "vectors": AffineConfig(),
    "vae": AffineConfig(),
    "lstm-vae": AffineConfig(),
}
# What writes sentences from a latent.
DECODERS: dict[str, tuple[type[DecoderConfig], Callable[[Any], Decoder]]] = {
    "causal": (CausalConfig, lambda config: _causal(config)),
    "lstm": (LstmConfig, LstmDecoder),
}
# What a task's kind needs: a head over the states of such an encoder, and the loss that judges it.
TASK_HEADS: dict[str, Callable[[EncoderConfig, Task, HeadConfig], nn.Module]] = {
    "classification": lambda shape, task, config: HEADS[config.kind][1](shape, len(task.labels), config),
    "regression": lambda shape, task, config: HEADS[config.kind][1](shape, 1, config),
    "tagging": lambda shape, task, config: TokenHead(shape.real_width, len(task.labels), _affine(task, config)),
    "span": lambda shape, task, config: SpanHead(shape.real_width, _affine(task, config)),
}
TASK_SCORES: dict[str, Callable[[Tensor | None], Score]] = {
    "classification": losses.classification,
    "regression": lambda weights: losses.regression(),
    "tagging": lambda weights: losses.tagging(),
    "span": lambda weights: losses.span(),
}
READ_TOKENS = ("tagging", "span")  # kinds of tasks whose heads read the states of tokens


def encoder_config(tree: Mapping[str, Any], origin: str) -> EncoderConfig:
    """Check the settings of an encoder of whatever family they name."""
    family = _known(tree.get("family", "bert"), ENCODERS, f"{origin} names no known family")
    return build(ENCODERS[family][0], tree, f"the encoder of {origin}")


def space_config(tree: Mapping[str, Any], origin: str) -> SpaceConfig:
    """Check the settings of the encoder of a sentence space, or of none."""
    if tree.get("family") == "nothing":
        return build(NothingConfig, tree, f"the encoder of {origin}")
    config = encoder_config(tree, origin)
    if not isinstance(config, VaeConfig | LstmPosteriorConfig):
        raise UserError(f"{origin} names a {config.family} encoder, which has no posterior; 'vae' and 'lstm-vae' have")
    return config


def decoder_config(tree: Mapping[str, Any], origin: str) -> DecoderConfig:
    """Check the settings of a decoder of whatever kind they name."""
    kind = _known(tree.get("kind", "causal"), DECODERS, f"{origin} names no known kind of decoder")
    return build(DECODERS[kind][0], tree, f"the decoder of {origin}")


def head_config(tree: Mapping[str, Any], origin: str) -> HeadConfig:
    """Check the settings of a task's head of whatever kind they name."""
    kind = _known(tree.get("kind", "affine"), HEADS, f"{origin} names no known kind of head")
    return build(HEADS[kind][0], tree, f"the head of {origin}")


def build_encoder(config: EncoderConfig, seed: int = 0) -> Encoder:
    """A freshly initialised encoder; the seed alone decides its weights."""
    return _seeded(lambda: ENCODERS[config.family][1](config), seed)


def build_space(config: SpaceConfig, seed: int = 0) -> SpaceEncoder:
    """The freshly initialised encoder of a sentence space."""
    if isinstance(config, NothingConfig):
        return Nothing(config)
    encoder = build_encoder(config, seed)
    assert isinstance(encoder, Vae | LstmPosterior)
    return encoder


def build_decoder(config: DecoderConfig, seed: int = 0) -> Decoder:
    """A freshly initialised decoder. Errors: transformers missing, where its classes are asked for."""
    return _seeded(lambda: DECODERS[config.kind][1](config), seed + 1)


def usual_head(shape: EncoderConfig, task: Task) -> HeadConfig:
    """The head that a recipe gets which names none: the paper's own for a family, affine where tokens are read."""
    if task.kind in READ_TOKENS:
        return AffineConfig()
    return USUAL_HEADS[shape.family]


def build_head(task: Task, encoder: Encoder, config: HeadConfig, seed: int = 0) -> nn.Module:
    """A fresh head for a task, as wide as the encoder's states.

    Errors: a head that cannot read what the task is about; an encoder without states of tokens, where they are read.
    """
    if task.kind in READ_TOKENS and encoder.config.family not in HAVE_TOKENS:
        raise UserError(
            f"a {encoder.config.family} encoder has no states of tokens, which a task of kind {task.kind} reads"
        )
    return _seeded(lambda: TASK_HEADS[task.kind](encoder.config, task, config), seed + 1)


def build_pretraining_head(
    encoder: Encoder, config: PretrainingConfig, seed: int = 0
) -> PretrainingHead | ComplexPretrainingHead:
    """Fresh pre-training heads; a tied decoder shares the encoder's token embedding."""
    if not isinstance(encoder, Bert | Qbert):
        family = encoder.config.family
        raise UserError(f"a {family} encoder has no states of tokens, so there are no masked words to train it on")
    if config.next_sentence and encoder.config.pool == "mean":
        pools = "'pooled' or 'cls'" if isinstance(encoder, Bert) else "'cls'"
        raise UserError(
            f"next-sentence prediction reads [CLS]; set encoder.pool to {pools}, or samples.pairs to 'none'"
        )
    if isinstance(encoder, Qbert):
        return _seeded(lambda: ComplexPretrainingHead(encoder, config), seed + 1)
    return _seeded(lambda: PretrainingHead(encoder, config), seed + 1)


def task_score(task: Task, class_weights: Tensor | None = None) -> Score:
    """The loss of a task."""
    return TASK_SCORES[task.kind](class_weights)


def balanced_weights(labels: np.ndarray[Any, Any], classes: int) -> Tensor:
    """(K,) weights n / (K n_k), under which every class counts the same; a class that never occurs gets 1."""
    counts = np.bincount(labels, minlength=classes)
    weights = np.where(counts > 0, len(labels) / (classes * np.maximum(counts, 1)), 1.0)
    return torch.tensor(weights, dtype=torch.float32)


def _known(name: Any, table: Mapping[str, object], wrong: str) -> str:
    """A name that the table has."""
    if str(name) not in table:
        raise UserError(f"{wrong} {name!r}{near(str(name), table) or '; there are: ' + ', '.join(table)}")
    return str(name)


def _causal(config: CausalConfig) -> Decoder:
    """transformers' own class, which takes seconds to load."""
    from psitext.hf.decoders import CausalDecoder

    return CausalDecoder(config)


def _affine(task: Task, config: HeadConfig) -> AffineConfig:
    """The settings of a head that reads tokens, which is an affine one."""
    if not isinstance(config, AffineConfig):
        raise UserError(
            f"a {config.kind} head reads one vector a text, no tokens; a task of kind {task.kind} takes an affine head"
        )
    return config


def _memory() -> float:
    """Bytes of memory that the machine has; infinity where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return math.inf


FILLS = ("normal_", "uniform_", "trunc_normal_", "xavier_uniform_", "kaiming_uniform_", "orthogonal_")


class _Shapes(TorchFunctionMode):
    """Weights are made and not drawn. To draw on the device "meta" loads torch's compiler, which takes as long as all
    the rest of loading a small model.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in FILLS:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


def _seeded(make: Callable[[], M], seed: int) -> M:
    """Build under a seed of its own; the caller's random state is left as it was. Errors: no memory for its weights."""
    try:
        with torch.random.fork_rng(devices=[]):
            with torch.device("meta"), _Shapes():  # a system that lends more memory than it has would kill us later
                size = sum(weight.numel() * weight.element_size() for weight in make().parameters())
            if size > _memory():
                raise MemoryError
            torch.manual_seed(seed)
            return make()
    except (MemoryError, RuntimeError) as error:
        # torch has no type of its own for it on a processor, where it is either the allocator or an overflow.
        if not isinstance(error, MemoryError) and not any(word in str(error) for word in ("alloc", "overflow")):
            raise
        raise UserError("an encoder of these sizes does not fit into memory; choose a smaller one") from None
