"""A prior comes back from its file exactly, and damage shows."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from psitext.errors import UserError
from psitext.explain.latent import prior_file
from psitext.explain.latent.prior import Prior, fit_gaussian, fit_mixture, standard


def latents(count: int = 60) -> torch.Tensor:
    return torch.randn(count, 3, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    "prior",
    [standard(3), fit_gaussian(latents()), fit_mixture(latents(), (1, 2), "diagonal"), fit_mixture(latents(), (2,))],
    ids=["normal", "gaussian", "diagonal", "full"],
)
def test_law_a_round_trip_is_exact(prior: Prior, tmp_path: Path) -> None:
    path = tmp_path / "new" / "prior.safetensors"
    prior_file.write(prior, path)
    again = prior_file.read(path)
    assert all(torch.equal(getattr(prior, name), getattr(again, name)) for name in prior_file.NAMES)
    assert dict(again.facts) == dict(prior.facts)
    assert torch.equal(again.sample(5, seed=1), prior.sample(5, seed=1))
    before = path.read_bytes()
    prior_file.write(again, path)
    assert path.read_bytes() == before


def test_known_what_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "prior.safetensors"
    with pytest.raises(UserError, match=r"written as \.safetensors, not as 'prior\.pkl'"):
        prior_file.write(standard(2), tmp_path / "prior.pkl")
    with pytest.raises(UserError, match="there is no prior at"):
        prior_file.read(path)
    path.write_bytes(b"nothing")
    with pytest.raises(UserError, match="damaged, or no prior"):
        prior_file.read(path)
    save_file({"weights": torch.ones(1)}, path)
    with pytest.raises(UserError, match="damaged, or no prior"):
        prior_file.read(path)
    whole = {"weights": torch.ones(1), "means": torch.zeros(1, 2), "scales": torch.ones(1, 2)}
    header = '{"format": 1, "facts": {}}'
    save_file(whole, path, {prior_file.KEY: header.replace("1", "9")})
    with pytest.raises(UserError, match="has format 9; this psitext reads format 1"):
        prior_file.read(path)
    save_file(whole | {"means": torch.zeros(2, 2)}, path, {prior_file.KEY: header})
    with pytest.raises(UserError, match="is damaged: a mixture's weights"):
        prior_file.read(path)
    for name, value in (("weights", 0.5), ("scales", 0.0), ("means", torch.nan)):
        save_file(whole | {name: whole[name] * 0 + value}, path, {prior_file.KEY: header})
        with pytest.raises(UserError, match="those of no density"):
            prior_file.read(path)
    save_file(whole, path, {prior_file.KEY: header})
    assert prior_file.read(path).width == 2
