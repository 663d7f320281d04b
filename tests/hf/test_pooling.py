"""The sentence vector of sentence-transformers folders."""

from __future__ import annotations

import json

import pytest

from psitext.errors import UserError
from psitext.hf.bert import read_bert
from theirs import Make


@pytest.mark.parametrize(
    ("pooling", "pool"),
    [
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, "mean"),
        ({"pooling_mode_cls_token": True}, "cls"),
        ({"pooling_mode": "mean"}, "mean"),
        ({"pooling_mode": ["cls"]}, "cls"),
        ({"pooling_mode_max_tokens": True}, "pools by 'max_tokens'"),
        ({"pooling_mode": ["mean", "cls"]}, "pools by 'mean' and 'cls'"),
    ],
)
def test_known_pools_of_sentence_transformers(theirs: Make, pooling: dict[str, object], pool: str) -> None:
    folder, _ = theirs("folder/0_Transformer")
    top = folder.parent
    modules = [
        {"path": "0_Transformer", "type": "sentence_transformers.models.Transformer"},
        {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
    ]
    (top / "modules.json").write_text(json.dumps(modules))
    (top / "1_Pooling").mkdir()
    (top / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 16, **pooling}))
    if pool in ("mean", "cls"):
        assert read_bert(str(top)).config.pool == pool
    else:
        with pytest.raises(UserError, match=pool):
            read_bert(str(top))
    assert read_bert(str(top), pool="pooled").config.pool == "pooled"
    modules.append({"path": "3_Dense", "type": "sentence_transformers.models.Dense"})
    (top / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(UserError, match="a module 'Dense'"):
        read_bert(str(top))
    assert read_bert(str(top), pool="cls").config.pool == "cls"
