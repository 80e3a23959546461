"""`device`: what is not there is an error that says so, and the models know where they were trained."""

import multikernel as mk
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris


@pytest.mark.parametrize("device", ["tpu", ""])
def test_unknown_devices_are_named(device):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=rf"device: must be cpu or cuda, got {device}"):
        mk.MKLClassifier("average", device=device).fit(X, y)


def test_a_gpu_that_is_not_there_is_an_error():
    X, y = load_diabetes(return_X_y=True)
    reg = clone(mk.MKLRegressor("evidence", device="cuda"))
    try:
        reg.fit(X, y)
    except ValueError as error:
        assert "use cpu" in str(error)
    else:
        assert "device" in reg.facts_
