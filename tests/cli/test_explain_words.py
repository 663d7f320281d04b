"""What ``psitext explain text`` says of probabilities beside log-odds."""

from __future__ import annotations

from dataclasses import replace

import pytest

import racs
from psitext.cli.explain.words import _tell


@pytest.mark.parametrize(("classes", "what"), [(2, "log-odds"), (3, "logits")])
def test_known_calibrated_probabilities_are_told_from_what_is_before(
    classes: int, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model = replace(racs.model(classes=classes), temperature=0.5)
    found = model.explain("not a fine film")
    value = float(found.logits[found.shown])
    _tell(found, found.shown)
    told = capsys.readouterr().out
    assert f"those of {what} divided by the temperature 0.5 ({value:.4f} / 0.5 = {2 * value:.4f})" in told
    _tell(replace(found, temperature=1.0), found.shown)
    assert "calibrated" not in capsys.readouterr().out
