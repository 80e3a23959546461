"""A sweep of our published sampler (`sampler=paper prior=paper`) beside the same sweep in numpy and scipy, on one thread.

    python benches/bm3kl_numpy.py [--numpy-only] [--parts] [P,N,C ...]

prints for each shape (kernels, rows, functions) the median time of a sweep of both sides, ours with the kernels in f32 and in
f64, and how many times faster ours is, beside how many times it would be at the bound of the machine (two passes and the
factors, the median of the same run). Ends with status 1 where f32, a quarter of the bytes that numpy reads, is below 3 times; f64
is half of them and not judged: at the bound itself it would be below 3. Shapes whose stack would not fit into memory are left out with a message.
`--numpy-only` does not run ours, and takes any shape; `--parts` adds the median of each part of the sweep in numpy. Needs numpy, scipy and cargo.

numpy gets a full stack of f64 of shape (P, N, N), and every part is written as well as numpy and scipy allow: both passes
over the stack are one matrix-vector product of BLAS each; (a, b) goes through dsyrk, dpotrf and dtrtrs on one triangle, without
copies; the rest is vectorised over classes and rows. Data and labels are random: the time does not depend on them.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dtrtrs

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Those of benches/bm3kl.rs.
SHAPES = [(793, 144, 1), (2158, 78, 1), (3088, 280, 40)]
PARTS = ["combine", "weights", "scales", "margins", "project", "step"]
WARM, LEAST, SECONDS = 3, 9, 6.0
# How many times faster than numpy ours in f32 has to be.
WANTED = 3.0
GAMMA0, ALPHA, BETA, KAPPA, TAU, ETA, EPSILON = 100.0, 1.0, 6.0, 1.0, 0.5, 1.0, 0.01
# Below, the Gaussian of a row is a spike, and the factorisation loses its digits.
LEAST_LAMBDA = 1e-8


def stack(rng, n_kernels, n):
    """Gaussian kernels of single random columns, of widths 1/8 to 64."""
    kernels = np.empty((n_kernels, n, n))
    for m, kernel in enumerate(kernels):
        x = rng.normal(size=n) / 2.0 ** (m % 10 - 3)
        np.subtract.outer(x, x, out=kernel)
        np.multiply(kernel, kernel, out=kernel)
        kernel *= -0.5
        # Below -700 the exponential is not a normal number, and takes long.
        np.maximum(kernel, -700, out=kernel)
        np.exp(kernel, out=kernel)
    return kernels


def half_gig(rng, a, b):
    """Draws from GIG(1/2, a, b), without cancellation, for all b >= 0."""
    m = np.sqrt(b / a)
    u = rng.standard_normal(m.shape)
    u *= u
    u /= 2 * a
    x = m + u + np.sqrt(u * (u + 2 * m))
    return np.where(rng.random(m.shape) * (x + m) < x, x, m * m / x)


class Sampler:
    """The state of one chain, of all classes."""

    def __init__(self, rng, kernels, delta):
        self.rng, self.delta = rng, delta
        n_kernels, self.n, _ = kernels.shape
        self.flat = kernels.reshape(n_kernels, -1)
        classes = len(delta)
        self.e = rng.gamma(ETA, size=n_kernels)
        self.r = np.zeros(n_kernels)
        self.a, self.b = np.zeros((classes, self.n)), np.zeros(classes)
        self.nu = np.full((classes, self.n), 0.1)
        self.lam = np.ones((classes, self.n))

    def combine(self):
        self.h = ((self.e / self.e.sum()) @ self.flat).reshape(self.n, self.n)

    def weights(self):
        """(a, b) of every class: with Y = diag(lam)^-1/2 [H 1] S and Q = I + Y'Y = LL', S L^-T (L^-1 Y'rhs + z)."""
        n, y = self.n, np.empty((self.n, self.n + 1))
        z = self.rng.standard_normal((len(self.b), n + 1))
        root = np.sqrt(self.lam)
        target = self.delta * (1 + self.lam) / root
        scale = np.sqrt(np.column_stack([self.nu, np.full(len(self.b), TAU)]))
        for c in range(len(self.b)):
            np.multiply(self.h, scale[c, :n], out=y[:, :n])
            y[:, n] = scale[c, n]
            y /= root[c][:, None]
            # y is by rows, so that its transpose is what BLAS takes without a copy.
            q = dsyrk(1.0, y.T, lower=1)
            q.flat[:: n + 2] += 1
            lower, info = dpotrf(q, lower=1, clean=0, overwrite_a=1)
            if info != 0:
                raise ArithmeticError(f"the factorisation fails at column {info}")
            half, _ = dtrtrs(lower, target[c] @ y, lower=1)
            half += z[c]
            u, _ = dtrtrs(lower, half, lower=1, trans=1, overwrite_b=1)
            self.a[c], self.b[c] = scale[c, :n] * u[:n], scale[c, n] * u[n]

    def scales(self):
        rate = self.rng.standard_gamma(ALPHA + BETA, size=self.nu.shape) / (self.nu + KAPPA)
        self.nu = half_gig(self.rng, 2 * rate, self.a * self.a)

    def margins(self):
        self.zeta = 1 - self.delta * (self.a @ self.h + self.b[:, None])
        self.lam = np.maximum(half_gig(self.rng, 1 + 2 * GAMMA0, self.zeta * self.zeta), LEAST_LAMBDA)

    def project(self):
        residual = self.delta * (self.lam + self.zeta) / self.lam
        m = residual.T @ self.a
        self.g = self.flat @ m.ravel()
        self.level = np.vdot(self.h, m)

    def step(self):
        e, total = self.e, self.e.sum()
        slope = (ETA - 1) / e - 1 + (self.g - self.level) / total
        root = np.sqrt(e)
        noise = np.sqrt(2 * EPSILON) * root * self.rng.standard_normal(len(e))
        self.r += EPSILON * (root * slope + 0.5 / root - e * self.r) + noise
        self.e = np.abs(e + EPSILON * root * self.r)

    def sweep(self):
        """Seconds of each part."""
        times = [time.perf_counter()]
        for part in PARTS:
            getattr(self, part)()
            times.append(time.perf_counter())
        return np.diff(times)


def measure(shape):
    """Seconds of each part, by sweep."""
    n_kernels, n, classes = shape
    rng = np.random.default_rng(1)
    kernels = stack(rng, n_kernels, n)
    if classes == 1:
        delta = rng.choice([-1.0, 1.0], size=(1, n))
    else:
        delta = np.where(rng.integers(classes, size=n) == np.arange(classes)[:, None], 1.0, -1.0)
    sampler = Sampler(rng, kernels, delta)
    for _ in range(WARM):
        sampler.sweep()
    rows, begin = [], time.perf_counter()
    while len(rows) < LEAST or time.perf_counter() - begin < SECONDS:
        rows.append(sampler.sweep())
    if not np.isfinite(sampler.e).all():
        raise ArithmeticError("the kernel weights are not finite")
    return np.array(rows)


def free_bytes():
    """What can be allocated, with what the system would give back from its caches where it says so."""
    try:
        with open("/proc/meminfo") as file:
            return next(1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def fits(shape):
    """Whether the stack of numpy fits into memory; says so where it does not."""
    wanted = 8 * shape[0] * shape[1] ** 2
    if 1.2 * wanted > free_bytes():
        print(f"{shape}: the stack takes {wanted / 1e9:.1f} GB, too much for the free memory, left out", file=sys.stderr)
        return False
    return True


def time_numpy(shape, parts):
    """Median milliseconds of a sweep."""
    rows = 1e3 * measure(shape)
    if parts:
        medians = zip(PARTS, np.median(rows, axis=0))
        print(f"{shape}: " + ", ".join(f"{part} {value:.2f}" for part, value in medians), file=sys.stderr, flush=True)
    return np.median(rows.sum(axis=1))


def ours(shapes):
    """Milliseconds and their bound by shape and precision: see `sweep` in benches/bm3kl.rs."""
    with tempfile.TemporaryDirectory() as name:
        result = pathlib.Path(name, "result.json")
        command = ["cargo", "bench", "--quiet", "-p", "multikernel", "--bench", "bm3kl", "--", "sweep"]
        options = ["--shapes", ",".join(str(shape[0]) for shape in shapes), "--json", str(result)]
        done = subprocess.run(command + options, cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"the bench failed:\n{done.stderr}")
        rows = json.loads(result.read_text())
    keys = ["kernels", "rows", "functions", "precision"]
    return {tuple(row[key] for key in keys): (1e3 * row["median"], 1e3 * row["bound"]) for row in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--numpy-only", action="store_true", help="do not run ours")
    parser.add_argument("--parts", action="store_true", help="print the median of each part too")
    parser.add_argument("shapes", nargs="*", metavar="P,N,C", help="kernels, rows, functions")
    options = parser.parse_args()
    shapes = [tuple(int(value) for value in text.split(",")) for text in options.shapes] or SHAPES
    strange = [shape for shape in shapes if shape not in SHAPES]
    if strange and not options.numpy_only:
        sys.exit(f"ours knows the shapes {SHAPES}, got {strange}; add --numpy-only")
    shapes = [shape for shape in shapes if fits(shape)]
    bench = {} if options.numpy_only or not shapes else ours(shapes)
    print("| P | N | functions | numpy ms | ours f32 ms | times faster | at the bound | ours f64 ms | times faster | at the bound |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    slow = False
    for shape in shapes:
        seconds = time_numpy(shape, options.parts)
        cells = [*shape, f"{seconds:.2f}"]
        for precision in ("f32", "f64") if bench else ():
            mine, bound = bench[*shape, precision]
            slow |= precision == "f32" and seconds < WANTED * mine
            cells += [f"{mine:.2f}", f"{seconds / mine:.1f}", f"{seconds / bound:.1f}"]
        print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)
    if slow:
        sys.exit(f"ours in f32 is less than {WANTED:g} times faster")


if __name__ == "__main__":
    main()
