#!/usr/bin/env python3
"""svimkl in numpy: the bound with 32 arranged nodes of gamma laws, L-BFGS in coordinates in which the mean kernel is the identity.

    cargo bench -p multikernel --bench svimkl -- fit --rows rows.csv --json ours.json
    python benches/svimkl_numpy.py rows.csv ours.json

One thread. Each evaluation multiplies all kernels by the sample weights once (one matrix-vector product of 17,000 x 1,000) and
the residuals by all kernels once. Kernels are built beforehand, as in the bench. Needs numpy and scipy.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import json
import sys
import time

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import digamma, expit, gammaincinv, gammaln, polygamma

NODES, LAMBDA = 32, 0.1


def bank(x):
    squares = (x * x).sum(1)
    inner = x @ x.T
    distance = np.maximum(squares[:, None] + squares[None] - 2 * inner, 0)
    np.fill_diagonal(distance, 0)
    t = (1 + inner) / np.sqrt((1 + squares)[:, None] * (1 + squares)[None])
    return np.array([np.exp(-distance / (2 * 4.0**p)) for p in range(-6, 8)] + [t, t**2, t**3])


def fit(kernels, y):
    """The bound, evaluations and iterations."""
    d, n, _ = kernels.shape
    flat = kernels.reshape(d * n, n)
    levels = (np.arange(NODES) + 0.5) / NODES
    shapes = np.arange(-4, 9.3, 0.125)
    quantiles = np.log(gammaincinv(np.exp(shapes)[:, None], levels[None])) - shapes[:, None]
    table = CubicSpline(shapes, np.exp(0.5 * shapes)[:, None] * quantiles)
    slope = table.derivative()
    rng = np.random.default_rng(0)
    places = np.array([rng.permutation(NODES) for _ in range(d)])
    root = cholesky(kernels.mean(0) + 1e-6 * np.eye(n))

    def nodes(shape):
        scale = np.exp(-0.5 * shape)[:, None]
        value = table(shape)
        ln = np.take_along_axis(scale * value, places, 1)
        bend = np.take_along_axis(scale * (slope(shape) - 0.5 * value), places, 1)
        node = np.exp(ln)
        node /= node.mean(1, keepdims=True)
        return node, node * (bend - (node * bend).mean(1, keepdims=True))

    def loss(x):
        alpha, intercept, mean, shape = solve_triangular(root, x[:n]), x[n], np.exp(x[n + 1 : n + 1 + d]), x[n + 1 + d :]
        node, bend = nodes(shape)
        weights = mean[:, None] * node
        outputs = (flat @ alpha).reshape(d, n)
        f = weights.T @ outputs + intercept
        residuals = (y - expit(f)) / NODES
        lengths = outputs @ alpha
        products = outputs @ residuals.T
        a = np.exp(shape)
        entropy = a - shape + gammaln(a) + (1 - a) * digamma(a)
        value = (y * f - np.logaddexp(0, f)).sum() / NODES - LAMBDA * mean @ lengths
        value += (entropy + np.log(mean) - mean).sum()
        pulls = weights @ residuals - 2 * LAMBDA * mean[:, None] * alpha
        gradient = np.concatenate(
            [
                solve_triangular(root, (pulls.reshape(1, -1) @ flat)[0], trans="T"),
                [residuals.sum()],
                (weights * products).sum(1) - LAMBDA * mean * lengths + 1 - mean,
                mean * (bend * products).sum(1) + a + a * (1 - a) * polygamma(1, a) - 1,
            ]
        )
        return -value, -gradient

    start = np.zeros(n + 1 + 2 * d)
    start[n + 1 : n + 1 + d] = -np.log(d)
    options = dict(maxiter=1000, ftol=1e-9, gtol=1e-12, maxcor=12)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    return -found.fun, found.nfev, found.nit


def main():
    rows = np.loadtxt(sys.argv[1], delimiter=",")
    # The first class is the positive one.
    kernels, y = bank(rows[:, :-1]), 1 - rows[:, -1]
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        bound, evaluations, iterations = fit(kernels, y)
        seconds.append(time.perf_counter() - start)
    best = min(seconds)
    print(f"numpy: {best:.3f} s, {iterations} steps, {evaluations} evaluations, bound {bound:.4f}")
    if len(sys.argv) > 2:
        for ours in json.load(open(sys.argv[2])):
            ratio = best / ours["seconds"]
            print(f"ours, {ours['precision']}: {ours['seconds']:.3f} s, {ours['steps']} steps, bound {ours['bound']:.4f}: {ratio:.1f} times faster")


if __name__ == "__main__":
    main()
