"""Running a network over a source without gradients, in the order that is fastest, with answers in the order of the
samples.

Letters: S samples, B sequences of a batch, L tokens, D width, K classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from psitext.errors import UserError
from psitext.nn.numerics import Precision, autocast
from psitext.state import Posterior, State
from psitext.text.batches import Batch, Ints, Source

Read = Callable[[dict[str, Tensor], State, Batch], list[npt.NDArray[Any]]]

# Real tokens of a batch. A processor's cache holds the activations of about a thousand (MiniLM, 384 wide: 8,192 tokens
# take 1.8 times as long as eight times 1,024, and 256 are no faster); other devices want much work at a time.
MANY = 8_192
AT_ONCE = {"cpu": 1_024}
LONGEST_ANSWER = 30  # tokens; BERT's own limit for SQuAD


def run(
    network: nn.Module,
    source: Source,
    read: Read,
    *,
    precision: Precision = "fp32",
    batch_tokens: int | None = None,
) -> list[npt.NDArray[Any]]:
    """One array for every sample, as ``read`` takes it from each batch's prediction and state.

    A batch has about ``batch_tokens`` real tokens, by default as many as suit the device. Errors: those of ``read``.
    """
    answers: list[npt.NDArray[Any] | None] = [None] * len(source.lengths(0))
    device = next(network.parameters()).device
    was_training = network.training
    network.eval()
    with torch.inference_mode(), autocast(device, precision):
        for samples in by_length(source.lengths(0), batch_tokens or AT_ONCE.get(device.type, MANY)):
            batch = source.build(samples, 0).to(device)
            predicted, state = network(batch)
            for sample, answer in zip(samples, read(predicted, state, batch), strict=True):
                answers[sample] = answer
    network.train(was_training)
    return [answer for answer in answers if answer is not None]


def by_length(lengths: Ints, batch_tokens: int) -> Iterator[Ints]:
    """Every sample once, longest first, so that the first batch shows whether memory is enough."""
    order = np.argsort(-lengths, kind="stable")
    ends = np.cumsum(lengths[order])
    first = 0
    while first < len(order):
        spent = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, spent + batch_tokens, side="right")), first + 1)
        yield order[first:last]
        first = last


def logits(predicted: dict[str, Tensor], state: State, batch: Batch) -> list[npt.NDArray[Any]]:
    """(K,) scores of every sequence, float32. Errors: UserError for scores that are not finite."""
    scores = predicted["logits"].float()
    _check(scores.isfinite().all(-1), batch)
    return list(scores.cpu().numpy())


def vectors(predicted: dict[str, Tensor], state: State, batch: Batch) -> list[npt.NDArray[Any]]:
    """(D,) the sentence vector of every sequence, float32 or complex64."""
    vector = state.vector if state.vector.is_complex() else state.vector.float()
    return list(vector.cpu().numpy())


def gaussians(predicted: dict[str, Tensor], state: State, batch: Batch) -> list[npt.NDArray[Any]]:
    """(2, P) mean and log-variance of every sequence, float32."""
    assert isinstance(state, Posterior)
    return list(torch.stack([state.vector, state.log_var], dim=1).float().cpu().numpy())


def tags(predicted: dict[str, Tensor], state: State, batch: Batch) -> list[npt.NDArray[Any]]:
    """(words,) the best tag of every word of every sequence; words cut off by the length limit are not there.

    Errors: UserError for scores that are not finite.
    """
    at = batch.targets["token_at"]
    scores = predicted["token_logits"].flatten(0, 1)[at]  # (M, K)
    owner = batch.owner.flatten()[at].long() - 1  # (M,) sequences
    lost = owner[~scores.isfinite().all(-1)]
    _check(torch.ones_like(batch.starts, dtype=torch.bool).index_fill(0, lost, False), batch)
    best, whose = scores.argmax(-1).cpu().numpy(), owner.cpu().numpy()
    return [best[whose == number] for number in range(len(batch.starts))]


def spans(predicted: dict[str, Tensor], state: State, batch: Batch) -> list[npt.NDArray[Any]]:
    """(2,) first and last token of the best answer that ends no earlier than it begins and is not too long.

    Errors: UserError for scores that are not finite, but for the -inf outside of the passage.
    """
    first, last = predicted["span_logits"].float().unbind(-1)  # (B, L) each
    _check((torch.maximum(first, last) < torch.inf).all(-1), batch)  # nan is not
    length = first.shape[1]
    allowed = torch.ones(length, length, dtype=torch.bool, device=first.device).triu().tril(LONGEST_ANSWER - 1)
    pairs = (first[:, :, None] + last[:, None, :]).masked_fill(~allowed, float("-inf")).flatten(1)
    best = pairs.argmax(-1)
    return list(torch.stack([best // length, best % length], dim=-1).cpu().numpy())


def _check(finite: Tensor, batch: Batch) -> None:
    """Refuse the answers of a batch of which one sequence's, by (B,) ``finite``, would be made of no numbers: argmax
    would name a class all the same.
    """
    if not bool(finite.all()):
        sample = int(batch.samples[int((~finite).nonzero()[0])])
        raise UserError(
            f"the answer to text {sample + 1} is no finite number: the model's training diverged, or its weights are "
            "damaged; train it again, with a lower train.optim.lr or from another seed"
        )


READERS: dict[str, Read] = {"classification": logits, "regression": logits, "tagging": tags, "span": spans}
