"""Ways to put a latent into a decoder, compared by their learning curves (Li et al. 2020, appendix B.1).

The paper compares the memory, the embedding and both by the reconstruction error per word over epochs. Here the curve
is of held-out sentences, in nats per sentence, which are the same for all three.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SHOWN = ("rec", "kl", "token_accuracy", "active_units", "latent_gap")  # of an evaluation; nats are per sentence


def curve(events: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    """What held-out sentences cost, with the steps and the tokens trained on until then."""
    points, tokens = [], 0
    for event in events:
        tokens = event.get("tokens", tokens)
        if event["kind"] == "dev":
            shown = {name.replace("_", " "): float(event[name]) for name in SHOWN if name in event}
            points.append({"step": float(event["step"]), "tokens": float(tokens), **shown})
    return points
