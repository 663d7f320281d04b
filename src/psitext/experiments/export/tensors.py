"""Matrix product states as arrays, with the lines of Python that make other libraries' objects of them."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from psitext.explain.mps import formats
from psitext.files import write_atomic
from psitext.model import Model
from psitext.model.mps import Mps
from psitext.model.mps.reading import circuit_of

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
norm = mps.normalize() ** 0.5  # its entropies want a state of norm 1; what was written is norm times this one
""",
    "tenpy": _ARRAYS
    + """from tenpy import MPS, LegCharge, Site
words = [Site(LegCharge.from_trivial(x.shape[1])) for x in a]
mps = MPS.from_Bflat(words, [x.transpose(1, 0, 2) for x in a], form=None, unit_cell_width=len(a))
mps.canonical_form()  # of norm 1
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
    all of them. Arrays are as the weights have them, so that their contraction is the logit; where a library takes
    states as normalised, its lines normalise. Errors: a state of one word for another library than numpy.
    """
    arrays: dict[str, npt.NDArray[Any]] = state.to_numpy() if to == "numpy" else formats.to_numpy(state.sites())
    if state.metric == "paper":
        vectors = circuit_of(model).vectors.numpy()
        arrays["word_vectors"] = np.concatenate([vectors, np.ones((len(vectors), 1))], axis=1)
        arrays["vocabulary"] = np.array(model.tokenizer.tokens(range(len(vectors))))
    written(arrays, path)
    return TENSORS[to].format(path=str(path))


def written(arrays: Mapping[str, npt.NDArray[Any]], path: Path) -> None:
    """Write an .npz file in one step."""
    memory = io.BytesIO()
    np.savez(memory, allow_pickle=False, **arrays)
    write_atomic(path, memory.getvalue())
