"""Trainings on an NVIDIA GPU beside the same on this machine's cores and beside PyTorch on the GPU.

    python benches/gpu.py PROGRAM [--rows 20000] [--cores-rows 8000] [--average-rows 50000] [--skip cores,torch,average]

PROGRAM is built with the feature cuda. Needs numpy and PyTorch. Prints wall-clock seconds of whole commands, reading and
writing included.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import numpy as np

KERNELS = "gaussian(2^-6..2^7), polynomial(1..3)"


def made(path, rows, columns=16, seed=0):
    """Two classes with a curved boundary and some noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns))
    score = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.5 * (x[:, 3] ** 2 - 1) + 0.3 * rng.normal(size=rows)
    np.savez(path, x=x, y=(score > 0).astype(np.int64))
    return x, score > 0


def run(command):
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return seconds, done.stdout


def weights_of(program, model):
    return json.loads(run([program, "inspect", str(model), "--json"])[1])


def evidence_in_torch(x, y):
    """The ten updates of `evidence` (kernels share no weight in the last two), all on the card, in f64."""
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter()
    x = torch.tensor((x - x.mean(0)) / x.std(0), device="cuda", dtype=torch.float64)
    y = torch.tensor(np.where(y, 1.0, -1.0), device="cuda", dtype=torch.float64)[:, None]
    y = (y - y.mean()) / y.std(correction=0)
    n = len(x)
    inner = x @ x.T
    square = inner.diagonal()
    distance = (square[:, None] + square[None] - 2 * inner).clamp_(min=0)
    shifted = (1 + inner) / torch.sqrt((1 + square)[:, None] * (1 + square)[None])
    del inner
    kernels = [(distance, 1 / (2 * 4.0**e)) for e in range(-6, 8)] + [(shifted, q) for q in (1, 2, 3)]
    value = lambda base, p: torch.exp(-p * base) if base is distance else base**p
    weights, noise = np.full(17, 1 / 17), 0.1
    for _ in range(10):
        total = torch.zeros(n, n, device="cuda", dtype=torch.float64)
        for weight, kernel in zip(weights, kernels):
            total.add_(value(*kernel), alpha=weight)
        total.diagonal().add_(noise)
        factor = torch.linalg.cholesky(total)
        solved = torch.cholesky_solve(y, factor)
        inverse = torch.cholesky_inverse(factor)
        del total, factor
        for m, kernel in enumerate(kernels):
            k = value(*kernel)
            weights[m] *= ((solved.T @ k @ solved) / (k * inverse).sum()).item()
        noise *= ((solved**2).sum() / inverse.diagonal().sum()).item()
        noise = max(noise, 1e-4)
    torch.cuda.synchronize()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--cores-rows", type=int, default=8_000)
    parser.add_argument("--average-rows", type=int, default=50_000)
    parser.add_argument("--skip", default="")
    args = parser.parse_args()
    skipped = args.skip.split(",")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)

        def train(name, rows, method, device, *more):
            made(folder / "rows.npz", rows)
            out = folder / f"{name}.model"
            command = [args.program, "train", str(folder / "rows.npz"), "--method", method, "--kernels", KERNELS]
            seconds, _ = run([*command, "--device", device, "--out", str(out), "--quiet", *more])
            print(f"{name}: {method}, {rows:,} rows, {device} {' '.join(more)}: {seconds:.2f} s", flush=True)
            return out

        def weights(model):
            found = json.loads(run([args.program, "inspect", str(model), "--json"])[1])
            return np.array([kernel["weight"] for kernel in found["kernels"]])

        small = train("small-cuda", args.cores_rows, "evidence", "cuda")
        if "cores" not in skipped:
            cores = train("small-cores", args.cores_rows, "evidence", "cpu")
            print("largest difference of weights:", np.abs(weights(small) - weights(cores)).max(), flush=True)
            held = folder / "held.npz"
            made(held, 20_000, seed=1)
            guesses = [run([args.program, "predict", str(model), str(held), "--quiet"])[1] for model in (small, cores)]
            lines = [guess.splitlines() for guess in guesses]
            differ = sum(a.split(",")[-1] != b.split(",")[-1] for a, b in zip(*lines))
            print(f"predictions that differ: {differ} of {len(lines[0]) - 1:,}", flush=True)
        again = train("again", args.cores_rows, "evidence", "cuda")
        print("same bytes twice:", small.read_bytes() == again.read_bytes(), flush=True)
        train("large-cuda", args.rows, "evidence", "cuda")
        train("large-cuda-f32", args.rows, "evidence", "cuda", "--precision", "f32")
        if "torch" not in skipped:
            x, y = made(folder / "rows.npz", args.rows)
            evidence_in_torch(x[:2000], y[:2000])
            print(f"torch: ten updates alone, {args.rows:,} rows: {evidence_in_torch(x, y):.2f} s", flush=True)
        if "average" not in skipped:
            train("average-cuda", args.average_rows, "average", "cuda")


if __name__ == "__main__":
    main()
