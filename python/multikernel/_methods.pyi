"""Types of the classes of methods. Written by python/tools/methods.py: do not edit."""

from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

from ._estimators import MethodClassifier, MethodClusterer

CLASSES: dict[str, str]
__all__ = [  # noqa: RUF022
    "AlignF",
    "AutoMKL",
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

class Shared(TypedDict, total=False):
    kernels: str | None
    views: Mapping[str, Any] | None
    kinds: Mapping[str, str] | None
    kernel_names: list[str] | None
    scale: str
    log: str | list[str] | None
    top_variance: int | None
    missing: str
    precision: str
    memory: int | None
    max_seconds: float | None
    n_jobs: int | None
    random_state: Any
    verbose: int

class SharedByClassifiers(Shared, total=False):
    proba: bool

class AutoMKL(MethodClassifier):
    def __init__(
        self,
        *,
        effort: str = ...,
        class_weights: str = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class Majority(MethodClassifier):
    def __init__(
        self,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class KernelSVM(MethodClassifier):
    def __init__(
        self,
        *,
        c: float | str = ...,
        tol: float = ...,
        multiclass: str = ...,
        class_weights: str = ...,
        kernel: str = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class AverageMKL(MethodClassifier):
    def __init__(
        self,
        *,
        c: float | str = ...,
        tol: float = ...,
        multiclass: str = ...,
        class_weights: str = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class SingleKernel(MethodClassifier):
    def __init__(
        self,
        *,
        c: float | str = ...,
        tol: float = ...,
        multiclass: str = ...,
        class_weights: str = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class BestView(MethodClassifier):
    def __init__(
        self,
        *,
        c: float | str = ...,
        tol: float = ...,
        multiclass: str = ...,
        class_weights: str = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class FHeuristic(MethodClassifier):
    def __init__(
        self,
        *,
        c: float | str = ...,
        tol: float = ...,
        multiclass: str = ...,
        class_weights: str = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class AlignF(MethodClassifier):
    def __init__(
        self,
        *,
        c: float | str = ...,
        tol: float = ...,
        multiclass: str = ...,
        class_weights: str = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class EasyMKL(MethodClassifier):
    def __init__(
        self,
        *,
        c: float | str = ...,
        tol: float = ...,
        multiclass: str = ...,
        class_weights: str = ...,
        lambda_: float | str = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class EvidenceMKL(MethodClassifier):
    def __init__(
        self,
        *,
        c: float | str = ...,
        tol: float = ...,
        multiclass: str = ...,
        class_weights: str = ...,
        iterations: int = ...,
        own: int = ...,
        landmarks: int = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class SimpleMKL(MethodClassifier):
    def __init__(
        self,
        *,
        c: float | str = ...,
        tol: float = ...,
        multiclass: str = ...,
        class_weights: str = ...,
        sparsity: float | str = ...,
        loss: str = ...,
        epsilon: float = ...,
        gap: float = ...,
        iterations: int = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class SILP(MethodClassifier):
    def __init__(
        self,
        *,
        c: float | str = ...,
        tol: float = ...,
        multiclass: str = ...,
        class_weights: str = ...,
        sparsity: float | str = ...,
        loss: str = ...,
        epsilon: float = ...,
        gap: float = ...,
        iterations: int = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class LevelMKL(MethodClassifier):
    def __init__(
        self,
        *,
        c: float | str = ...,
        tol: float = ...,
        multiclass: str = ...,
        class_weights: str = ...,
        sparsity: float | str = ...,
        loss: str = ...,
        epsilon: float = ...,
        gap: float = ...,
        iterations: int = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class LpMKL(MethodClassifier):
    def __init__(
        self,
        *,
        c: float | str = ...,
        tol: float = ...,
        multiclass: str = ...,
        class_weights: str = ...,
        p: float | str = ...,
        loss: str = ...,
        epsilon: float = ...,
        gap: float = ...,
        iterations: int = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class MKBoostD1(MethodClassifier):
    def __init__(
        self,
        *,
        trials: int = ...,
        ratio: float = ...,
        c: float | str = ...,
        tol: float = ...,
        holdout: float = ...,
        patience: int = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class MKBoostD2(MethodClassifier):
    def __init__(
        self,
        *,
        trials: int = ...,
        ratio: float = ...,
        c: float | str = ...,
        tol: float = ...,
        holdout: float = ...,
        patience: int = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class MKBoostS1(MethodClassifier):
    def __init__(
        self,
        *,
        trials: int = ...,
        ratio: float = ...,
        decay: float = ...,
        c: float | str = ...,
        tol: float = ...,
        holdout: float = ...,
        patience: int = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class MKBoostS2(MethodClassifier):
    def __init__(
        self,
        *,
        trials: int = ...,
        ratio: float = ...,
        decay: float = ...,
        c: float | str = ...,
        tol: float = ...,
        holdout: float = ...,
        patience: int = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class MKLDA(MethodClassifier):
    def __init__(
        self,
        *,
        variant: str = ...,
        r: float | str = ...,
        rho: float | str = ...,
        epochs: int = ...,
        loops: int = ...,
        epsilon: float = ...,
        landmarks: int = ...,
        replacement: bool = ...,
        kappa0: float | str = ...,
        theta0: float | str = ...,
        mu0: float | str = ...,
        sigma0: float | str = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class UFOMKL(MethodClassifier):
    def __init__(
        self,
        *,
        c: float | str = ...,
        alpha: float | str = ...,
        epochs: int = ...,
        epsilon: float = ...,
        landmarks: int = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class Obscure(MethodClassifier):
    def __init__(
        self,
        *,
        c: float = ...,
        p: float = ...,
        epochs: int = ...,
        landmarks: int = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class BM3KL(MethodClassifier):
    def __init__(
        self,
        *,
        prior: str = ...,
        sampler: str = ...,
        likelihood: str = ...,
        weights: str = ...,
        chains: int = ...,
        warmup: int = ...,
        draws: int = ...,
        leapfrog: int = ...,
        gamma0: float = ...,
        tube: float = ...,
        tau: float = ...,
        eta: float = ...,
        beta: float | str = ...,
        kappa: float = ...,
        epsilon: float = ...,
        decay: bool = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class BEMKL(MethodClassifier):
    def __init__(
        self,
        *,
        iterations: int = ...,
        tol: float = ...,
        sigma: float = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class SBEMKL(MethodClassifier):
    def __init__(
        self,
        *,
        iterations: int = ...,
        tol: float = ...,
        sigma: float = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class GPC(MethodClassifier):
    def __init__(
        self,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class BSVM(MethodClassifier):
    def __init__(
        self,
        *,
        warmup: int = ...,
        sweeps: int = ...,
        thin: int = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class CIK(MethodClassifier):
    def __init__(
        self,
        *,
        beta: float = ...,
        start: int = ...,
        sweeps: int = ...,
        sampler: str = ...,
        moves: int = ...,
        covariance: str = ...,
        alpha: float = ...,
        tau: float = ...,
        nu: float = ...,
        spread: float = ...,
        likelihood: str = ...,
        frequencies: int = ...,
        lambda_: float | str = ...,
        optimiser: str = ...,
        rate: float = ...,
        kernel_rate: float = ...,
        epochs: int = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class DPM(MethodClusterer):
    def __init__(
        self,
        *,
        start: int = ...,
        sweeps: int = ...,
        sampler: str = ...,
        moves: int = ...,
        covariance: str = ...,
        alpha: float = ...,
        tau: float = ...,
        nu: float = ...,
        spread: float = ...,
        **shared: Unpack[Shared],
    ) -> None: ...

class MKC(MethodClusterer):
    def __init__(
        self,
        *,
        clusters: int = ...,
        rounds: int = ...,
        tol: float = ...,
        **shared: Unpack[Shared],
    ) -> None: ...

class BankMKL(MethodClassifier):
    def __init__(
        self,
        *,
        frequencies: int = ...,
        warmup: int = ...,
        sweeps: int = ...,
        thin: int = ...,
        alpha: float = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class SVIMKL(MethodClassifier):
    def __init__(
        self,
        *,
        q: str = ...,
        lambda_: float | str = ...,
        delta: float = ...,
        shape: float = ...,
        nodes: int = ...,
        loss: str = ...,
        intercept: bool = ...,
        solver: str = ...,
        iterations: int = ...,
        tol: float = ...,
        rate: float = ...,
        batch: int = ...,
        landmarks: int | str = ...,
        indefinite: str = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...

class MKLR(MethodClassifier):
    def __init__(
        self,
        *,
        lambda_: float | str = ...,
        ridge: float = ...,
        weights: str = ...,
        loss: str = ...,
        intercept: bool = ...,
        iterations: int = ...,
        tol: float = ...,
        landmarks: int | str = ...,
        indefinite: str = ...,
        **shared: Unpack[SharedByClassifiers],
    ) -> None: ...
