"""Ways from one latent to another, as points on them.

Linear: z_tau = (1 - tau) z_1 + tau z_2 (Li et al. 2020, table 3). Spherical: the direction goes along the great circle
between both directions at constant speed (Shoemake 1985), the norm linearly, so a path between latents of one norm
stays where latents of that norm are, while the middle of a straight line is nearer to the origin than most latents.
All is computed in double and given back in the dtype that came in. Letters: P latent numbers, N latents, S shares.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor

from psitext.errors import UserError, near
from psitext.nn.numerics import OPPOSITE, norm, unit

Course = Literal["linear", "spherical"]


def shares(steps: int) -> Tensor:
    """(steps + 1,) tau = 0, 1 / steps ... 1 in double. Errors: fewer than one step."""
    if steps < 1:
        raise UserError(f"a path takes at least one step, not {steps}")
    return torch.arange(steps + 1, dtype=torch.float64) / steps


def linear(start: Tensor, end: Tensor, tau: Tensor) -> Tensor:
    """(S, P) points at shares ``tau`` (S,) of the straight line between latents (P,); its ends are theirs exactly."""
    a, b, share = _wide(start, end, tau)
    return ((1 - share) * a + share * b).to(start.dtype)


def spherical(start: Tensor, end: Tensor, tau: Tensor) -> Tensor:
    """(S, P) points at shares ``tau`` (S,) of the arc between latents (P,); its ends are theirs exactly.

    Where one of them is the origin, which has no direction, the arc is the straight line. Errors: opposite directions,
    between which no arc is the shortest.
    """
    a, b, share = _wide(start, end, tau)
    if not (bool(a.any()) and bool(b.any())):
        return linear(start, end, tau)
    first, last = _direction(a), _direction(b)
    if float(norm(first + last)) < OPPOSITE:
        raise UserError("two latents have opposite directions, so no arc between them is the shortest; go linearly")
    # Half the angle by its tangent, which is exact for small and for large angles alike.
    angle = 2 * torch.atan2(norm(last - first), norm(last + first))
    directions = _share_of_arc(1 - share, angle) * first + _share_of_arc(share, angle) * last
    found = ((1 - share) * norm(a) + share * norm(b)) * unit(directions)
    return torch.where(share == 0, a, torch.where(share == 1, b, found)).to(start.dtype)


def through(points: Tensor, steps: int, how: Course = "linear") -> tuple[Tensor, Tensor]:
    """A path through all of (N, P) latents in their order: ((N - 1) steps + 1, P) points and as many places in double,
    from 0 to N - 1, at whose integers the latents themselves stand, each once.

    Errors: fewer than two latents, fewer than one step; those of the course.
    """
    if len(points) < 2:
        raise UserError(f"a path leads from one sentence to another, so it takes two at least, not {len(points)}")
    if how not in COURSES:
        raise UserError(f"a path is one of {', '.join(COURSES)}, not {how!r}{near(how, COURSES)}")
    course, tau = COURSES[how], shares(steps)
    legs = [course(start, end, tau[:-1]) for start, end in pairwise(points)]
    places = [tau[:-1] + number for number in range(len(legs))]
    return torch.cat([*legs, points[-1:]]), torch.cat([*places, tau.new_tensor([len(legs)])])


COURSES = {"linear": linear, "spherical": spherical}


def _wide(start: Tensor, end: Tensor, tau: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Both ends as rows and the shares as a column, in double."""
    if start.ndim != 1 or start.shape != end.shape:
        raise ValueError(f"a path leads between latents (P,), not {tuple(start.shape)} and {tuple(end.shape)}")
    return start.double()[None], end.double()[None], tau.double()[:, None]


def _direction(latent: Tensor) -> Tensor:
    """Unit vector of a latent that is not 0, however small it is."""
    return unit(latent / latent.abs().max())


def _share_of_arc(share: Tensor, angle: Tensor) -> Tensor:
    """sin(share angle) / sin(angle); at no angle its limit, the share."""
    return share * torch.sinc(share * angle / torch.pi) / torch.sinc(angle / torch.pi)
