"""One class for each method. Written by python/tools/methods.py: do not edit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._estimators import MethodClassifier, MethodClusterer

__all__ = [
    "AlignF",
    "AverageMKL",
    "BEMKL",
    "BM3KL",
    "BSVM",
    "BankMKL",
    "BestView",
    "CIK",
    "DPM",
    "EasyMKL",
    "EvidenceMKL",
    "FHeuristic",
    "GPC",
    "KernelSVM",
    "LevelMKL",
    "LpMKL",
    "MKBoostD1",
    "MKBoostD2",
    "MKBoostS1",
    "MKBoostS2",
    "MKC",
    "MKLDA",
    "MKLR",
    "Majority",
    "Obscure",
    "SBEMKL",
    "SILP",
    "SVIMKL",
    "SimpleMKL",
    "SingleKernel",
    "UFOMKL",
]


class Majority(MethodClassifier):
    """The most frequent class, whatever the features: what every method must beat.

    The method ``majority`` of the library.

    Parameters
    ----------
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "majority"

    def __init__(
        self,
        *,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class KernelSVM(MethodClassifier):
    """SVM on one kernel.

    The method ``svm`` of the library.

    Parameters
    ----------
    c : float | str, default=10.0
        trade-off: large follows the training rows, small is smooth; auto chooses among 0.1, 1, 10, 100, 1000 (a
        number above 0, or auto)
    tol : float, default=0.001
        stop when the optimality conditions hold to this (a number above 0)
    multiclass : str, default="ovo"
        one-vs-one (a vote of class pairs) or one-vs-rest (the largest score) (one of ovo, ovr)
    class_weights : str, default="none"
        multiply c per class: none, balanced (n / (n_classes * count)), or CLASS=WEIGHT,... (none, balanced, or
        CLASS=WEIGHT,...)
    kernel : str, default="only"
        which kernel of the bank, counted from 0; `only` takes the one kernel of a bank of one (the number of a kernel
        of the bank, counted from 0, or `only`)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "svm"

    def __init__(
        self,
        *,
        c: float | str = 10.0,
        tol: float = 0.001,
        multiclass: str = "ovo",
        class_weights: str = "none",
        kernel: str = "only",
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.c = c
        self.tol = tol
        self.multiclass = multiclass
        self.class_weights = class_weights
        self.kernel = kernel
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class AverageMKL(MethodClassifier):
    """SVM on the uniform combination of all kernels: the bar every learned weighting must clear.

    The method ``average`` of the library.

    Parameters
    ----------
    c : float | str, default=10.0
        trade-off: large follows the training rows, small is smooth; auto chooses among 0.1, 1, 10, 100, 1000 (a
        number above 0, or auto)
    tol : float, default=0.001
        stop when the optimality conditions hold to this (a number above 0)
    multiclass : str, default="ovo"
        one-vs-one (a vote of class pairs) or one-vs-rest (the largest score) (one of ovo, ovr)
    class_weights : str, default="none"
        multiply c per class: none, balanced (n / (n_classes * count)), or CLASS=WEIGHT,... (none, balanced, or
        CLASS=WEIGHT,...)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "average"

    def __init__(
        self,
        *,
        c: float | str = 10.0,
        tol: float = 0.001,
        multiclass: str = "ovo",
        class_weights: str = "none",
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.c = c
        self.tol = tol
        self.multiclass = multiclass
        self.class_weights = class_weights
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class SingleKernel(MethodClassifier):
    """SVM on the one kernel that does best in inner cross-validation.

    The method ``single`` of the library.

    Parameters
    ----------
    c : float | str, default=10.0
        trade-off: large follows the training rows, small is smooth; auto chooses among 0.1, 1, 10, 100, 1000 (a
        number above 0, or auto)
    tol : float, default=0.001
        stop when the optimality conditions hold to this (a number above 0)
    multiclass : str, default="ovo"
        one-vs-one (a vote of class pairs) or one-vs-rest (the largest score) (one of ovo, ovr)
    class_weights : str, default="none"
        multiply c per class: none, balanced (n / (n_classes * count)), or CLASS=WEIGHT,... (none, balanced, or
        CLASS=WEIGHT,...)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "single"

    def __init__(
        self,
        *,
        c: float | str = 10.0,
        tol: float = 0.001,
        multiclass: str = "ovo",
        class_weights: str = "none",
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.c = c
        self.tol = tol
        self.multiclass = multiclass
        self.class_weights = class_weights
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class BestView(MethodClassifier):
    """SVM on the kernels of the one view that does best in inner cross-validation.

    The method ``bestview`` of the library.

    Parameters
    ----------
    c : float | str, default=10.0
        trade-off: large follows the training rows, small is smooth; auto chooses among 0.1, 1, 10, 100, 1000 (a
        number above 0, or auto)
    tol : float, default=0.001
        stop when the optimality conditions hold to this (a number above 0)
    multiclass : str, default="ovo"
        one-vs-one (a vote of class pairs) or one-vs-rest (the largest score) (one of ovo, ovr)
    class_weights : str, default="none"
        multiply c per class: none, balanced (n / (n_classes * count)), or CLASS=WEIGHT,... (none, balanced, or
        CLASS=WEIGHT,...)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "bestview"

    def __init__(
        self,
        *,
        c: float | str = 10.0,
        tol: float = 0.001,
        multiclass: str = "ovo",
        class_weights: str = "none",
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.c = c
        self.tol = tol
        self.multiclass = multiclass
        self.class_weights = class_weights
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class FHeuristic(MethodClassifier):
    """SVM on kernels weighed by their alignment with the classes, each on its own.

    The method ``fheuristic`` of the library.

    Parameters
    ----------
    c : float | str, default=10.0
        trade-off: large follows the training rows, small is smooth; auto chooses among 0.1, 1, 10, 100, 1000 (a
        number above 0, or auto)
    tol : float, default=0.001
        stop when the optimality conditions hold to this (a number above 0)
    multiclass : str, default="ovo"
        one-vs-one (a vote of class pairs) or one-vs-rest (the largest score) (one of ovo, ovr)
    class_weights : str, default="none"
        multiply c per class: none, balanced (n / (n_classes * count)), or CLASS=WEIGHT,... (none, balanced, or
        CLASS=WEIGHT,...)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "fheuristic"

    def __init__(
        self,
        *,
        c: float | str = 10.0,
        tol: float = 0.001,
        multiclass: str = "ovo",
        class_weights: str = "none",
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.c = c
        self.tol = tol
        self.multiclass = multiclass
        self.class_weights = class_weights
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class AlignF(MethodClassifier):
    """SVM on the combination of kernels that is best aligned with the classes.

    The method ``alignf`` of the library.

    Parameters
    ----------
    c : float | str, default=10.0
        trade-off: large follows the training rows, small is smooth; auto chooses among 0.1, 1, 10, 100, 1000 (a
        number above 0, or auto)
    tol : float, default=0.001
        stop when the optimality conditions hold to this (a number above 0)
    multiclass : str, default="ovo"
        one-vs-one (a vote of class pairs) or one-vs-rest (the largest score) (one of ovo, ovr)
    class_weights : str, default="none"
        multiply c per class: none, balanced (n / (n_classes * count)), or CLASS=WEIGHT,... (none, balanced, or
        CLASS=WEIGHT,...)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "alignf"

    def __init__(
        self,
        *,
        c: float | str = 10.0,
        tol: float = 0.001,
        multiclass: str = "ovo",
        class_weights: str = "none",
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.c = c
        self.tol = tol
        self.multiclass = multiclass
        self.class_weights = class_weights
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class EasyMKL(MethodClassifier):
    """SVM on kernels weighed by the distance of the classes under each.

    The method ``easymkl`` of the library.

    Parameters
    ----------
    c : float | str, default=10.0
        trade-off: large follows the training rows, small is smooth; auto chooses among 0.1, 1, 10, 100, 1000 (a
        number above 0, or auto)
    tol : float, default=0.001
        stop when the optimality conditions hold to this (a number above 0)
    multiclass : str, default="ovo"
        one-vs-one (a vote of class pairs) or one-vs-rest (the largest score) (one of ovo, ovr)
    class_weights : str, default="none"
        multiply c per class: none, balanced (n / (n_classes * count)), or CLASS=WEIGHT,... (none, balanced, or
        CLASS=WEIGHT,...)
    lambda_ : float | str, default=0.1
        from the nearest points of the classes (0) to their means (1); auto chooses among 0.01, 0.1, 0.5, 0.9 (a
        number from 1e-6 to 1, or auto)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "easymkl"
    _renamed = {"lambda_": "lambda"}

    def __init__(
        self,
        *,
        c: float | str = 10.0,
        tol: float = 0.001,
        multiclass: str = "ovo",
        class_weights: str = "none",
        lambda_: float | str = 0.1,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.c = c
        self.tol = tol
        self.multiclass = multiclass
        self.class_weights = class_weights
        self.lambda_ = lambda_
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class EvidenceMKL(MethodClassifier):
    """SVM on kernels weighed by the evidence of a Gaussian model: a default that needs no thought.

    The method ``evidence`` of the library.

    Parameters
    ----------
    c : float | str, default=10.0
        trade-off: large follows the training rows, small is smooth; auto chooses among 0.1, 1, 10, 100, 1000 (a
        number above 0, or auto)
    tol : float, default=0.001
        stop when the optimality conditions hold to this (a number above 0)
    multiclass : str, default="ovo"
        one-vs-one (a vote of class pairs) or one-vs-rest (the largest score) (one of ovo, ovr)
    class_weights : str, default="none"
        multiply c per class: none, balanced (n / (n_classes * count)), or CLASS=WEIGHT,... (none, balanced, or
        CLASS=WEIGHT,...)
    iterations : int, default=10
        updates of the weights; few regularise, many follow the training rows (a whole number from 1 to 10000)
    own : int, default=2
        of them, the last so many with a weight for each kernel; before, kernels of one form on column sets of about
        one size share theirs (a whole number from 0 to 10000)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "evidence"

    def __init__(
        self,
        *,
        c: float | str = 10.0,
        tol: float = 0.001,
        multiclass: str = "ovo",
        class_weights: str = "none",
        iterations: int = 10,
        own: int = 2,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.c = c
        self.tol = tol
        self.multiclass = multiclass
        self.class_weights = class_weights
        self.iterations = iterations
        self.own = own
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class SimpleMKL(MethodClassifier):
    """Sparse kernel weights that minimise the SVM's objective, by projected quasi-Newton steps.

    The method ``simplemkl`` of the library.

    Parameters
    ----------
    c : float | str, default=10.0
        trade-off: large follows the training rows, small is smooth; auto chooses among 0.1, 1, 10, 100, 1000 (a
        number above 0, or auto)
    tol : float, default=0.001
        stop when the optimality conditions hold to this (a number above 0)
    multiclass : str, default="ovo"
        one-vs-one (a vote of class pairs) or one-vs-rest (the largest score) (one of ovo, ovr)
    class_weights : str, default="none"
        multiply c per class: none, balanced (n / (n_classes * count)), or CLASS=WEIGHT,... (none, balanced, or
        CLASS=WEIGHT,...)
    sparsity : float | str, default=1.0
        share of the weights that is learned, the rest is uniform: 1 is sparse, 0 is average; auto chooses among 0,
        0.5, 0.9, 1 (a number from 0 to 1, or auto)
    gap : float, default=0.001
        stop when the duality gap of the kernel weights is at most this part of the objective (a number above 0)
    iterations : int, default=1000
        most steps of the kernel weights (a whole number from 1 to 1000000)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "simplemkl"

    def __init__(
        self,
        *,
        c: float | str = 10.0,
        tol: float = 0.001,
        multiclass: str = "ovo",
        class_weights: str = "none",
        sparsity: float | str = 1.0,
        gap: float = 0.001,
        iterations: int = 1000,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.c = c
        self.tol = tol
        self.multiclass = multiclass
        self.class_weights = class_weights
        self.sparsity = sparsity
        self.gap = gap
        self.iterations = iterations
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class SILP(MethodClassifier):
    """The problem of simplemkl by cutting planes and a linear programme.

    The method ``silp`` of the library.

    Parameters
    ----------
    c : float | str, default=10.0
        trade-off: large follows the training rows, small is smooth; auto chooses among 0.1, 1, 10, 100, 1000 (a
        number above 0, or auto)
    tol : float, default=0.001
        stop when the optimality conditions hold to this (a number above 0)
    multiclass : str, default="ovo"
        one-vs-one (a vote of class pairs) or one-vs-rest (the largest score) (one of ovo, ovr)
    class_weights : str, default="none"
        multiply c per class: none, balanced (n / (n_classes * count)), or CLASS=WEIGHT,... (none, balanced, or
        CLASS=WEIGHT,...)
    sparsity : float | str, default=1.0
        share of the weights that is learned, the rest is uniform: 1 is sparse, 0 is average; auto chooses among 0,
        0.5, 0.9, 1 (a number from 0 to 1, or auto)
    gap : float, default=0.001
        stop when the duality gap of the kernel weights is at most this part of the objective (a number above 0)
    iterations : int, default=1000
        most steps of the kernel weights (a whole number from 1 to 1000000)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "silp"

    def __init__(
        self,
        *,
        c: float | str = 10.0,
        tol: float = 0.001,
        multiclass: str = "ovo",
        class_weights: str = "none",
        sparsity: float | str = 1.0,
        gap: float = 0.001,
        iterations: int = 1000,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.c = c
        self.tol = tol
        self.multiclass = multiclass
        self.class_weights = class_weights
        self.sparsity = sparsity
        self.gap = gap
        self.iterations = iterations
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class LevelMKL(MethodClassifier):
    """The problem of simplemkl by the level method.

    The method ``level`` of the library.

    Parameters
    ----------
    c : float | str, default=10.0
        trade-off: large follows the training rows, small is smooth; auto chooses among 0.1, 1, 10, 100, 1000 (a
        number above 0, or auto)
    tol : float, default=0.001
        stop when the optimality conditions hold to this (a number above 0)
    multiclass : str, default="ovo"
        one-vs-one (a vote of class pairs) or one-vs-rest (the largest score) (one of ovo, ovr)
    class_weights : str, default="none"
        multiply c per class: none, balanced (n / (n_classes * count)), or CLASS=WEIGHT,... (none, balanced, or
        CLASS=WEIGHT,...)
    sparsity : float | str, default=1.0
        share of the weights that is learned, the rest is uniform: 1 is sparse, 0 is average; auto chooses among 0,
        0.5, 0.9, 1 (a number from 0 to 1, or auto)
    gap : float, default=0.001
        stop when the duality gap of the kernel weights is at most this part of the objective (a number above 0)
    iterations : int, default=1000
        most steps of the kernel weights (a whole number from 1 to 1000000)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "level"

    def __init__(
        self,
        *,
        c: float | str = 10.0,
        tol: float = 0.001,
        multiclass: str = "ovo",
        class_weights: str = "none",
        sparsity: float | str = 1.0,
        gap: float = 0.001,
        iterations: int = 1000,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.c = c
        self.tol = tol
        self.multiclass = multiclass
        self.class_weights = class_weights
        self.sparsity = sparsity
        self.gap = gap
        self.iterations = iterations
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class LpMKL(MethodClassifier):
    """Kernel weights under a p-norm: p = 1 sparse, p = inf uniform.

    The method ``lpmkl`` of the library.

    Parameters
    ----------
    c : float | str, default=10.0
        trade-off: large follows the training rows, small is smooth; auto chooses among 0.1, 1, 10, 100, 1000 (a
        number above 0, or auto)
    tol : float, default=0.001
        stop when the optimality conditions hold to this (a number above 0)
    multiclass : str, default="ovo"
        one-vs-one (a vote of class pairs) or one-vs-rest (the largest score) (one of ovo, ovr)
    class_weights : str, default="none"
        multiply c per class: none, balanced (n / (n_classes * count)), or CLASS=WEIGHT,... (none, balanced, or
        CLASS=WEIGHT,...)
    p : float | str, default=2.0
        norm of the kernel weights: 1 is sparse, inf uniform; auto chooses among 1, 1.25, 2, 4, inf (a number from 1
        to inf, or auto)
    gap : float, default=0.001
        stop when the duality gap of the kernel weights is at most this part of the objective (a number above 0)
    iterations : int, default=1000
        most steps of the kernel weights (a whole number from 1 to 1000000)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "lpmkl"

    def __init__(
        self,
        *,
        c: float | str = 10.0,
        tol: float = 0.001,
        multiclass: str = "ovo",
        class_weights: str = "none",
        p: float | str = 2.0,
        gap: float = 0.001,
        iterations: int = 1000,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.c = c
        self.tol = tol
        self.multiclass = multiclass
        self.class_weights = class_weights
        self.p = p
        self.gap = gap
        self.iterations = iterations
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class MKBoostD1(MethodClassifier):
    """Boosting; each trial votes with the best of one SVM per kernel.

    The method ``mkboost-d1`` of the library.

    Parameters
    ----------
    trials : int, default=100
        rounds of boosting (a whole number from 1 to 1000000)
    ratio : float, default=0.2
        rows drawn for a trial, as a share of the training rows; at least 2 are drawn (a number from 0 to 1)
    c : float | str, default=50.0
        trade-off of the SVMs: large follows the drawn rows, small is smooth; auto chooses among 0.5, 5, 50, 500 (a
        number above 0, or auto)
    tol : float, default=0.001
        an SVM is done when its optimality conditions hold to this (a number above 0)
    holdout : float, default=0.0
        share of the rows kept out of boosting; the number of trials that is best on them is kept. 0 keeps all trials
        (a number from 0 to 0.5)
    patience : int, default=20
        with holdout: stop after this many trials that did not make it better on the rows held out (a whole number
        from 1 to 1000000)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "mkboost-d1"

    def __init__(
        self,
        *,
        trials: int = 100,
        ratio: float = 0.2,
        c: float | str = 50.0,
        tol: float = 0.001,
        holdout: float = 0.0,
        patience: int = 20,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.trials = trials
        self.ratio = ratio
        self.c = c
        self.tol = tol
        self.holdout = holdout
        self.patience = patience
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class MKBoostD2(MethodClassifier):
    """Boosting; each trial votes with a weighted vote of one SVM per kernel.

    The method ``mkboost-d2`` of the library.

    Parameters
    ----------
    trials : int, default=100
        rounds of boosting (a whole number from 1 to 1000000)
    ratio : float, default=0.2
        rows drawn for a trial, as a share of the training rows; at least 2 are drawn (a number from 0 to 1)
    c : float | str, default=50.0
        trade-off of the SVMs: large follows the drawn rows, small is smooth; auto chooses among 0.5, 5, 50, 500 (a
        number above 0, or auto)
    tol : float, default=0.001
        an SVM is done when its optimality conditions hold to this (a number above 0)
    holdout : float, default=0.0
        share of the rows kept out of boosting; the number of trials that is best on them is kept. 0 keeps all trials
        (a number from 0 to 0.5)
    patience : int, default=20
        with holdout: stop after this many trials that did not make it better on the rows held out (a whole number
        from 1 to 1000000)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "mkboost-d2"

    def __init__(
        self,
        *,
        trials: int = 100,
        ratio: float = 0.2,
        c: float | str = 50.0,
        tol: float = 0.001,
        holdout: float = 0.0,
        patience: int = 20,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.trials = trials
        self.ratio = ratio
        self.c = c
        self.tol = tol
        self.holdout = holdout
        self.patience = patience
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class MKBoostS1(MethodClassifier):
    """Mkboost-d1 on drawn kernels, those that did badly less and less: about half the cost.

    The method ``mkboost-s1`` of the library.

    Parameters
    ----------
    trials : int, default=100
        rounds of boosting (a whole number from 1 to 1000000)
    ratio : float, default=0.2
        rows drawn for a trial, as a share of the training rows; at least 2 are drawn (a number from 0 to 1)
    decay : float, default=0.03125
        a kernel whose SVM has error e is drawn decay^e times as often from then on; 1 always takes all kernels (a
        number from 1e-6 to 1)
    c : float | str, default=50.0
        trade-off of the SVMs: large follows the drawn rows, small is smooth; auto chooses among 0.5, 5, 50, 500 (a
        number above 0, or auto)
    tol : float, default=0.001
        an SVM is done when its optimality conditions hold to this (a number above 0)
    holdout : float, default=0.0
        share of the rows kept out of boosting; the number of trials that is best on them is kept. 0 keeps all trials
        (a number from 0 to 0.5)
    patience : int, default=20
        with holdout: stop after this many trials that did not make it better on the rows held out (a whole number
        from 1 to 1000000)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "mkboost-s1"

    def __init__(
        self,
        *,
        trials: int = 100,
        ratio: float = 0.2,
        decay: float = 0.03125,
        c: float | str = 50.0,
        tol: float = 0.001,
        holdout: float = 0.0,
        patience: int = 20,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.trials = trials
        self.ratio = ratio
        self.decay = decay
        self.c = c
        self.tol = tol
        self.holdout = holdout
        self.patience = patience
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class MKBoostS2(MethodClassifier):
    """Mkboost-d2 on drawn kernels, those that did badly less and less: about half the cost.

    The method ``mkboost-s2`` of the library.

    Parameters
    ----------
    trials : int, default=100
        rounds of boosting (a whole number from 1 to 1000000)
    ratio : float, default=0.2
        rows drawn for a trial, as a share of the training rows; at least 2 are drawn (a number from 0 to 1)
    decay : float, default=0.03125
        a kernel whose SVM has error e is drawn decay^e times as often from then on; 1 always takes all kernels (a
        number from 1e-6 to 1)
    c : float | str, default=50.0
        trade-off of the SVMs: large follows the drawn rows, small is smooth; auto chooses among 0.5, 5, 50, 500 (a
        number above 0, or auto)
    tol : float, default=0.001
        an SVM is done when its optimality conditions hold to this (a number above 0)
    holdout : float, default=0.0
        share of the rows kept out of boosting; the number of trials that is best on them is kept. 0 keeps all trials
        (a number from 0 to 0.5)
    patience : int, default=20
        with holdout: stop after this many trials that did not make it better on the rows held out (a whole number
        from 1 to 1000000)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "mkboost-s2"

    def __init__(
        self,
        *,
        trials: int = 100,
        ratio: float = 0.2,
        decay: float = 0.03125,
        c: float | str = 50.0,
        tol: float = 0.001,
        holdout: float = 0.0,
        patience: int = 20,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.trials = trials
        self.ratio = ratio
        self.decay = decay
        self.c = c
        self.tol = tol
        self.holdout = holdout
        self.patience = patience
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class MKLDA(MethodClassifier):
    """Max-margin MKL by data augmentation: stochastic gradients, kernel weights from norms, for many rows and kernels.

    The method ``mklda`` of the library.

    Parameters
    ----------
    variant : str, default="stable"
        stable: ridges from the norms, scale fixed; published: sampled as printed; gibbs: sampled, weights rescaled
        (one of stable, published, gibbs)
    r : float, default=10.0
        stable: how far the margin outweighs the norms; a stream is learned at the raw margin epochs/r (a number above
        0)
    rho : float, default=1.0
        stable: evenness of the kernel weights (a number above 0)
    epochs : int, default=3
        passes over the rows in each loop; of a stream, see r (a whole number from 1 to 1000)
    loops : int, default=5
        times the ridges are found anew; not on streams (a whole number from 1 to 1000)
    landmarks : int, default=0
        for very many rows: points drawn at random that alone carry coefficients; 0 for none, which is exact (a whole
        number from 0 to 20000)
    replacement : bool, default=False
        whether rows are drawn with replacement, as published, instead of each once in an epoch; not on streams (one
        of no, yes)
    kappa0 : float, default=1.0
        published, gibbs: shape of the gamma prior of alpha, the ridge common to all kernels (a number from 1e-6 to
        1000000)
    theta0 : float, default=1.0
        published, gibbs: scale of the gamma prior of alpha (a number from 1e-9 to 1e9)
    mu0 : float, default=1.0
        published, gibbs: mean of the normal prior of beta, the weight of the group norm (a number from -1e9 to 1e9)
    sigma0 : float, default=1.0
        published, gibbs: standard deviation of the normal prior of beta (a number from 1e-9 to 1e9)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "mklda"

    def __init__(
        self,
        *,
        variant: str = "stable",
        r: float = 10.0,
        rho: float = 1.0,
        epochs: int = 3,
        loops: int = 5,
        landmarks: int = 0,
        replacement: bool = False,
        kappa0: float = 1.0,
        theta0: float = 1.0,
        mu0: float = 1.0,
        sigma0: float = 1.0,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.variant = variant
        self.r = r
        self.rho = rho
        self.epochs = epochs
        self.loops = loops
        self.landmarks = landmarks
        self.replacement = replacement
        self.kappa0 = kappa0
        self.theta0 = theta0
        self.mu0 = mu0
        self.sigma0 = sigma0
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class UFOMKL(MethodClassifier):
    """UFO-MKL: sparse MKL by subgradients of the group norm, one row at a time.

    The method ``ufomkl`` of the library.

    Parameters
    ----------
    c : float, default=1.0
        trade-off: lambda is 1/(c N), on a stream 1/(c t) (a number from 1e-6 to 1e9)
    alpha : float, default=0.0
        weight of the group norm: above 0, kernels drop out altogether (a number from 0 to 1000)
    epochs : int, default=5
        passes over the rows (a whole number from 1 to 1000)
    landmarks : int, default=0
        for very many rows: points drawn at random that alone carry coefficients; 0 for none, which is exact (a whole
        number from 0 to 20000)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "ufomkl"

    def __init__(
        self,
        *,
        c: float = 1.0,
        alpha: float = 0.0,
        epochs: int = 5,
        landmarks: int = 0,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.c = c
        self.alpha = alpha
        self.epochs = epochs
        self.landmarks = landmarks
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class Obscure(MethodClassifier):
    """OBSCURE: a perceptron with a margin, then subgradients of the p-norm over kernels.

    The method ``obscure`` of the library.

    Parameters
    ----------
    c : float, default=1.0
        trade-off: lambda is 1/(c N) (a number from 1e-6 to 1e9)
    p : float, default=1.0
        norm over the kernels, from sparse (1, raised to 1/(1 - 1/(2 ln P))) to even (2) (a number from 1 to 2)
    epochs : int, default=5
        passes over the rows in each stage (a whole number from 1 to 1000)
    landmarks : int, default=0
        for very many rows: points drawn at random that alone carry coefficients; 0 for none, which is exact (a whole
        number from 0 to 20000)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "obscure"

    def __init__(
        self,
        *,
        c: float = 1.0,
        p: float = 1.0,
        epochs: int = 5,
        landmarks: int = 0,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.c = c
        self.p = p
        self.epochs = epochs
        self.landmarks = landmarks
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class BM3KL(MethodClassifier):
    """Bayesian max-margin: kernel weights with intervals, by sampling.

    The method ``bm3kl`` of the library.

    Parameters
    ----------
    prior : str, default="gp"
        of the functions: gp, a Gaussian process with the combined kernel, or paper, shrinkage on each sample weight
        as published, whose chains seldom agree (one of gp, paper)
    sampler : str, default="collapsed"
        of the kernel weights: collapsed, Hamiltonian with the functions integrated out; split, the same in
        coordinates in which the prior is normal, for many kernels; slice, elliptical slice, to check them; published,
        the published step as printed, which is never refused and may diverge, an error then; paper, the same made
        stable, which never diverges (both prior=paper only) (one of collapsed, split, slice, paper, published)
    likelihood : str, default="margin"
        margin, a pseudo-likelihood that holds functions to the margin; or logit, the likelihood of labels of logistic
        regression (two classes, prior=gp), which takes no gamma0 (one of margin, logit)
    weights : str, default="learned"
        kernel weights are learned, or all the same: the control (one of learned, uniform)
    chains : int, default=4
        independent chains; from two on their agreement is checked (a whole number from 1 to 64)
    warmup : int, default=75
        sweeps of each chain that are thrown away, in which step sizes are found (a whole number from 1 to 1000000)
    draws : int, default=125
        sweeps of each chain that are kept; raise it where R-hat is above 1.01; predictions use up to 100 of all (a
        whole number from 1 to 1000000)
    leapfrog : int, default=0
        gradients per update of the kernel weights; 0 for 6, and up to 8 with many kernels; with sampler=split for 3
        (a whole number from 0 to 1000)
    gamma0 : float, default=1.0
        how hard the loss holds decisions to the margin from both sides, and with it how narrow intervals are; 0 is
        the hinge alone (published: 100 or 500) (a number from 0 to 1e9)
    tau : float, default=100.0
        prior variance of the bias (a number from 1e-9 to 1e9)
    eta : float, default=1.0
        of the Dirichlet prior of the kernel weights; below 1 for few kernels, above for even weights (a number from
        0.001 to 1000000)
    beta : float | str, default=0.1
        prior=paper: shape of the shrinkage of sample weights; auto chooses among 1, 2, 3, as published (a number from
        1e-6 to 1000000, or auto)
    kappa : float, default=1e-10
        prior=paper: rate of the shrinkage (a number from 1e-100 to 1000000)
    epsilon : float, default=0.1
        sampler=paper, sampler=published: step size (a number from 1e-9 to 1)
    decay : bool, default=False
        sampler=paper, sampler=published: whether the step size is divided by the number of the sweep (one of no, yes)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "bm3kl"

    def __init__(
        self,
        *,
        prior: str = "gp",
        sampler: str = "collapsed",
        likelihood: str = "margin",
        weights: str = "learned",
        chains: int = 4,
        warmup: int = 75,
        draws: int = 125,
        leapfrog: int = 0,
        gamma0: float = 1.0,
        tau: float = 100.0,
        eta: float = 1.0,
        beta: float | str = 0.1,
        kappa: float = 1e-10,
        epsilon: float = 0.1,
        decay: bool = False,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.prior = prior
        self.sampler = sampler
        self.likelihood = likelihood
        self.weights = weights
        self.chains = chains
        self.warmup = warmup
        self.draws = draws
        self.leapfrog = leapfrog
        self.gamma0 = gamma0
        self.tau = tau
        self.eta = eta
        self.beta = beta
        self.kappa = kappa
        self.epsilon = epsilon
        self.decay = decay
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class BEMKL(MethodClassifier):
    """Bayesian efficient MKL: Gaussian kernel weights, by variational inference; with probabilities.

    The method ``bemkl`` of the library.

    Parameters
    ----------
    iterations : int, default=200
        most rounds of updates (a whole number from 1 to 100000)
    tol : float, default=1e-05
        stop when a round raises the bound by less than this part of it; 0 goes through all iterations (a number from
        0 to 1)
    sigma : float, default=0.1
        standard deviation of the noise on each kernel's output (a number from 0.001 to 1000)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "bemkl"

    def __init__(
        self,
        *,
        iterations: int = 200,
        tol: float = 1e-05,
        sigma: float = 0.1,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.iterations = iterations
        self.tol = tol
        self.sigma = sigma
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class SBEMKL(MethodClassifier):
    """Bemkl with a prior under which the weights of useless kernels go towards zero.

    The method ``sbemkl`` of the library.

    Parameters
    ----------
    iterations : int, default=200
        most rounds of updates (a whole number from 1 to 100000)
    tol : float, default=1e-05
        stop when a round raises the bound by less than this part of it; 0 goes through all iterations (a number from
        0 to 1)
    sigma : float, default=0.1
        standard deviation of the noise on each kernel's output (a number from 0.001 to 1000)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "sbemkl"

    def __init__(
        self,
        *,
        iterations: int = 200,
        tol: float = 1e-05,
        sigma: float = 0.1,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.iterations = iterations
        self.tol = tol
        self.sigma = sigma
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class GPC(MethodClassifier):
    """Gaussian process classification (Laplace) on the kernel with the most evidence; with probabilities.

    The method ``gpc`` of the library.

    Parameters
    ----------
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "gpc"

    def __init__(
        self,
        *,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class BSVM(MethodClassifier):
    """Bayesian SVM with one Gaussian kernel, whose width and amplitude are sampled with it.

    The method ``bsvm`` of the library.

    Parameters
    ----------
    warmup : int, default=50
        sweeps before the first draw that is kept (a whole number from 0 to 1000000)
    sweeps : int, default=100
        sweeps after the warm-up (a whole number from 1 to 1000000)
    thin : int, default=2
        every so many sweeps one draw is kept for predictions; at most as many as there are sweeps (a whole number
        from 1 to 10000)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "bsvm"

    def __init__(
        self,
        *,
        warmup: int = 50,
        sweeps: int = 100,
        thin: int = 2,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.warmup = warmup
        self.sweeps = sweeps
        self.thin = thin
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class CIK(MethodClassifier):
    """Clusters of a Dirichlet-process mixture, each with a kernel machine whose kernel is learned.

    The method ``cik`` of the library.

    Parameters
    ----------
    beta : float, default=1.0
        how much the machine of a cluster has a say in who belongs to it; 0: nothing, as for dpm (a number from 0 to
        1000000)
    start : int, default=20
        clusters of k-means to start from, which are merged at once where they fit one cluster; a start from one finds
        fewer clusters and takes more sweeps (a whole number from 1 to 1000)
    sweeps : int, default=20
        how often every row is given a cluster; 0 keeps those of k-means (a whole number from 0 to 1000000)
    sampler : str, default="auto"
        collapsed: row by row, on one thread; blocked: all rows at once given drawn means and covariances; fixed:
        clusters stay those of the start; auto: collapsed up to 20,000 rows, else blocked (one of auto, collapsed,
        blocked, fixed)
    moves : int, default=40
        splits and merges of whole clusters that are tried after each sweep (a whole number from 0 to 10000)
    covariance : str, default="auto"
        shape of clusters; auto: full up to 20 columns of which most have more than two values, and at least 5 rows
        for each entry of the covariance, else diagonal (one of auto, full, diagonal)
    alpha : float, default=1.0
        concentration of the Dirichlet process: more gives more clusters (a number from 1e-6 to 1000)
    tau : float, default=0.1
        rows that the prior mean of a cluster is worth: more gives more clusters far from the middle (a number from
        1e-9 to 1e9)
    nu : float, default=0.0
        rows that the prior covariance of a cluster is worth; 0: columns + 2 (full), 20 (diagonal) (a number from 0 to
        1e9)
    spread : float, default=1.0
        prior variance within clusters relative to that of all rows: less gives more and smaller clusters (a number
        from 1e-6 to 1000000)
    likelihood : str, default="normalised"
        what a machine says of a row: exp(-beta loss) over that of all classes, or exp(-beta loss) as published (one
        of normalised, published)
    frequencies : int, default=384
        random frequencies of each machine; it has a cosine and a sine of each as features (a whole number from 1 to
        100000)
    lambda_ : float, default=0.0001
        penalty on the weights of machines, per row (a number from 0 to 1000)
    optimiser : str, default="adam"
        steps of machines: adam, sized for every parameter, or sgd, the gradient times a learning rate, as published,
        which needs rates of its own (one of adam, sgd)
    rate : float, default=0.01
        learning rate of the weights of machines (a number from 1e-12 to 1)
    kernel_rate : float, default=0.001
        learning rate of the widths of kernels; 0 leaves them at 1/sqrt(columns) (a number from 0 to 1)
    epochs : int, default=10
        passes over the rows of each cluster after the last sweep; the second half is averaged (a whole number from 1
        to 1000000)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "cik"
    _renamed = {"lambda_": "lambda"}

    def __init__(
        self,
        *,
        beta: float = 1.0,
        start: int = 20,
        sweeps: int = 20,
        sampler: str = "auto",
        moves: int = 40,
        covariance: str = "auto",
        alpha: float = 1.0,
        tau: float = 0.1,
        nu: float = 0.0,
        spread: float = 1.0,
        likelihood: str = "normalised",
        frequencies: int = 384,
        lambda_: float = 0.0001,
        optimiser: str = "adam",
        rate: float = 0.01,
        kernel_rate: float = 0.001,
        epochs: int = 10,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.beta = beta
        self.start = start
        self.sweeps = sweeps
        self.sampler = sampler
        self.moves = moves
        self.covariance = covariance
        self.alpha = alpha
        self.tau = tau
        self.nu = nu
        self.spread = spread
        self.likelihood = likelihood
        self.frequencies = frequencies
        self.lambda_ = lambda_
        self.optimiser = optimiser
        self.rate = rate
        self.kernel_rate = kernel_rate
        self.epochs = epochs
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class DPM(MethodClusterer):
    """Clusters of a Dirichlet-process mixture of Gaussians, found without labels.

    The method ``dpm`` of the library.

    Parameters
    ----------
    start : int, default=20
        clusters of k-means to start from, which are merged at once where they fit one cluster; a start from one finds
        fewer clusters and takes more sweeps (a whole number from 1 to 1000)
    sweeps : int, default=20
        how often every row is given a cluster; 0 keeps those of k-means (a whole number from 0 to 1000000)
    sampler : str, default="auto"
        collapsed: row by row, on one thread; blocked: all rows at once given drawn means and covariances; fixed:
        clusters stay those of the start; auto: collapsed up to 20,000 rows, else blocked (one of auto, collapsed,
        blocked, fixed)
    moves : int, default=40
        splits and merges of whole clusters that are tried after each sweep (a whole number from 0 to 10000)
    covariance : str, default="auto"
        shape of clusters; auto: full up to 20 columns of which most have more than two values, and at least 5 rows
        for each entry of the covariance, else diagonal (one of auto, full, diagonal)
    alpha : float, default=1.0
        concentration of the Dirichlet process: more gives more clusters (a number from 1e-6 to 1000)
    tau : float, default=0.1
        rows that the prior mean of a cluster is worth: more gives more clusters far from the middle (a number from
        1e-9 to 1e9)
    nu : float, default=0.0
        rows that the prior covariance of a cluster is worth; 0: columns + 2 (full), 20 (diagonal) (a number from 0 to
        1e9)
    spread : float, default=1.0
        prior variance within clusters relative to that of all rows: less gives more and smaller clusters (a number
        from 1e-6 to 1000000)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "dpm"

    def __init__(
        self,
        *,
        start: int = 20,
        sweeps: int = 20,
        sampler: str = "auto",
        moves: int = 40,
        covariance: str = "auto",
        alpha: float = 1.0,
        tau: float = 0.1,
        nu: float = 0.0,
        spread: float = 1.0,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.start = start
        self.sweeps = sweeps
        self.sampler = sampler
        self.moves = moves
        self.covariance = covariance
        self.alpha = alpha
        self.tau = tau
        self.nu = nu
        self.spread = spread
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class MKC(MethodClusterer):
    """Localized multiple kernel k-means: clusters under kernels that each row weighs in its own way.

    The method ``mkc`` of the library.

    Parameters
    ----------
    clusters : int, default=0
        number of clusters; 0 for as many as there are classes, and for 10 where there is one class only (a whole
        number from 0 to 200)
    rounds : int, default=100
        most rounds of updates (a whole number from 1 to 100000)
    tol : float, default=1e-05
        stop when a round lowers the objective by less than this part of what it is without clusters; 0 goes through
        all rounds (a number from 0 to 1)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "mkc"

    def __init__(
        self,
        *,
        clusters: int = 0,
        rounds: int = 100,
        tol: float = 1e-05,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.clusters = clusters
        self.rounds = rounds
        self.tol = tol
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class BankMKL(MethodClassifier):
    """Two classes by a kernel whose spectrum is a sampled mixture of Gaussians.

    The method ``bank`` of the library.

    Parameters
    ----------
    frequencies : int, default=384
        number of frequencies D: features are their cosines and sines (a whole number from 1 to 10000)
    warmup : int, default=50
        sweeps before the first draw that is kept (a whole number from 0 to 1000000)
    sweeps : int, default=100
        sweeps after the warm-up (a whole number from 1 to 1000000)
    thin : int, default=5
        every so many sweeps one draw is kept for predictions; at most as many as there are sweeps (a whole number
        from 1 to 10000)
    alpha : float, default=1.0
        concentration of the mixture of frequencies: more gives more clusters (a number above 0)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "bank"

    def __init__(
        self,
        *,
        frequencies: int = 384,
        warmup: int = 50,
        sweeps: int = 100,
        thin: int = 5,
        alpha: float = 1.0,
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.frequencies = frequencies
        self.warmup = warmup
        self.sweeps = sweeps
        self.thin = thin
        self.alpha = alpha
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class SVIMKL(MethodClassifier):
    """Kernel logistic regression, kernel weights by variational inference; with probabilities and intervals.

    The method ``svimkl`` of the library.

    Parameters
    ----------
    q : str, default="gamma"
        the distribution that stands for what is known of a kernel weight; exponential is the published one, whose
        intervals always span a factor of 146 (one of gamma, exponential, lognormal)
    lambda_ : float | str, default=0.1
        how much wiggly functions cost; auto chooses by the log-loss of held-out rows, which the bound cannot (a
        number above 0, or auto)
    delta : float, default=1.0
        rate of the prior of a kernel weight; only lambda times delta matters to what is predicted (a number from 1e-6
        to 1000000)
    shape : float, default=1.0
        shape of the gamma prior of a kernel weight; 1 is the published exponential distribution, under which a
        useless kernel stays at 1/delta; below 1, 0.1 say, it goes to shape/delta, so that kernels are selected; there
        may then be several optima (a number from 0.01 to 1000)
    nodes : int, default=32
        points at which the distributions of all kernel weights are looked at together; solver=ascent and plain draw
        so many anew for each step (published: 1) (a whole number from 1 to 4096)
    intercept : str, default="yes"
        a constant that costs nothing is added to each function; published is none, with which classes of unequal size
        suffer (one of yes, no)
    solver : str, default="lbfgs"
        lbfgs, quasi-Newton steps on fixed nodes; ascent, stochastic steps as published, with Adam's step sizes;
        plain, steps of `rate` times the gradient at freshly drawn nodes: Algorithm 1 as printed with nodes=1 rate=1
        (and q=exponential intercept=no), which seldom converges (one of lbfgs, ascent, plain)
    iterations : int, default=1000
        most steps; ascent and plain go through all of them (a whole number from 1 to 10000000)
    tol : float, default=1e-08
        lbfgs: stop when a step raises the bound by less than this part of it (a number from 0 to 1)
    rate : float, default=0.01
        ascent: length of its steps, which shrinks over the second half of them; plain: that of all steps (a number
        from 1e-6 to 1)
    batch : int, default=0
        ascent, plain: rows looked at in a step, drawn without replacement; 0 for all (a whole number from 0 to
        1000000000)
    landmarks : int, default=0
        rows drawn at random that alone carry sample weights; 0 for all rows up to 4000 of them, else for 1000 (a
        whole number from 0 to 20000)
    indefinite : str, default="refuse"
        what to do with a kernel that has negative eigenvalues: refuse it, or take them away (one of refuse, clip)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "svimkl"
    _renamed = {"lambda_": "lambda"}

    def __init__(
        self,
        *,
        q: str = "gamma",
        lambda_: float | str = 0.1,
        delta: float = 1.0,
        shape: float = 1.0,
        nodes: int = 32,
        intercept: str = "yes",
        solver: str = "lbfgs",
        iterations: int = 1000,
        tol: float = 1e-08,
        rate: float = 0.01,
        batch: int = 0,
        landmarks: int = 0,
        indefinite: str = "refuse",
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.q = q
        self.lambda_ = lambda_
        self.delta = delta
        self.shape = shape
        self.nodes = nodes
        self.intercept = intercept
        self.solver = solver
        self.iterations = iterations
        self.tol = tol
        self.rate = rate
        self.batch = batch
        self.landmarks = landmarks
        self.indefinite = indefinite
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class MKLR(MethodClassifier):
    """Kernel logistic regression, kernel weights by penalised likelihood, or uniform; with probabilities.

    The method ``mklr`` of the library.

    Parameters
    ----------
    lambda_ : float | str, default=0.1
        how much wiggly functions cost; auto chooses by the log-loss of held-out rows, which the bound cannot (a
        number above 0, or auto)
    ridge : float, default=0.1
        how much the square of a kernel weight costs (a number above 0)
    weights : str, default="learned"
        kernel weights are learned, or all 1/P: the control (one of learned, uniform)
    intercept : str, default="yes"
        a constant that costs nothing is added to each function; published is none, with which classes of unequal size
        suffer (one of yes, no)
    iterations : int, default=1000
        most steps; ascent and plain go through all of them (a whole number from 1 to 10000000)
    tol : float, default=1e-08
        lbfgs: stop when a step raises the bound by less than this part of it (a number from 0 to 1)
    landmarks : int, default=0
        rows drawn at random that alone carry sample weights; 0 for all rows up to 4000 of them, else for 1000 (a
        whole number from 0 to 20000)
    indefinite : str, default="refuse"
        what to do with a kernel that has negative eigenvalues: refuse it, or take them away (one of refuse, clip)
    kernels, views, scale, ...
        As in `MKLClassifier`.
    """

    method = "mklr"
    _renamed = {"lambda_": "lambda"}

    def __init__(
        self,
        *,
        lambda_: float | str = 0.1,
        ridge: float = 0.1,
        weights: str = "learned",
        intercept: str = "yes",
        iterations: int = 1000,
        tol: float = 1e-08,
        landmarks: int = 0,
        indefinite: str = "refuse",
        kernels: str | None = None,
        views: Mapping[str, Any] | None = None,
        kernel_names: list[str] | None = None,
        scale: str = "standard",
        missing: str = "skip",
        proba: bool = False,
        precision: str = "f64",
        memory: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.lambda_ = lambda_
        self.ridge = ridge
        self.weights = weights
        self.intercept = intercept
        self.iterations = iterations
        self.tol = tol
        self.landmarks = landmarks
        self.indefinite = indefinite
        self.kernels = kernels
        self.views = views
        self.kernel_names = kernel_names
        self.scale = scale
        self.missing = missing
        self.proba = proba
        self.precision = precision
        self.memory = memory
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
