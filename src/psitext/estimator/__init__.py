"""scikit-learn estimators over Model: a classifier, a regressor, and a transformer of texts into states.

Training is ``experiments.finetune``'s, files are model folders; what stands here is scikit-learn's side of both.
"""

from psitext.estimator.classifier import SentenceClassifier
from psitext.estimator.regressor import SentenceRegressor
from psitext.estimator.transformer import SentenceStateTransformer

__all__ = ["SentenceClassifier", "SentenceRegressor", "SentenceStateTransformer"]
