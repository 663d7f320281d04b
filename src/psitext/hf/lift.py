"""Lift: any real BERT becomes a complex encoder that computes the same function.

Two ways. "zero-imaginary" keeps the width D: every weight is the real part of a complex one whose imaginary part is 0,
and so are all states; training moves them off the axis. It has twice the parameters. "widely-linear" reads D reals as
D / 2 complex numbers: a real map becomes U z + W conj(z), which is exactly as general as the real one (Picinbono and
Chevalier 1995), and the norms go on acting on the D reals. It has the parameters and the cost of the real one, and
half the qubits' worth of amplitudes.

Both keep the query and output projections, score by the real part and normalise [CLS] like the other tokens, since
any of the paper's restrictions would make another function. The state becomes a ket where a head asks for one.

Letters: D width of the BERT, n = D / 2 complex, F its hidden width, H heads, E = D / H.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from psitext.encoders.bert import Bert, BertConfig
from psitext.encoders.qbert import CvbertConfig, Qbert, QbertConfig
from psitext.errors import UserError

How = Literal["zero-imaginary", "widely-linear"]
FAMILIES: Mapping[str, type[QbertConfig] | type[CvbertConfig]] = {"qbert": QbertConfig, "cvbert": CvbertConfig}


def lift(encoder: Bert, into: str = "qbert", how: How = "zero-imaginary") -> Qbert:
    """A complex encoder whose states are those of ``encoder``: [CLS] (not its pooler's tanh) or the mean token.

    Zero-imaginary, its vector is the real one, D wide; widely-linear, it is ``pairs`` of it, D / 2 wide, and
    ``to_real`` gives the real one back. Both to rounding. Errors: an odd width of a head, where pairs are asked for.
    """
    config = lifted_config(encoder.config, into, how)
    with torch.device("meta"):
        made = Qbert(config)
    tensors = {name: value.detach() for name, value in encoder.state_dict().items() if not name.startswith("pooler.")}
    lifted = _zero_imaginary(tensors) if how == "zero-imaginary" else _widely(tensors, encoder.config)
    made.load_state_dict(lifted, assign=True)
    return made.train(encoder.training)


def lifted_config(config: BertConfig, into: str = "qbert", how: How = "zero-imaginary") -> QbertConfig | CvbertConfig:
    """The settings of the complex encoder."""
    halves = how == "widely-linear"
    if halves and (config.width // config.heads % 2 or config.hidden % 2):
        raise UserError(
            f"{config.width} reals in {config.heads} heads (hidden {config.hidden}) cannot be paired into complex "
            "numbers; lift with 'zero-imaginary'"
        )
    same = ("vocab_size", "layers", "heads", "max_len", "segments", "activation", "embedding_norm", "norm_eps")
    kept: dict[str, Any] = {name: getattr(config, name) for name in (*same, "dropout", "attention_dropout")}
    return FAMILIES[into](
        **kept,
        width=config.width // 2 if halves else config.width,
        hidden=config.hidden // 2 if halves else config.hidden,
        pool="mean" if config.pool == "mean" else "cls",
        first="layer",
        score="real",
        queries=True,
        outputs=True,
        linear="widely-linear" if halves else "complex",
    )


def _zero_imaginary(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    parts = {f"{name}_re": value.clone() for name, value in tensors.items()}
    return parts | {f"{name}_im": torch.zeros_like(value) for name, value in tensors.items()}


def _widely(tensors: Mapping[str, Tensor], config: BertConfig) -> dict[str, Tensor]:
    """States and the hidden layer are paired in halves; queries, keys and values in halves of each head, so that heads
    stay apart. A score is divided by the root of E / 2 complex places, not of E real ones: queries make up for it.
    """
    lifted: dict[str, Tensor] = {}
    by_head = _by_head(config)
    for name, value in tensors.items():
        if ".attention.qkv." in name:
            queries, rest = value[: config.width] * 0.5**0.5, value[config.width :]
            value = torch.cat([queries, rest])[torch.cat([by_head + part * config.width for part in range(3)])]
            value = value.unflatten(0, (3, 2, -1)).transpose(0, 1).flatten(0, 2)  # re of q, k, v; im of them
        elif name.endswith(".attention.out.weight"):
            value = value[:, by_head]
        owner, _, kind = name.rpartition(".")
        is_map = ".attention." in name or owner.endswith((".up", ".down"))
        if kind == "weight" and is_map:
            lifted |= _wide_weights(owner, value)
        else:
            re, im = value.chunk(2, dim=-1)
            lifted |= {f"{name}_re": re.clone(), f"{name}_im": im.clone()}
    return lifted


def _by_head(config: BertConfig) -> Tensor:
    """(D,) the order in which the first half of every head comes before the second half of every head."""
    return torch.arange(config.width).view(config.heads, 2, -1).transpose(0, 1).flatten()


def _wide_weights(owner: str, matrix: Tensor) -> dict[str, Tensor]:
    """U and W of U z + W conj(z) from the real (2 F, 2 D) matrix on (re, im): with its quarters [[a, b], [c, d]],
    U = (a + d) / 2 + i (c - b) / 2 and W = (a - d) / 2 + i (c + b) / 2.
    """
    (a, b), (c, d) = (half.chunk(2, dim=1) for half in matrix.chunk(2))
    return {
        f"{owner}.weight_re": (a + d) / 2,
        f"{owner}.weight_im": (c - b) / 2,
        f"{owner}.conjugate_re": (a - d) / 2,
        f"{owner}.conjugate_im": (c + b) / 2,
    }
