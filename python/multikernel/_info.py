"""What there is: methods, kernels, versions."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from typing import Any

from . import _core


class Listing(list[dict[str, Any]]):
    """A list of dictionaries that shows as a table."""

    def __repr__(self) -> str:
        return "\n".join(f"{row['name']:<20} {row['summary']}" for row in self)

    def _repr_html_(self) -> str:
        import html

        cells = "".join(
            f"<tr><td><code>{html.escape(row['name'])}</code></td><td>{html.escape(row['summary'])}</td></tr>" for row in self
        )
        return f"<table><tr><th>name</th><th>summary</th></tr>{cells}</table>"


def methods() -> Listing:
    """All methods: name, summary, default bank of kernels, parameters.

    >>> import multikernel as mk
    >>> "bm3kl" in [method["name"] for method in mk.methods()]
    True
    """
    return Listing(_core.methods())


def kernels() -> Listing:
    """All kernels: name, how it is written, an example.

    >>> import multikernel as mk
    >>> [kernel["example"] for kernel in mk.kernels() if kernel["name"] == "linear"]
    ['linear']
    """
    rows = _core.kernels()
    return Listing(
        {
            "name": name,
            "summary": f"{written}: takes {takes}" if takes else written,
            "written": written,
            "example": example,
        }
        for name, written, takes, example in rows
    )


def show_versions() -> None:
    """Prints the versions of multikernel, Python and what it builds on, for bug reports."""
    print(f"multikernel {_core.__version__}")
    print(f"python {sys.version.split()[0]}, {platform.platform()}")
    for name in ("numpy", "scipy", "scikit-learn", "narwhals", "pandas", "polars", "pyarrow", "matplotlib", "arviz"):
        try:
            print(name, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            print(name, "not installed")
