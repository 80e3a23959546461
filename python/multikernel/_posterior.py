"""Posterior draws as dictionaries, and as ArviZ wants them."""

from __future__ import annotations

from typing import Any

from . import _core


def to_dict(model: _core.Model) -> dict[str, Any]:
    """{"posterior": {variable: (dims, array)}, "prior_interval": {...}, "coords": {...}}."""
    found = model.draws()
    if found is None:
        raise ValueError(f"the method {model.method} has no posterior draws; take bm3kl, bsvm or bank")
    n_chains, variables = found
    posterior: dict[str, Any] = {}
    prior: dict[str, Any] = {}
    coords: dict[str, Any] = {}
    for name, dimension, coordinates, values, bounds in variables:
        shape = (n_chains, values.shape[0] // n_chains)
        if dimension is None:
            posterior[name] = (("chain", "draw"), values[:, 0].reshape(shape))
        else:
            posterior[name] = (("chain", "draw", dimension), values.reshape(*shape, values.shape[1]))
            coords[dimension] = coordinates
        if bounds is not None:
            prior[name] = bounds
    return {"posterior": posterior, "prior_interval": prior, "coords": coords}


def to_datatree(draws: dict[str, Any]) -> Any:
    """An `xarray.DataTree` with the group `posterior`."""
    try:
        from arviz_base import from_dict
    except ImportError as error:
        raise ImportError("posterior() needs arviz>=1.0 (Python >= 3.12); posterior_dict() needs nothing") from error
    values = {name: array for name, (_, array) in draws["posterior"].items()}
    dims = {name: list(dims[2:]) for name, (dims, _) in draws["posterior"].items()}
    return from_dict({"posterior": values}, coords=draws["coords"], dims=dims)
