"""One class for each method, made from the library's own list; `_methods.pyi` tells them to type checkers."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from . import _core
from ._estimators import SHARED, MethodClassifier, MethodClusterer, MKLClassifier, MKLClusterer

#: What the classes are called, by method.
CLASSES = {
    "auto": "AutoMKL", "majority": "Majority", "svm": "KernelSVM", "average": "AverageMKL", "single": "SingleKernel",
    "bestview": "BestView", "evidence": "EvidenceMKL", "fheuristic": "FHeuristic", "alignf": "AlignF", "easymkl": "EasyMKL",
    "simplemkl": "SimpleMKL", "silp": "SILP", "level": "LevelMKL", "lpmkl": "LpMKL", "mkboost-d1": "MKBoostD1",
    "mkboost-d2": "MKBoostD2", "mkboost-s1": "MKBoostS1", "mkboost-s2": "MKBoostS2", "mklda": "MKLDA", "ufomkl": "UFOMKL",
    "obscure": "Obscure", "bm3kl": "BM3KL", "bemkl": "BEMKL", "sbemkl": "SBEMKL", "gpc": "GPC", "bsvm": "BSVM",
    "svimkl": "SVIMKL", "mklr": "MKLR", "cik": "CIK", "dpm": "DPM", "mkc": "MKC", "bank": "BankMKL",
}  # fmt: skip

#: Names of parameters that Python or every estimator has taken get an underscore.
RESERVED = {"lambda", *SHARED}


def default_of(param: dict[str, Any]) -> Any:
    """A parameter's default as a Python value."""
    kind, default = param["kind"], param["default"]
    if kind.startswith("float"):
        return default if default == "auto" else float(default)
    return {"int": int, "bool": lambda text: text == "yes"}.get(kind, str)(default)


def own_name(param: dict[str, Any]) -> str:
    """What Python calls a parameter of the method."""
    name: str = param["name"]
    return f"{name}_" if name in RESERVED else name


def _init(parameters: list[Parameter]) -> Callable[..., None]:
    """An `__init__` with these keyword parameters, which sets attributes and nothing else."""
    defaults = {parameter.name: parameter.default for parameter in parameters}

    def __init__(self: Any, **values: Any) -> None:
        for name in values:
            if name not in defaults:
                raise TypeError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(defaults)}")
        for name, default in defaults.items():
            setattr(self, name, values.get(name, default))

    self_parameter = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    __init__.__signature__ = Signature([self_parameter, *parameters])  # type: ignore[attr-defined]
    return __init__


def _doc(method: dict[str, Any]) -> str:
    lines = [
        f"{method['summary'][0].upper()}{method['summary'][1:]}.",
        "",
        f"The method ``{method['name']}`` of the library.",
        "",
    ]
    lines += ["Parameters", "----------"]
    for param in method["params"]:
        lines.append(f"{own_name(param)} : {param['kind'].replace('auto', 'str')}, default={default_of(param)!r}")
        text = f"{param['help']} ({param['allowed']})"
        lines += textwrap.wrap(text, 116, initial_indent="    ", subsequent_indent="    ")
    return "\n".join([*lines, "kernels, views, scale, ...", "    As in `MKLClassifier`."])


def _class(method: dict[str, Any]) -> type:
    supervised = method["is_supervised"]
    general, base = (MKLClassifier, MethodClassifier) if supervised else (MKLClusterer, MethodClusterer)
    shared = inspect.signature(general).parameters
    parameters = [Parameter(own_name(param), Parameter.KEYWORD_ONLY, default=default_of(param)) for param in method["params"]] + [
        shared[name].replace(kind=Parameter.KEYWORD_ONLY) for name in SHARED if name in shared
    ]
    renamed = {own_name(param): param["name"] for param in method["params"] if own_name(param) != param["name"]}
    members = {
        "__doc__": _doc(method),
        "__module__": __name__,
        "__init__": _init(parameters),
        "method": method["name"],
        "_renamed": renamed,
    }
    return type(CLASSES[method["name"]], (base,), members)


for _method in _core.methods():
    globals()[CLASSES[_method["name"]]] = _class(_method)

__all__ = sorted(CLASSES.values())
