"""Writes docs/python/api.md, the reference of the Python package, from its docstrings.

    python python/tools/api.py > docs/python/api.md

A test fails where the page is out of step.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import multikernel as mk
import multikernel.dask

SECTIONS = [
    (
        "Estimators",
        [
            "MKLClassifier",
            "MKLRegressor",
            "MKLSurvival",
            "OnlineMKLClassifier",
            "OnlineMKLRegressor",
            "MKLClusterer",
            "MKLOneClass",
            "CombinedKernel",
        ],
    ),
    ("Data", ["Views", "stack", "survival_target", "datasets.load", "datasets.names"]),
    ("Functions", ["evaluate", "search", "dask.train", "report", "load", "save", "methods", "kernels", "show_versions"]),
    ("Pictures", ["plot.weights", "plot.shares", "plot.parts", "plot.paired", "plot.calibration", "plot.boundary"]),
]


def found(path: str) -> Any:
    thing: Any = mk
    for name in path.split("."):
        thing = getattr(thing, name)
    return thing


def signature(thing: Any, name: str) -> str:
    """The call as it is written, one line for each parameter where it is long."""
    parameters = []
    star = False
    for parameter in inspect.signature(thing).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parameters.append("*")
            star = True
        star |= parameter.kind is parameter.VAR_POSITIONAL
        parameters.append(str(parameter.replace(annotation=parameter.empty)))
    line = f"mk.{name}({', '.join(parameters)})"
    return line if len(line) <= 110 else f"mk.{name}(\n" + "".join(f"    {one},\n" for one in parameters) + ")"


def pieces(doc: str) -> Iterator[str]:
    """A numpydoc docstring as Markdown."""
    section = ""
    for block in re.split(r"\n\n", inspect.cleandoc(doc)):
        lines = block.splitlines()
        if len(lines) > 1 and re.fullmatch(r"-+", lines[1]):
            section, lines = lines[0], lines[2:]
        if section == "Parameters" and lines and not lines[0].startswith(" ") and len(lines) > 1 and lines[1].startswith("  "):
            yield "\n".join(parameter_list(lines))
        elif lines and lines[0].startswith(">>>"):
            yield "```pycon\n" + "\n".join(lines) + "\n```"
        elif lines:
            yield "\n".join(lines).replace("``", "`")


def parameter_list(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith(" "):
            yield "  " + line.strip().replace("``", "`")
        else:
            name, _, kind = line.partition(" : ")
            yield f"- `{name}`" + (f" ({kind})" if kind else "") + ":"


def members(cls: type) -> Iterator[str]:
    """Public methods and fitted attributes of our own, a line each; scikit-learn's are not repeated."""
    ours = {name for base in cls.__mro__ if base.__module__.startswith("multikernel") for name in vars(base)}
    for name in sorted(name for name in ours if not name.startswith("_")):
        member = inspect.getattr_static(cls, name)
        doc = inspect.getdoc(getattr(cls, name) if not isinstance(member, property) else member)
        if doc and (callable(member) or isinstance(member, property) or hasattr(member, "fn")):
            call = f"`{name}`" if isinstance(member, property) else f"`{name}()`"
            yield f"| {call} | {doc.splitlines()[0]} |"


def main() -> str:
    page = ["# Reference of the Python package", "Written from the docstrings by `python/tools/api.py`."]
    for title, names in SECTIONS:
        page.append(f"## {title}")
        for name in names:
            thing = found(name)
            page += [f"### {name}", f"```text\n{signature(thing, name)}\n```", *pieces(thing.__doc__ or "")]
            if inspect.isclass(thing) and name != "Views":
                page.append("\n".join(["| member | what |", "|---|---|", *members(thing)]))
    page.append("## One class for each method")
    page.append(
        "Parameters of the method are the class's own, so that grid search tunes them; the others are those of `MKLClassifier`."
    )
    rows = ["| class | method | parameters |", "|---|---|---|"]
    for name in mk._methods.__all__:
        cls = getattr(mk, name)
        own = [one for one in cls._get_param_names() if one not in mk._estimators.SHARED]
        rows.append(f"| `{name}` | [`{cls.method}`](../methods.md) | {', '.join(f'`{one}`' for one in own)} |")
    page.append("\n".join(rows))
    return "\n\n".join(page) + "\n"


if __name__ == "__main__":
    print(main(), end="")
