"""CAdamW: AdamW for complex weights, each of them a pair of real parameters.

Source: Algorithm 1 of "Adapting Pre-trained Language Models for Quantum Natural Language Processing"
(arXiv 2302.13812). As printed it decays weights twice, in the gradient (line 6) and beside it (line 13); in AdamW
those are alternatives, of which the second is the point. So the second is what CAdamW does, and both is ``paper``.

A step reads and writes each number once or twice: torch's fused AdamW kernel does all of the arithmetic but one
product, on pieces that stay in a processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from psitext.nn.numerics import ADAM_EPS

PIECE = 2**17  # numbers of a tensor that are updated in one go, for each thread of a processor ...
DEVICE_PIECE = 2**24  # ... and on any other device, where a piece costs launches and scratch memory

Row = tuple[Tensor, tuple[Tensor, ...]]  # a step counter, and flat tensors of one size that are updated together
Piece = tuple[list[Tensor], list[list[Tensor]]]  # of several rows: the counters, and then tensor by tensor


class CAdamW(Optimizer):
    """AdamW whose second moment is one real number for each complex weight.

    With g the gradient dL/dRe z + i dL/dIm z, as autograd gives it in two halves, at step t:

        m <- beta1 m + (1 - beta1) g                                     line 7
        v <- beta2 v + (1 - beta2) |g|^2                                 line 9
        z <- z - lr m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) - lr weight_decay z     lines 10 to 13

    So z moves along m, by about ``lr``, and turning z and g by a phase turns the step by it. AdamW on the halves
    scales them apart: its step leans to the diagonals, is up to sqrt(2) ``lr`` long, and depends on the phase.

    A group's ``params`` begin with re, im, re, im, ... of its ``pairs`` (0 by default) complex weights; what comes
    after them is real and gets plain AdamW. A half without a gradient counts as zero; where both have none, nothing
    changes. ``state`` keeps m at both halves, v and t at the real one.

    ``paper``: Algorithm 1 as printed. Line 6 adds lambda z to the gradient as well, and line 13 subtracts
    eta lambda z, where eta is the schedule's multiplier, lr over its ``peak``: lambda = ``weight_decay`` is not
    multiplied by the learning rate there.
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]],
        lr: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = ADAM_EPS,
        weight_decay: float = 0.01,
        paper: bool = False,
    ) -> None:
        if not (0 <= betas[0] < 1 and 0 < betas[1] < 1):
            raise ValueError(f"betas must lie between 0 and 1, not {betas}")
        # ``fused`` tells torch to load step counters to where the kernel wants them.
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "paper": paper, "fused": True}
        super().__init__(params, {**defaults, "pairs": 0})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters. Errors: ValueError for complex tensors and for halves that do not match."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        group.setdefault("peak", group["lr"])
        parameters, pairs = group["params"], group["pairs"]
        if any(p.is_complex() for p in parameters):
            raise ValueError("CAdamW takes a complex parameter as two real ones")
        if len(parameters) < 2 * pairs:
            raise ValueError(f"{pairs} pairs are {2 * pairs} parameters, but there are {len(parameters)}")
        for re, im in _couples(group):
            if re.shape != im.shape or re.dtype != im.dtype:
                raise ValueError(
                    f"halves of a complex parameter differ: {re.dtype} {tuple(re.shape)}, {im.dtype} {tuple(im.shape)}"
                )

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have gradients; returns what ``closure`` does, which may compute them first."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for found, update in ((self._complex_rows(group), _update_complex), (self._real_rows(group), _update_real)):
                rows = list(found)
                if rows:
                    torch._foreach_add_([step for step, _ in rows], 1)
                for piece in _pieces(rows):
                    update(piece, group)
        return loss

    def _complex_rows(self, group: dict[str, Any]) -> Iterator[Row]:
        """(re, im, g_re, g_im, m_re, m_im, v) of every pair with a gradient."""
        for re, im in _couples(group):
            if re.grad is None and im.grad is None:
                continue
            state, other = self._state(re), self.state[im]
            if not other:
                other["exp_avg"] = torch.zeros_like(im)
            slopes = [torch.zeros_like(half) if half.grad is None else half.grad.contiguous() for half in (re, im)]
            tensors = (re, im, *slopes, state["exp_avg"], other["exp_avg"], state["exp_avg_sq"])
            yield state["step"], tuple(map(_flat, tensors))

    def _real_rows(self, group: dict[str, Any]) -> Iterator[Row]:
        """(x, g, m, v) of every real parameter with a gradient."""
        for x in group["params"][2 * group["pairs"] :]:
            if x.grad is not None:
                state = self._state(x)
                tensors = (x, x.grad.contiguous(), state["exp_avg"], state["exp_avg_sq"])
                yield state["step"], tuple(map(_flat, tensors))

    def _state(self, parameter: Tensor) -> dict[str, Any]:
        state: dict[str, Any] = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)  # the kernel's dtype
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
        return state


