"""Which parameters one update takes together: the halves of complex weights, what decays, what learns at which rate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.optim import AdamW, Optimizer

from psitext.train.optim.cadamw import CAdamW
from psitext.train.optim.settings import OptimConfig

RE, IM = "_re", "_im"  # how the names of the halves of a complex parameter end

Named = Iterable[tuple[str, nn.Parameter]]


@dataclass(frozen=True, slots=True)
class Paired:
    """Trainable parameters, each once: complex ones as (real part, imaginary part), and real ones."""

    complex: list[tuple[nn.Parameter, nn.Parameter]]
    real: list[nn.Parameter]


def build_optimizer(encoder: nn.Module, head: nn.Module, config: OptimConfig) -> Optimizer:
    """The optimiser over the trainable parameters: matrices decay, biases and norms do not, a shared parameter counts
    as the encoder's.
    """
    own = {id(p) for p in encoder.parameters()}
    rest = ((name, p) for name, p in head.named_parameters(remove_duplicate=False) if id(p) not in own)
    groups = [
        *_groups(pair(encoder.named_parameters(remove_duplicate=False)), config.lr, config.weight_decay),
        *_groups(pair(rest), config.lr * config.head_lr, config.weight_decay),
    ]
    betas = (config.beta1, config.beta2)
    if config.kind == "adamw" or (config.kind == "auto" and not any(group["pairs"] for group in groups)):
        # The fused kernel is several times faster than the loop on a CPU as well as on a GPU.
        return AdamW(groups, betas=betas, eps=config.eps, fused=True)
    return CAdamW(groups, betas=betas, eps=config.eps, paper=config.kind == "cadamw-paper")


def pair(named: Named) -> Paired:
    """Find ``x_re`` and ``x_im`` by their names. A half whose other half is frozen is trained as a real parameter.

    Errors: ValueError for a half without the other, of another shape, or tied to something that the other is not.
    """
    found = dict(named)
    paired = Paired([], [])
    seen: dict[int, nn.Parameter | None] = {}  # a parameter's other half, by the parameter's id
    for name, parameter in found.items():
        other = _other(name, found)
        if id(parameter) in seen:
            if seen[id(parameter)] is not other:
                raise ValueError(f"{name} is tied to another parameter, but its other half is not tied to that one's")
            continue
        seen[id(parameter)] = other
        if not parameter.requires_grad:
            continue
        if other is None or not other.requires_grad:
            paired.real.append(parameter)
        elif name.endswith(RE):
            paired.complex.append((parameter, other))
    return paired


def _other(name: str, found: dict[str, nn.Parameter]) -> nn.Parameter | None:
    """The other half of a complex parameter; None for a real one."""
    for end, other_end in ((RE, IM), (IM, RE)):
        if name.endswith(end):
            wanted = name.removesuffix(end) + other_end
            other = found.get(wanted)
            if other is None or other.shape != found[name].shape:
                shape = tuple(found[name].shape)
                raise ValueError(f"{name} {shape} is half of a complex parameter and needs {wanted} of the same shape")
            return other
    return None


def _groups(paired: Paired, lr: float, decay: float) -> Iterator[dict[str, Any]]:
    for rate, decays in ((decay, True), (0.0, False)):
        halves = [half for both in paired.complex if (both[0].ndim > 1) == decays for half in both]
        real = [p for p in paired.real if (p.ndim > 1) == decays]
        if halves or real:
            pairs = len(halves) // 2
            yield {"params": halves + real, "pairs": pairs, "lr": lr, "peak": lr, "weight_decay": rate}
