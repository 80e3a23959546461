"""Writes reference.json: chains of several kinds and what ArviZ says of them (arviz 0.23.4, numpy 2)."""

import json
import pathlib
import warnings

import arviz
import numpy as np

warnings.filterwarnings("ignore")
rng = np.random.default_rng(2024)


def autoregressive(n_chains, n_draws, rho):
    x = rng.normal(size=(n_chains, n_draws))
    for t in range(1, n_draws):
        x[:, t] = rho * x[:, t - 1] + np.sqrt(1 - rho**2) * x[:, t]
    return x


def changed(x, chain, change):
    x[chain] = change(x[chain])
    return x


def number(value):
    return float(value) if np.isfinite(value) else None


def case(name, draws, digits=6):
    draws = np.round(draws, digits)
    return {
        "name": name,
        "r_hat": number(arviz.rhat(draws, method="rank")),
        "ess_bulk": number(arviz.ess(draws, method="bulk")),
        "ess_tail": number(arviz.ess(draws, method="tail", prob=(0.05, 0.95))),
        "mcse": number(arviz.mcse(draws, method="mean")),
        "sd": float(np.std(draws, ddof=1)),
        "draws": draws.tolist(),
    }


cases = [
    case("independent", rng.normal(size=(4, 200))),
    case("slow", autoregressive(4, 200, 0.9)),
    case("one chain half a deviation off", changed(rng.normal(size=(4, 100)), 2, lambda x: x + 0.5)),
    case("one chain four times as wide", changed(rng.normal(size=(4, 100)), 2, lambda x: 4 * x)),
    case("heavy tails", rng.standard_cauchy(size=(4, 100))),
    case("constant chains, one different", changed(np.full((4, 100), 2.5), 3, lambda x: x + 0.5)),
    case("constant", np.full((4, 50), 1.25)),
    case("odd length", autoregressive(4, 333, 0.5)),
    case("one chain", autoregressive(1, 201, 0.5)),
    case("alternating", autoregressive(2, 101, -0.6)),
    case("ties", np.floor(autoregressive(3, 80, 0.7) * 2), 0),
    case("five draws", rng.normal(size=(4, 5))),
    case("halves that differ", np.concatenate([np.zeros((2, 40)), np.ones((2, 40))], 1), 0),
]
pathlib.Path(__file__).with_name("reference.json").write_text(json.dumps(cases))
