"""Which tokens begin, end and fill up a written sentence, and the files that say so.

Three places are asked, in this order: the files that Hugging Face's libraries put beside a ``tokenizer.json``; the
file itself, whose frame and padding hold them where psitext wrote it; and the usual names among its special tokens.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, pre_tokenizers, processors

from psitext.errors import UserError
from psitext.text.lines import lines
from psitext.text.rows import MAX_DOCUMENT

Named: TypeAlias = dict[str, list[str | int]]  # tokens or ids for a role, the best first

OWN = {"pad": "<PAD>", "bos": "<BOS>", "eos": "<EOS>", "unk": "<UNK>"}  # in the order of their ids
BESIDE = ("tokenizer_config.json", "special_tokens_map.json", "generation_config.json", "config.json")
GPT2 = ("vocab.json", "merges.txt")
_USUAL = {
    "pad": ("<PAD>", "<pad>", "[PAD]"),
    "bos": ("<BOS>", "<s>", "<bos>", "<|begin_of_text|>", "<|startoftext|>", "<|endoftext|>"),
    "eos": ("<EOS>", "</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>"),
}
_ADVICE = 'name one as "eos_token" in a tokenizer_config.json beside it'


class Roles(NamedTuple):
    """The ids of the tokens that a decoder needs; ``unk`` is None where nothing is unknown."""

    bos: int
    eos: int
    pad: int
    unk: int | None


def roles(backend: Backend, tree: Mapping[str, Any], beside: Named, origin: str) -> Roles:
    """The roles in a vocabulary; a missing bos or pad is the eos. Error: no eos.

    ``tree`` is the backend as a ``tokenizer.json``. A name that the vocabulary lacks counts as none.
    """
    vocabulary = backend.get_vocab(with_added_tokens=True)
    special = {token.content for token in backend.get_added_tokens_decoder().values() if token.special}
    framed, taken = _framed(tree), set(vocabulary.values())
    found: dict[str, int] = {}
    for role, usual in _USUAL.items():
        wanted = [*beside.get(role, ()), *framed.get(role, ()), *(name for name in usual if name in special)]
        ids = [name if isinstance(name, int) else vocabulary.get(name, -1) for name in wanted]
        if known := [at for at in ids if at in taken]:
            found[role] = known[0]
    if "eos" not in found:
        raise UserError(f"{origin} has no token that ends a text, which a decoder needs; {_ADVICE}")
    eos = found["eos"]
    bos, pad = found.get("bos", eos), found.get("pad", eos)
    unk = _unknown(tree["model"], vocabulary)
    # GPT-2 names its end of text as unknown, for a case that bytes never meet; no text may give that one.
    return Roles(bos, eos, pad, None if unk in (bos, eos, pad) else unk)


def _unknown(model: Mapping[str, Any], vocabulary: Mapping[str, int]) -> int | None:
    if model.get("unk_id") is not None:  # Unigram's
        return int(model["unk_id"])
    return None if model.get("unk_token") is None else vocabulary.get(model["unk_token"])


def frame(backend: Backend, found: Roles) -> None:
    """Write the roles into a backend, as its post-processor and padding, for what reads its ``tokenizer.json``."""
    begin, end = backend.id_to_token(found.bos), backend.id_to_token(found.eos)
    backend.post_processor = processors.TemplateProcessing(
        single=[begin, "$A", end], special_tokens=list({begin: found.bos, end: found.eos}.items())
    )
    backend.enable_padding(pad_id=found.pad, pad_token=backend.id_to_token(found.pad))


def _framed(tree: Mapping[str, Any]) -> Named:
    """Roles that a tokenizer.json itself holds: what stands before and behind a text, and what fills it up."""
    found: Named = {}
    if tree.get("padding"):
        found["pad"] = [tree["padding"]["pad_token"]]
    for template in _templates(tree.get("post_processor") or {}):
        parts = template["single"]
        text = next(at for at, part in enumerate(parts) if "Sequence" in part)
        found["bos"] = [part["SpecialToken"]["id"] for part in parts[:text]][:1]
        found["eos"] = [part["SpecialToken"]["id"] for part in parts[text + 1 :]][-1:]
    return found


def _templates(processor: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if processor.get("type") == "TemplateProcessing":
        yield processor
    for inner in processor.get("processors", ()):
        yield from _templates(inner)


def beside(file: Path) -> Named:
    """Roles by the files beside a ``tokenizer.json``: a token, or an id (of several the first)."""
    found: Named = {"bos": [], "eos": [], "pad": []}
    for path in (file.with_name(name) for name in BESIDE):
        tree = _json(path) if path.is_file() else {}
        for role, names in found.items():
            for value in (tree.get(f"{role}_token"), tree.get(f"{role}_token_id")):
                one = value[0] if isinstance(value, list) and value else value
                name = one.get("content") if isinstance(one, dict) else one
                if isinstance(name, str) or (isinstance(name, int) and name >= 0):
                    names.append(name)
    return found


def gpt2(vocabulary: Path, merges: Path) -> Backend:
    """GPT-2's own tokenizer, with ``<PAD>``, ``<BOS>`` and ``<EOS>`` as the ids behind its vocabulary.

    A text gets a space before it, so that its first word is spelled as it is inside a text (Radford et al. 2019; Li
    et al. 2020). Errors: files that are broken, or do not belong together.
    """
    tokens = _json(vocabulary)
    if not tokens or not all(isinstance(at, int) for at in tokens.values()):
        raise UserError(f"{vocabulary} is no vocabulary, a JSON object of tokens and their ids")
    pairs = [_pair(merges, number, line) for number, line in lines(merges) if line and not line.startswith("#version")]
    try:
        backend = Backend(models.BPE(vocab=tokens, merges=pairs))
    except Exception as error:  # the Rust library raises nothing narrower
        raise UserError(f"{merges} does not belong to {vocabulary}: {error}") from None
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([OWN[role] for role in ("pad", "bos", "eos")])
    return backend


def _pair(merges: Path, number: int, line: str) -> tuple[str, str]:
    first, _, second = line.partition(" ")
    if not first or not second or " " in second:
        raise UserError(f"{merges} line {number} must be two tokens with a space between them, not {line!r}")
    return first, second


def _json(path: Path) -> dict[str, Any]:
    try:
        tree = json.loads(content(path))
    except ValueError as error:
        raise UserError(f"{path} is not valid JSON: {error}") from None
    if not isinstance(tree, dict):
        raise UserError(f"{path} must be a JSON object, {{...}}")
    return tree


def content(path: Path) -> str:
    """The text of a file, decompressed if its name ends in .gz or .zst."""
    return "\n".join(line for _, line in lines(path, MAX_DOCUMENT))


def either(folder: Path, names: Sequence[str]) -> list[Path] | None:
    """Files of these names in a folder, each as it is or as .gz; None unless all are there."""
    found = [[path for end in ("", ".gz") if (path := folder / (name + end)).is_file()] for name in names]
    return [paths[0] for paths in found] if all(found) else None
