"""config.json both ways: what one side cannot express is refused, with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

import tiny
from psitext.errors import UserError
from psitext.heads.affine import AffineConfig, SequenceHead
from psitext.heads.pretraining import PretrainingConfig, PretrainingHead
from psitext.hf.bert import read_bert, write_bert
from psitext.text.tokenizer import Tokenizer
from theirs import Make, change


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"model_type": "roberta"}, "a model of type 'roberta', not a BERT"),
        ({"hidden_act": "gelu_new"}, "hidden_act to 'gelu_new'; psitext's BERT has gelu and relu only"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type to 'relative_key'"),
        ({"is_decoder": True}, "describes a decoder"),
        ({"hidden_size": 32}, r"'embeddings.word_embeddings.weight' does not fit .* \(50, 16\), not \(50"),
        ({"num_hidden_layers": 3}, r"lacks 'encoder.layer.2.attention.self.query.weight' \(16 of its"),
        ({"num_hidden_layers": 1}, r"holds 'encoder.layer.1.* a BERT of 1 layers has no place \(16 in all"),
        ({"num_attention_heads": 3}, "a width of 16 cannot be shared over 3 heads"),
        ({"num_attention_heads": 0}, "sets heads to 0"),
        ({"hidden_dropout_prob": 1.0}, "sets dropout to 1.0"),
        ({"hidden_size": "wide"}, "config.json sets width to 'wide'"),
        ({"tie_word_embeddings": False}, "lacks 'cls.predictions.decoder.weight'"),
    ],
)  # fmt: skip
def test_known_settings_that_are_refused(theirs: Make, settings: dict[str, object], sentence: str) -> None:
    folder, _ = theirs()
    change(folder / "config.json", **settings)
    with pytest.raises(UserError, match=sentence):
        read_bert(str(folder))


def test_known_what_transformers_cannot_express_is_refused(tmp_path: Path, tokenizer: Tokenizer) -> None:
    classifier = SequenceHead(16, 2, AffineConfig())
    plain, mean = tiny.bert(), tiny.bert(pool="mean")
    head = PretrainingHead(mean, PretrainingConfig())
    out = tmp_path / "out"
    with pytest.raises(UserError, match="always normalises its embeddings"):
        write_bert(out, tiny.bert(embedding_norm=False), tokenizer=tokenizer)
    with pytest.raises(UserError, match=r"BertForSequenceClassification reads the pooled .* pool = 'mean'"):
        write_bert(out, mean, classifier=classifier, tokenizer=tokenizer)
    with pytest.raises(UserError, match="BertForPreTraining reads the pooled"):
        write_bert(out, mean, pretraining=head, tokenizer=tokenizer)
    with pytest.raises(UserError, match="write two folders"):
        write_bert(out, plain, pretraining=head, classifier=classifier, tokenizer=tokenizer)
    for labels in (["one"], ["same", "same"]):
        with pytest.raises(UserError, match="takes 2 different labels"):
            write_bert(out, plain, classifier=classifier, labels=labels, tokenizer=tokenizer)
    with pytest.raises(UserError, match="15 tokens, the model only 14"):
        write_bert(out, tiny.bert(vocab_size=14), tokenizer=tokenizer)
    assert list(tmp_path.iterdir()) == []
    out.mkdir()
    (out / "thesis.tex").write_text("mine")
    with pytest.raises(UserError, match="not empty; name a new folder"):
        write_bert(out, plain, tokenizer=tokenizer)
    assert [path.name for path in out.iterdir()] == ["thesis.tex"]
