"""Writes python/multikernel/_methods.pyi, the types of the classes of methods, from the library's own list.

    python python/tools/methods.py > python/multikernel/_methods.pyi

A test fails where the file is out of step.
"""

from __future__ import annotations

from typing import Any

from multikernel import _core, _methods

TYPES = {
    "float": "float",
    "float | auto": "float | str",
    "int": "int",
    "int | auto": "int | str",
    "bool": "bool",
    "choice": "str",
    "str": "str",
}

HEAD = '''"""Types of the classes of methods. Written by python/tools/methods.py: do not edit."""

from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

from ._estimators import MethodClassifier, MethodClusterer

CLASSES: dict[str, str]
__all__ = [  # noqa: RUF022
{names}]

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
'''


def stub(method: dict[str, Any]) -> str:
    base, shared = ("MethodClassifier", "SharedByClassifiers") if method["is_supervised"] else ("MethodClusterer", "Shared")
    own = [f"{_methods.own_name(param)}: {TYPES[param['kind']]} = ..." for param in method["params"]]
    # Python allows a bare star only before a name.
    words = ["self", *(["*", *own] if own else []), f"**shared: Unpack[{shared}]"]
    name = _methods.CLASSES[method["name"]]
    signature = "".join(f"        {word},\n" for word in words[:-1]) + f"        {words[-1]},\n"
    return f"\nclass {name}({base}):\n    def __init__(\n{signature}    ) -> None: ...\n"


def main() -> str:
    names = "".join(f'    "{name}",\n' for name in _methods.__all__)
    return HEAD.replace("{names}", names) + "".join(stub(method) for method in _core.methods())


if __name__ == "__main__":
    print(main(), end="")
