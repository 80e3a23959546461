"""Trainings on an NVIDIA GPU beside the same on this machine's cores and beside PyTorch and GPyTorch on the GPU.

    python benches/gpu.py PROGRAM [--data FOLDER] [--only evidence,average,landmarks,bm3kl,predict,sets,gaussians,gpytorch]
                          [--repeats 3] [--cores] [--tests PROGRAM]

PROGRAM is built with the feature cuda; --tests is the program of the library's unit tests, which times single operations.
Needs numpy and PyTorch. Prints wall-clock seconds of whole commands, reading and writing included: the median of the repeats.
Sets are read from FOLDER and skipped where it is absent; --cores runs the slow ones without a GPU, too.
"""

import argparse
import gzip
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np

KERNELS = "gaussian(2^-6..2^7), polynomial(1..3)"
FEW = "gaussian(1), gaussian(2), gaussian(4), gaussian(8)"


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
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
    return seconds, done.stdout


class Bench:
    """The commands of one program in one folder."""

    def __init__(self, args, folder):
        self.args, self.folder = args, folder

    def rows(self, rows, columns=16, seed=0):
        path = self.folder / f"rows{rows}x{columns}.{seed}.npz"
        if not path.exists():
            made(path, rows, columns, seed)
        return path

    def train(self, data, method, device, kernels, *more, repeats=None):
        """Prints the median of some trainings; returns the last model."""
        out = self.folder / f"{method}.{device}.model"
        command = [self.args.program, "train", str(data), "--method", method, "--kernels", kernels, "--device", device]
        turns = [run([*command, "--out", str(out), "--quiet", *more])[0] for _ in range(repeats or self.args.repeats)]
        shown = f"{method} {data.name.split('.')[0]} {device} {' '.join(more)}"
        print(f"{shown}: {statistics.median(turns):.2f} s, all {[round(turn, 2) for turn in turns]}", flush=True)
        return out

    def weights(self, model):
        found = json.loads(run([self.args.program, "inspect", str(model), "--json"])[1])
        return np.array([kernel["weight"] for kernel in found["kernels"]])

    def labels(self, model, data, device="cpu"):
        return run([self.args.program, "predict", str(model), str(data), "--quiet", "--device", device])[1].splitlines()[1:]


def evidence(bench):
    for rows in (4_000, 20_000):
        bench.train(bench.rows(rows), "evidence", "cuda", KERNELS)
    bench.train(bench.rows(4_000), "evidence", "cpu", KERNELS)
    x, y = made(bench.folder / "rows.npz", 20_000)
    evidence_in_torch(x[:2000], y[:2000])
    turns = [evidence_in_torch(x, y) for _ in range(bench.args.repeats)]
    print(f"torch: ten updates of evidence alone, 20,000 rows: {statistics.median(turns):.2f} s", flush=True)


def average(bench):
    bench.train(bench.rows(20_000), "average", "cuda", KERNELS)
    bench.train(bench.rows(20_000), "average", "cpu", KERNELS, repeats=1)
    bench.train(bench.rows(50_000), "average", "cuda", KERNELS, repeats=1)


def landmarks(bench):
    data = bench.rows(1_000_000, 20)
    few = ["--set", "landmarks=5000"]
    for precision in ("f32", "f64"):
        for steps in ("8", "40"):
            more = ["--precision", precision, "--set", f"iterations={steps}"]
            bench.train(data, "mklr", "cuda", FEW, *few, *more, repeats=1)
    bench.train(data, "mklr", "cuda", FEW, *few, "--precision", "f32", repeats=1)


def bm3kl(bench):
    kernels = "gaussian(2^-2..2^5) each, gaussian(1), gaussian(2), polynomial(1..2)"
    short = ["--set", "warmup=2", "--set", "draws=2"]
    data = bench.rows(5_000, 12)
    if bench.args.cores:
        bench.train(data, "bm3kl", "cpu", kernels, *short, repeats=1)
    bench.train(data, "bm3kl", "cuda", kernels, *short, repeats=1)
    # Four chains: 1,000 draws.
    model = bench.train(data, "bm3kl", "cuda", kernels, "--set", "draws=250", repeats=1)
    print(run([bench.args.program, "inspect", str(model)])[1][:1500], flush=True)


