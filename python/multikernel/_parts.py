"""Decisions split into the parts of kernels or views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Parts:
    """Decisions on rows, each the sum of its parts and a constant.

    ``names`` are the views or kernels; ``decisions`` says what each decision tells apart: a pair of classes, positive for the
    first, or one class against the others; or which number, or the risk, is predicted. ``values`` has the shape (n_rows,
    n_decisions, n_names), ``biases`` one constant for each decision, and ``totals``, (n_rows, n_decisions), are the decisions
    themselves.
    """

    names: list[str]
    decisions: list[tuple[Any, Any] | Any]
    biases: Array
    values: Array

    @property
    def totals(self) -> Array:
        return np.asarray(self.values.sum(axis=2) + self.biases)

    def to_frame(self, decision: int = 0) -> Any:
        """The parts of one decision as a pandas DataFrame: a column for each name, the bias and the decision."""
        import pandas as pd

        frame = pd.DataFrame(self.values[:, decision, :], columns=self.names)
        return frame.assign(bias=self.biases[decision], decision=self.totals[:, decision])