def _update_complex(piece: Piece, group: dict[str, Any]) -> None:
    steps, (re, im, g_re, g_im, m_re, m_im, v) = piece
    if group["paper"]:
        g_re, g_im = _with_decay(g_re, re, group), _with_decay(g_im, im, group)
    beta2 = group["betas"][1]
    # Of this the kernel makes beta2 v + (1 - beta2) (g_re^2 + g_im^2), and moves the real parts by it.
    torch._foreach_addcmul_(v, g_im, g_im, (1 - beta2) / beta2)
    _adamw(re, g_re, m_re, v, [], steps, group)
    # The imaginary parts have the same v. The kernel takes it for the largest second moment so far (AMSGrad), by
    # which it divides: (1 - beta2) g_im^2 alone, which it makes of zeros, never exceeds it.
    _adamw(im, g_im, m_im, [torch.zeros_like(x) for x in v], v, steps, group)


def _update_real(piece: Piece, group: dict[str, Any]) -> None:
    steps, (x, g, m, v) = piece
    _adamw(x, _with_decay(g, x, group) if group["paper"] else g, m, v, [], steps, group)


def _adamw(
    x: list[Tensor],
    g: list[Tensor],
    m: list[Tensor],
    v: list[Tensor],
    largest: list[Tensor],
    steps: list[Tensor],
    group: dict[str, Any],
) -> None:
    """torch's kernel: m, v and ``largest`` become those of this step, x moves."""
    decay = group["weight_decay"] / group["peak"] if group["paper"] else group["weight_decay"]
    torch._fused_adamw_(
        x,
        g,
        m,
        v,
        largest,
        steps,
        lr=group["lr"],
        beta1=group["betas"][0],
        beta2=group["betas"][1],
        weight_decay=decay,  # times lr
        eps=group["eps"],
        amsgrad=bool(largest),
        maximize=False,
    )


def _with_decay(g: list[Tensor], x: list[Tensor], group: dict[str, Any]) -> list[Tensor]:
    """Line 6: g + lambda x."""
    return list(torch._foreach_add(g, x, alpha=group["weight_decay"]))


def _couples(group: dict[str, Any]) -> Iterator[tuple[Tensor, Tensor]]:
    halves = group["params"][: 2 * group["pairs"]]
    return zip(halves[::2], halves[1::2], strict=True)


def _pieces(rows: Iterable[Row]) -> Iterator[Piece]:
    """Cut large rows and bundle small ones of one device and dtype, so that a piece is neither too large nor tiny."""
    bundle: list[Row] = []
    size = 0
    for step, tensors in rows:
        most = PIECE * torch.get_num_threads() if tensors[0].device.type == "cpu" else DEVICE_PIECE
        for cut in zip(*(tensor.split(most) for tensor in tensors), strict=True):
            kind = (cut[0].device, cut[0].dtype)
            if bundle and (size + cut[0].numel() > most or kind != (bundle[0][1][0].device, bundle[0][1][0].dtype)):
                yield _stacked(bundle)
                bundle, size = [], 0
            bundle.append((step, cut))
            size += cut[0].numel()
    if bundle:
        yield _stacked(bundle)


def _stacked(bundle: list[Row]) -> Piece:
    return [step for step, _ in bundle], [list(column) for column in zip(*(row for _, row in bundle), strict=True)]


def _flat(tensor: Tensor) -> Tensor:
    """A tensor as a vector: of a sharded one, which is told by what it can do, this process's part."""
    local: Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return local.view(-1)
