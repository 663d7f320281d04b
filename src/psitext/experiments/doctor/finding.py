"""One thing that was looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Part = Literal["installed", "usable", "machine"]


@dataclass(frozen=True, slots=True)
class Finding:
    """``advice`` is empty where nothing is to be done; ``broken`` is True of what is there and does not work."""

    part: Part
    what: str
    found: str
    advice: str = ""
    broken: bool = False
