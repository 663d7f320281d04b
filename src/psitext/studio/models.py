"""The models on offer: what each is good for is read from its settings, and it is loaded when somebody uses it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psitext.encoders.rac import RacConfig
from psitext.encoders.vae import NothingConfig
from psitext.errors import UserError, near
from psitext.heads.affine import AffineConfig
from psitext.heads.decoding import WritingConfig
from psitext.heads.measurement import MeasurementConfig
from psitext.model import Model, load
from psitext.model.loading import HF, Described, described, with_pool
from psitext.model.shipped import located

STATES, MEASUREMENT, CIRCUITS, WRITING, NEIGHBOURS = TABS = (
    "states",
    "measurement",
    "circuits",
    "writing",
    "neighbours",
)


@dataclass(frozen=True, slots=True)
class Offer:
    """A model by the name that it is loaded by, and the tabs that it fits."""

    name: str
    tabs: frozenset[str]
    read: str | None = None  # what it was trained on, where its facts say so


class Shelf:
    """Models on offer in their order, each loaded once, when it is first asked for."""

    def __init__(self, offers: Sequence[Offer]) -> None:
        self.offers = tuple(offers)
        self._loaded: dict[str, Model] = {}
        self._compared: dict[str, Model] = {}

    def names(self, tab: str) -> list[str]:
        """The models that fit a tab."""
        return [offer.name for offer in self.offers if tab in offer.tabs]

    def read(self, tab: str) -> list[str]:
        """A sentence for each model that fits a tab and says what it was trained on."""
        fitting = (offer for offer in self.offers if tab in offer.tabs and offer.read)
        return [f"{one.name} has read {one.read}; it writes like that, and little else." for one in fitting]

    def model(self, name: object, tab: str) -> Model:
        """A model for a tab, for neighbours the ``comparing`` one. Errors: none of that name there; as ``load``."""
        known = self.names(tab)
        if not isinstance(name, str) or name not in known:
            raise UserError(f"no model called {str(name)[:80]!r} on this tab{near(str(name)[:80], known)}")
        if name not in self._loaded:
            self._loaded[name] = load(name)
        if tab != NEIGHBOURS:
            return self._loaded[name]
        if name not in self._compared:
            self._compared[name] = comparing(self._loaded[name])
        return self._compared[name]


def comparing(model: Model) -> Model:
    """The model whose states are compared: of a BERT that no task or sentence-transformers folder has given its
    sentence vector, the mean of the token vectors, since the vector of [CLS] has only learnt to tell the next sentence
    from another. Every other model as it is.
    """
    config = model.encoder.config.tree()
    pool = config["pool"] if config["family"] in ("bert", "qbert") else None
    untrained = pool == "pooled" or (pool == "cls" and model.head is not None)
    return with_pool(model, "mean") if model.task is None and untrained else model


def offered(names: Sequence[str], shipped: Sequence[str] = ()) -> Shelf:
    """One's own models, and after them those that come with psitext.

    Errors: as ``load`` of one's own; one that no tab can use; none at all.
    """
    own = [offer(name) for name in dict.fromkeys(names)]
    for found in own:
        if not found.tabs:
            raise UserError(f"{found.name} is a language model without a latent, and the studio has no tab for it")
    both = [*own, *(offer(name) for name in shipped if name not in names)]
    if not both:
        raise UserError("no model comes with this psitext; name one of your own with --model")
    return Shelf(both)


def offer(name: str) -> Offer:
    """What a model is good for. Errors: as ``load``."""
    if name.startswith(HF):
        model = load(name)  # a checkpoint of others has no settings of ours: a BERT that reads, or a decoder
        return Offer(name, frozenset() if model.writes else frozenset({STATES, NEIGHBOURS}))
    found = described(located(name))
    read = found.facts.get("trained on")
    return Offer(name, tabs_of(found), read if isinstance(read, str) else None)


def tabs_of(model: Described) -> frozenset[str]:
    """The tabs that a model of these settings fits."""
    encoder, head, task = model.encoder, model.head, model.task
    fits = set() if isinstance(encoder, NothingConfig) else {STATES, NEIGHBOURS}
    if isinstance(head, WritingConfig) and head.latent > 0:
        fits.add(WRITING)
    if task is not None and task.kind == "classification" and task.pair is None:
        if isinstance(head, MeasurementConfig):
            fits.add(MEASUREMENT)
        linear = isinstance(encoder, RacConfig) and encoder.layers == 1 and encoder.biases
        if linear and isinstance(head, AffineConfig):
            fits.add(CIRCUITS)
    return frozenset(fits)
