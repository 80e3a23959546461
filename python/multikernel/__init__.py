"""Multiple Kernel Learning: classifiers and regressors that learn from many kernels at once, with scikit-learn's interface.

>>> import multikernel as mk
>>> X, y = mk.datasets.load_sonar(return_X_y=True)
>>> clf = mk.MKLClassifier("evidence").fit(X, y)
>>> clf.weights_.shape == (len(clf.kernels_),)
True
"""

from . import datasets, plot
from ._core import __version__
from ._data import Views, stack
from ._estimators import CombinedKernel, MKLClassifier, MKLClusterer, OnlineMKLClassifier
from ._evaluate import Evaluation, evaluate, search
from ._files import load, save
from ._info import kernels, methods, show_versions
from ._methods import *  # noqa: F403
from ._methods import __all__ as _all_methods
from ._one_class import MKLOneClass
from ._parts import Parts
from ._report import report
from ._targets import MKLRegressor, MKLSurvival, OnlineMKLRegressor, survival_target

__all__ = [
    "CombinedKernel",
    "Evaluation",
    "MKLClassifier",
    "MKLClusterer",
    "MKLOneClass",
    "MKLRegressor",
    "MKLSurvival",
    "OnlineMKLClassifier",
    "OnlineMKLRegressor",
    "Parts",
    "Views",
    "__version__",
    "datasets",
    "evaluate",
    "kernels",
    "load",
    "methods",
    "plot",
    "report",
    "save",
    "search",
    "show_versions",
    "stack",
    "survival_target",
    *_all_methods,
]
