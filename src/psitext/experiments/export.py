"""Models in other libraries' forms."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from psitext.encoders.bert import Bert
from psitext.errors import UserError
from psitext.explain.mps import formats
from psitext.files import write_atomic
from psitext.heads.affine import SequenceHead
from psitext.heads.decoding import Decoder, DecodingHead, LstmConfig
from psitext.heads.pretraining import PretrainingHead
from psitext.model import Model
from psitext.model.mps import Mps
from psitext.model.mps.reading import circuit_of


def to_hf(model: Model, folder: Path) -> None:
    """A folder that ``transformers`` loads: BertModel, BertForPreTraining or BertForSequenceClassification, by the
    model's head; of a language model GPT2LMHeadModel or LlamaForCausalLM.
    """
    from psitext.hf.bert import write_bert

    if isinstance(model.network.head, DecodingHead):
        _decoder_to_hf(model, model.network.head.decoder, folder)
        return
    head, encoder = model.network.head, model.encoder
    if not isinstance(encoder, Bert):
        raise UserError(f"transformers has no {encoder.config.family}; only a BERT can be written for it")
    if model.task is not None and not isinstance(head, SequenceHead):
        raise UserError(
            f"a {model.task.kind} head cannot be written for transformers; export the run that it was fine-tuned from"
        )
    write_bert(
        folder,
        encoder,
        pretraining=head if isinstance(head, PretrainingHead) else None,
        classifier=head if isinstance(head, SequenceHead) else None,
        labels=model.task.labels if model.task else (),
        tokenizer=model.tokenizer,
    )


def _decoder_to_hf(model: Model, decoder: Decoder, folder: Path) -> None:
    """A language model. Errors: a decoder that reads a latent, for which transformers has no place; an LSTM."""
    if isinstance(decoder.config, LstmConfig):
        raise UserError("transformers has no LSTM; only a causal transformer can be written for it")
    from psitext.hf.decoders import CausalDecoder, write_decoder

    assert isinstance(decoder, CausalDecoder)
    write_decoder(folder, decoder, model.writer)


EXPORTS: dict[str, Callable[[Model, Path], None]] = {"hf": to_hf}

# Their objects are saved as pickles only, which psitext neither writes nor reads: a file holds the arrays, and these
# lines make the object of them, without psitext.
_ARRAYS = """import numpy
f = numpy.load({path!r})
a = [f[name] for name in sorted(f) if name.startswith("site_")]
"""
TENSORS: dict[str, str] = {
    "numpy": """import numpy
f = numpy.load({path!r})
""",
    "quimb": _ARRAYS
    + """import quimb.tensor
mps = quimb.tensor.MatrixProductState([a[0][0], *a[1:-1], a[-1][..., 0]], shape="lpr")
""",
    "tenpy": _ARRAYS
    + """from tenpy import MPS, LegCharge, Site
words = [Site(LegCharge.from_trivial(x.shape[1])) for x in a]
mps = MPS.from_Bflat(words, [x.transpose(1, 0, 2) for x in a], form=None, unit_cell_width=len(a))
mps.canonical_form()
""",
    "tensorkrowch": _ARRAYS
    + """import tensorkrowch, torch
mps = tensorkrowch.models.MPS(tensors=[torch.from_numpy(x) for x in (a[0][0], *a[1:-1], a[-1][..., 0])])
""",
}


def write_tensors(model: Model, state: Mps, to: str, path: Path) -> str:
    """Write a state as an .npz of arrays for one of ``TENSORS``; the lines of Python that read it there come back.

    ``numpy`` keeps equal sites one array (``formats.to_numpy``), the others have one for each word; ``log_scale`` is
    the natural logarithm of a factor that is left out, mostly 0. In the metric of word vectors the file holds these,
    too: ``word_vectors`` (V, p), a constant 1 the last of p, and the ``vocabulary`` (V,). ``formats.from_numpy`` reads
    all of them. Errors: a state of one word for another library than numpy.
    """
    arrays: dict[str, npt.NDArray[Any]] = state.to_numpy() if to == "numpy" else formats.to_numpy(state.sites())
    if state.metric == "paper":
        vectors = circuit_of(model).vectors.numpy()
        arrays["word_vectors"] = np.concatenate([vectors, np.ones((len(vectors), 1))], axis=1)
        arrays["vocabulary"] = np.array(model.tokenizer.tokens(range(len(vectors))))
    memory = io.BytesIO()
    np.savez(memory, allow_pickle=False, **arrays)
    write_atomic(path, memory.getvalue())
    return TENSORS[to].format(path=str(path))
