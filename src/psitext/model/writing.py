"""Latents in, sentences out. Letters: B latents, P their width."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from psitext.errors import UserError
from psitext.heads.decoding import Decoder, DecodingHead, Writing
from psitext.randomness import torch_seed
from psitext.state import Posterior, State

if TYPE_CHECKING:
    from psitext.model.model import Model

AT_ONCE = 64  # latents decoded together; their states of all tokens are kept


def usual(model: Model) -> Writing:
    """Greedy, up to 64 tokens or as many as the decoder has positions for."""
    return Writing(max_len=min(Writing().max_len, decoder_of(model).config.max_len - 1))


def write(model: Model, latent: Posterior | Tensor | npt.NDArray[Any], how: Writing | None = None) -> list[str]:
    """Sentences from latents, as ``Model.decode`` describes."""
    tokenizer, decoder, how = model.writer, decoder_of(model), how or usual(model)
    given = latents(latent, decoder.config.latent)
    check(how, decoder.config.max_len)
    device = next(model.network.parameters()).device
    texts: list[str] = []
    model.network.eval()
    with torch.inference_mode():
        for number, some in enumerate(given.split(AT_ONCE)):
            rows = decoder.write(some.to(device), replace(how, seed=torch_seed(how.seed, "written", number)))
            texts += [tokenizer.decode(row) for row in rows.tolist()]
    return texts


def decoder_of(model: Model) -> Decoder:
    """The decoder of a model that writes."""
    head = model.network.head
    if not isinstance(head, DecodingHead):
        raise UserError(
            "this model does not write sentences; an autoencoder does (optimus-tiny, or `psitext pretrain --config "
            "optimus-mini`)"
        )
    return head.decoder


def latents(given: Any, width: int) -> Tensor:
    """(B, P) float32 latents, out of a Posterior, the mean, or a tensor or array.

    Errors: what is no array of real numbers; another width or shape; a number that is none.
    """
    raw = given.vector if isinstance(given, Posterior) else given
    try:
        found = raw if isinstance(raw, Tensor) else torch.as_tensor(np.asarray(raw))
    except (TypeError, ValueError, RuntimeError):
        found = None
    if found is None or isinstance(raw, State) or found.is_complex() or found.dtype == torch.bool:
        kind = type(given).__name__
        raise UserError(f"latents are the Posterior that encode gives or an array (B, {width}) of reals, not a {kind}")
    found = found.detach().float()
    if found.ndim != 2 or found.shape[1] != width:
        shape = tuple(found.shape)
        raise UserError(f"latents for this model are rows of {width} numbers, an array (B, {width}), not {shape}")
    if not bool(torch.isfinite(found).all()):
        raise UserError("a latent holds a number that is not finite")
    return found


def check(how: Writing, positions: int) -> None:
    """Refuse ways to write that make no sense, or that a decoder of so many positions has no room for."""
    how.check()
    if how.max_len >= positions:
        raise UserError(f"the decoder has {positions} positions, so max_len is at most {positions - 1}")