def predict(bench):
    data, held = bench.rows(20_000, 20), bench.rows(1_000_000, 20, seed=1)
    model = bench.train(data, "mklr", "cuda", FEW, "--set", "landmarks=5000", "--set", "iterations=30", repeats=1)
    labels = {}
    for device in ("cuda", "cpu"):
        out, turns = bench.folder / f"predicted.{device}.csv", []
        command = [bench.args.program, "predict", str(model), str(held), "--quiet", "--device", device, "--out", str(out)]
        for _ in range(bench.args.repeats if device == "cuda" else 1):
            out.unlink(missing_ok=True)
            turns.append(run(command)[0])
        labels[device] = out.read_text().splitlines()
        print(f"predict 1,000,000 rows, 5,000 points, {device}: {statistics.median(turns):.2f} s", flush=True)
    differ = sum(a != b for a, b in zip(labels["cuda"], labels["cpu"]))
    print(f"predictions that differ: {differ} of {len(labels['cpu']) - 1:,}", flush=True)


def sets(bench):
    """All classification sets: weights and predictions on GPU and cores, and the bytes of the model twice. `evidence` up to
    4,000 rows, else 40 steps of `mklr` with 1,000 landmarks. What f32 itself does to the weights, on the cores, is told beside."""
    if not bench.args.data:
        print("sets: skipped, there is no --data")
        return
    for data in sorted(bench.args.data.glob("*.csv.gz")):
        few = gzip.open(data).read().count(b"\n") <= 4_001
        method = ["evidence"] if few else ["mklr", "--set", "landmarks=1000", "--set", "iterations=40"]
        on_cores = {}
        said = [compared(bench, data, method, each, on_cores) for each in ("f64", "f32")]
        if len(on_cores) == 2:
            said.append(f"f32 against f64 on the cores: weights {apart(on_cores['f64'], on_cores['f32']):.0e}")
        print(f"{data.name}, {method[0]}: {'; '.join(said)}", flush=True)


def apart(right, found):
    """The largest difference of weights, as part of the largest weight."""
    return np.abs(right - found).max() / np.abs(right).max()


def compared(bench, data, method, precision, on_cores):
    """One set on cores and twice on the GPU; weights of the cores are kept in `on_cores`."""
    command = [bench.args.program, "train", str(data), "--method", *method, "--kernels", KERNELS, "--precision", precision]
    models, seconds = {}, {}
    for name, device in (("cpu", "cpu"), ("cuda", "cuda"), ("again", "cuda")):
        models[name] = bench.folder / f"set.{name}"
        models[name].unlink(missing_ok=True)
        try:
            seconds[name], _ = run([*command, "--quiet", "--device", device, "--out", str(models[name])])
        except RuntimeError as error:
            return f"{precision} on {device}: {str(error).splitlines()[1][:120]}"
    on_cores[precision] = bench.weights(models["cpu"])
    off = apart(on_cores[precision], bench.weights(models["cuda"]))
    guesses = [bench.labels(models[name], data, device) for name, device in (("cpu", "cpu"), ("cuda", "cuda"))]
    differ = sum(a != b for a, b in zip(*guesses))
    same = models["cuda"].read_bytes() == models["again"].read_bytes()
    times = f"{seconds['cpu']:.1f} and {seconds['again']:.1f} s"
    return f"{precision}: weights {off:.0e}, {differ} of {len(guesses[0])} labels differ, same bytes {same}, {times}"


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


def on_card(f, turns=7, calls=1):
    """The median of some turns in milliseconds a call, by events of the card."""
    import torch

    f()
    found = []
    for _ in range(turns):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        for _ in range(calls):
            f()
        last.record()
        torch.cuda.synchronize()
        found.append(first.elapsed_time(last) / calls)
    return statistics.median(found)


