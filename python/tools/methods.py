"""Writes python/multikernel/_methods.py, one class for each method, from the library's own list.

    python python/tools/methods.py > python/multikernel/_methods.py

A test fails where the file is out of step.
"""

from __future__ import annotations

import textwrap
from typing import Any

from multikernel import _core

CLASSES = {
    "majority": "Majority", "svm": "KernelSVM", "average": "AverageMKL", "single": "SingleKernel", "bestview": "BestView",
    "evidence": "EvidenceMKL", "fheuristic": "FHeuristic", "alignf": "AlignF", "easymkl": "EasyMKL", "simplemkl": "SimpleMKL",
    "silp": "SILP", "level": "LevelMKL", "lpmkl": "LpMKL", "mkboost-d1": "MKBoostD1", "mkboost-d2": "MKBoostD2",
    "mkboost-s1": "MKBoostS1", "mkboost-s2": "MKBoostS2", "mklda": "MKLDA", "ufomkl": "UFOMKL", "obscure": "Obscure",
    "bm3kl": "BM3KL", "bemkl": "BEMKL", "sbemkl": "SBEMKL", "gpc": "GPC", "bsvm": "BSVM", "svimkl": "SVIMKL", "mklr": "MKLR",
    "cik": "CIK", "dpm": "DPM", "mkc": "MKC", "bank": "BankMKL",
}  # fmt: skip

#: Names that are taken, by Python or by every estimator, get an underscore.
RESERVED = {"lambda"}

SHARED = [
    ("kernels", "str | None", "None"),
    ("views", "Mapping[str, Any] | None", "None"),
    ("kernel_names", "list[str] | None", "None"),
    ("scale", "str", '"standard"'),
    ("log", "str | list[str] | None", "None"),
    ("top_variance", "int | None", "None"),
    ("missing", "str", '"skip"'),
    ("proba", "bool", "False"),
    ("precision", "str", '"f64"'),
    ("memory", "int | None", "None"),
    ("max_seconds", "float | None", "None"),
    ("n_jobs", "int | None", "None"),
    ("random_state", "Any", "0"),
    ("verbose", "int", "0"),
]

TYPES = {"float": "float", "float | auto": "float | str", "int": "int", "bool": "bool", "choice": "str", "str": "str"}


def literal(kind: str, default: str) -> str:
    """The default as Python writes it."""
    if kind.startswith("float"):
        return repr(default) if default == "auto" else repr(float(default))
    if kind == "int":
        return str(int(default))
    if kind == "bool":
        return str(default == "yes")
    return '"' + default.replace('"', '\\"') + '"'


def wrapped(text: str, indent: str) -> str:
    return "\n".join(textwrap.wrap(text, 118, initial_indent=indent, subsequent_indent=indent))


def source(method: dict[str, Any]) -> str:
    name = CLASSES[method["name"]]
    shared = [entry for entry in SHARED if method["is_supervised"] or entry[0] != "proba"]
    taken = {entry[0] for entry in SHARED}
    renamed = {}
    params = []
    for param in method["params"]:
        own = param["name"]
        if own in taken or own in RESERVED:
            renamed[own + "_"] = own
            own += "_"
        params.append((own, TYPES[param["kind"]], literal(param["kind"], param["default"]), param))
    base = "MethodClassifier" if method["is_supervised"] else "MethodClusterer"
    lines = [f"class {name}({base}):", f'    """{method["summary"][0].upper()}{method["summary"][1:]}.', ""]
    lines += [f"    The method ``{method['name']}`` of the library.", "", "    Parameters", "    ----------"]
    for own, kind, default, param in params:
        lines.append(f"    {own} : {kind}, default={default}")
        lines.append(wrapped(f"{param['help']} ({param['allowed']})".replace("\\", "\\\\"), "        "))
    lines += ["    kernels, views, scale, ...", "        As in `MKLClassifier`.", '    """', ""]
    lines.append(f'    method = "{method["name"]}"')
    if renamed:
        lines.append(f"    _renamed = {renamed!r}".replace("'", '"'))
    lines += ["", "    def __init__(", "        self,", "        *,"]
    signature = [(own, kind, default) for own, kind, default, _ in params] + shared
    lines += [f"        {own}: {kind} = {default}," for own, kind, default in signature]
    lines.append("    ) -> None:")
    lines += [f"        self.{own} = {own}" for own, _, _ in signature]
    return "\n".join(lines) + "\n"


def main() -> str:
    methods = _core.methods()
    head = '"""One class for each method. Written by python/tools/methods.py: do not edit."""\n\n'
    head += "from __future__ import annotations\n\nfrom collections.abc import Mapping\nfrom typing import Any\n\n"
    head += "from ._estimators import MethodClassifier, MethodClusterer\n\n"
    names = sorted(CLASSES[method["name"]] for method in methods)
    head += "__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n"
    return head + "".join("\n\n" + source(method) for method in methods)


if __name__ == "__main__":
    print(main(), end="")
