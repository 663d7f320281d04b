"""A model that is a recurrent arithmetic circuit, as a matrix product state: looked at, explained, made smaller.

Read in this order: ``reading`` (a model's weights as a chain, and the law of its words), ``state`` (what
``Model.to_mps`` gives), ``sentence`` (what ``Model.explain`` gives), ``smaller`` (what ``Model.compress`` gives).
"""

from psitext.model.mps.sentence import Explanation, explain
from psitext.model.mps.smaller import Smaller, compress
from psitext.model.mps.state import Mps, mps_of

__all__ = ["Mps", "Explanation", "Smaller", "mps_of", "explain", "compress"]
