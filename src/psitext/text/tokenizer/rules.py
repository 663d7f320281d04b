"""The rules around a vocabulary: BERT's own, and what every tokenizer here has in common."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from psitext.errors import UserError

SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
NEEDED = f"an encoder needs {', '.join(SPECIAL.values())}"


def pieces(vocabulary: dict[str, int]) -> models.WordPiece:
    """BERT's WordPiece: the longest token that fits, again and again; a word over 100 letters is [UNK]."""
    return models.WordPiece(vocabulary, unk_token=SPECIAL["unk"], max_input_chars_per_word=100)


def framed(backend: Backend, *before: Any) -> Backend:
    """Declare the special tokens, and the frame [CLS] text [SEP] for libraries that add it while encoding."""
    backend.add_special_tokens(list(SPECIAL.values()))
    template = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, backend.token_to_id(name)) for name in (SPECIAL["cls"], SPECIAL["sep"])],
    )
    backend.post_processor = processors.Sequence([*before, template]) if before else template
    return backend


def bert(file: Path, lowercase: bool | None) -> Backend:
    """BERT's own tokenizer over a ``vocab.txt``: line n, from 0, has id n; of equal lines the last counts."""
    lines = read(file).replace("\r\n", "\n").removesuffix("\n").split("\n")  # splitlines() cuts at U+2028 too
    vocabulary = {token: at for at, token in enumerate(lines)}
    lacking = [name for name in SPECIAL.values() if name not in vocabulary]
    if lacking:
        raise UserError(f"{file} lacks {', '.join(lacking)}; {NEEDED}")
    beside = file.parent / "tokenizer_config.json"
    try:
        config = dict(json.loads(read(beside))) if beside.is_file() else {}
    except ValueError as error:
        raise UserError(f"{beside} is not valid JSON: {error}") from None
    if lowercase is None:
        capitals = any(token != token.lower() for token in vocabulary if token[:1] != "[")
        lowercase = bool(config.get("do_lower_case", not capitals))
    backend = Backend(pieces(vocabulary))
    backend.normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=bool(config.get("tokenize_chinese_chars", True)),
        strip_accents=config.get("strip_accents"),
        lowercase=lowercase,
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    return framed(backend)


def read(file: Path) -> str:
    """The text of a small file, or one sentence that says why not."""
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}") from None