def gaussians(bench):
    """300 Gaussians combined at 20,000 rows: our operations by the tests' program, then PyTorch's."""
    import torch

    if bench.args.tests:
        print(run([bench.args.tests, "--ignored", "--nocapture", "times_of_operations"])[1], flush=True)
    n = 20_000
    rates = [0.5 / 4.0 ** (10 * m / 300 - 5) for m in range(300)]
    for dtype in (torch.float64, torch.float32):
        out = torch.empty(n, n, device="cuda", dtype=dtype)
        other = torch.ones_like(out)
        # Five calls in a row, as our operations are timed: one alone counts .05 ms of starting it.
        fill, copy = (on_card(f, calls=5) for f in (lambda: out.fill_(1.5), lambda: out.copy_(other)))
        size = out.element_size() * n * n
        print(f"{dtype}: writing {fill:.3f} ms, {size / fill / 1e9:.2f} TB/s; copy {2 * size / copy / 1e9:.2f} TB/s")
        x = torch.rand(n, 16, device="cuda", dtype=dtype) * 2 - 1

        def plain():
            square = (x * x).sum(1)
            distance = torch.addmm(square[:, None] + square[None], x, x.T, alpha=-2).clamp_(min=0)
            total = torch.zeros_like(distance)
            for rate in rates:
                total.add_(torch.exp(distance * -rate), alpha=0.5)
            return total

        print(f"{dtype}: 300 Gaussians, one after another: {on_card(plain, 3):.1f} ms", flush=True)

        @torch.compile
        def few(distance, total, rates):
            for k in range(30):
                total = total + 0.5 * torch.exp(distance * rates[k])
            return total

        def fused():
            square = (x * x).sum(1)
            distance = torch.addmm(square[:, None] + square[None], x, x.T, alpha=-2).clamp_(min=0)
            total = torch.zeros_like(distance)
            for at in range(0, 300, 30):
                total = few(distance, total, -torch.tensor(rates[at : at + 30], device="cuda", dtype=dtype))
            return total

        try:
            print(f"{dtype}: 300 Gaussians, 30 at a time by torch.compile: {on_card(fused, 3):.1f} ms", flush=True)
        except Exception as error:  # noqa: BLE001  Compilers may be missing.
            print(f"torch.compile failed: {str(error)[:200]}")
        del out, other
        torch.cuda.empty_cache()


def gpytorch(bench):
    """What users have: GPyTorch's exact GP of the classes as numbers, fifty steps of Adam."""
    import gpytorch as gp
    import torch

    class Exact(gp.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.mean_module = gp.means.ConstantMean()
            self.covar_module = gp.kernels.ScaleKernel(gp.kernels.RBFKernel())

        def forward(self, x):
            return gp.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    for rows in (4_000, 20_000):
        x, y = made(bench.folder / "rows.npz", rows)
        start = time.perf_counter()
        x = torch.tensor((x - x.mean(0)) / x.std(0), device="cuda", dtype=torch.float32)
        y = torch.tensor(np.where(y, 1.0, -1.0), device="cuda", dtype=torch.float32)
        likelihood = gp.likelihoods.GaussianLikelihood().cuda()
        model = Exact(x, y, likelihood).cuda()
        model.train(), likelihood.train()
        optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
        evidence_of = gp.mlls.ExactMarginalLogLikelihood(likelihood, model)
        for _ in range(50):
            optimiser.zero_grad()
            loss = -evidence_of(model(x), y)
            loss.backward()
            optimiser.step()
        torch.cuda.synchronize()
        print(f"GPyTorch: exact GP, one kernel, f32, 50 steps, {rows:,} rows: {time.perf_counter() - start:.2f} s", flush=True)


PARTS = {part.__name__: part for part in (evidence, average, landmarks, bm3kl, predict, sets, gaussians, gpytorch)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cores", action="store_true")
    parser.add_argument("--tests")
    args = parser.parse_args()
    args.program = os.path.abspath(args.program)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(args, pathlib.Path(folder))
        for name in args.only.split(","):
            start = time.perf_counter()
            try:
                PARTS[name](bench)
            except (RuntimeError, ImportError) as error:
                print(f"{name}: {error}", flush=True)
            print(f"-- {name}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
