import multikernel as mk
import numpy as np
import pytest


@pytest.fixture(scope="session")
def sonar():
    return mk.datasets.load_sonar(return_X_y=True)


@pytest.fixture(scope="session")
def three():
    """Three classes in four columns, easily told apart."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    X = rng.normal(size=(90, 4)) + 2.5 * np.eye(3, 4)[y]
    order = rng.permutation(90)
    return X[order], y[order]
