"""A tokenizer as the files that transformers' AutoTokenizer reads."""

from __future__ import annotations

import json
from pathlib import Path

import tokenizers
from tokenizers.processors import TemplateProcessing

from psitext.files import write_atomic
from psitext.text.tokenizer import Tokenizer

# The class that takes tokenizer.json as it is, in transformers 4 and 5; BertTokenizer would put its own
# normaliser first.
_CLASS = "PreTrainedTokenizerFast"


def write_tokenizer(folder: Path, tokenizer: Tokenizer, max_len: int) -> None:
    """Write tokenizer.json (which puts [CLS] and [SEP] around texts), tokenizer_config.json and
    special_tokens_map.json.

    A WordPiece vocabulary is also written as vocab.txt, one token a line.
    """
    inner = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    roles = ("cls", "sep", "pad", "unk", "mask")
    cls, sep, pad, unk, mask = tokenizer.tokens(getattr(tokenizer, role) for role in roles)
    if inner.post_processor is None:
        inner.post_processor = TemplateProcessing(
            single=f"{cls} $A {sep}",
            pair=f"{cls} $A {sep} $B:1 {sep}:1",
            special_tokens=[(cls, tokenizer.cls), (sep, tokenizer.sep)],
        )
    write_atomic(folder / "tokenizer.json", inner.to_str(pretty=True))
    named = {"cls_token": cls, "sep_token": sep, "pad_token": pad, "unk_token": unk, "mask_token": mask}
    write_atomic(folder / "special_tokens_map.json", json.dumps(named, indent=2))
    settings = {
        "tokenizer_class": _CLASS,
        "model_max_length": max_len,
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        **named,
    }
    write_atomic(folder / "tokenizer_config.json", json.dumps(settings, indent=2))
    if json.loads(inner.to_str())["model"]["type"] == "WordPiece":
        tokens = tokenizer.tokens(range(tokenizer.vocab_size))
        write_atomic(folder / "vocab.txt", "".join(f"{token}\n" for token in tokens))
