"""Our kernel bank beside the same bank in numpy: same rows, same kernels, one thread.

    python benches/stack_numpy.py [--data-dir DIR]

prints three tables: the largest differences of both sides from the formulas, the time to compute and store all 17 kernels
of the training rows and between test and training rows, and what the ways of writing it in numpy take. Ends with status 1
when values are wrong. Needs numpy and cargo; sets that are not in DIR are left out with a message.

numpy gets a good case and its best. The good case, `whole`, is one product of the rows, one matrix of distances, and every
other step in place in the result. The best is the quickest of three ways: besides `whole` there is `blocks`, which goes by
blocks of rows, which stay in the caches, and leaves out what lies above the diagonal blocks of the training rows, as we store
one triangle of them only; and `floored`, which is `blocks` with exponents raised to where the exponential is hardly above the
smallest normal number (1e-304 in f64): below, numpy's exponential takes up to twenty times as long, and narrow widths have
most of their values there.
Both sides are the best of repeats, in a result allocated anew each time (and given back, both timed) and in one that is
reused. One thread and two take turns with arithmetic in registers cut in two, which is what two threads can gain at best.
"""

import argparse
import csv
import gzip
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

ROOT = pathlib.Path(__file__).resolve().parent.parent
SETS = ["german.numer", "pendigits.train"]
PRECISIONS = {"f64": np.float64, "f32": np.float32}
# The bank gaussian(2^-6..2^7), polynomial(1..3), in this order.
WIDTHS = [2.0**power for power in range(-6, 8)]
DEGREES = [1, 2, 3]
N_KERNELS = len(WIDTHS) + len(DEGREES)
WAYS = ["whole", "blocks", "floored"]
BLOCK = 256
FLOOR = {np.float64: -700.0, np.float32: -87.0}
# What both sides must keep to in f64; in f32 the differences are only printed.
WANTED = 1e-10


def read(path):
    with gzip.open(path, "rt", newline="") as file:
        return np.array([[float(value) for value in row[:-1]] for row in list(csv.reader(file))[1:]])


def halves(x):
    """Every other row to train, the rest to test, by mean and population standard deviation of the training rows."""
    train, test = x[0::2], x[1::2]
    mean, sd = train.mean(axis=0), train.std(axis=0)
    sd[sd == 0] = 1
    return (train - mean) / sd, (test - mean) / sd


def fill(a, b, out, way):
    """All kernels between the rows of a and b into out, of shape (kernels, rows of a, rows of b)."""
    triangle = way != "whole" and a is b
    step = len(a) if way == "whole" else BLOCK
    kind = out.dtype.type
    half_a, half_b = (np.einsum("ij,ij->i", x, x) / kind(2) for x in (a, b))
    norm_a, norm_b = (1 / np.sqrt(1 + 2 * half) for half in (half_a, half_b))
    dot_block, exponent_block = (np.empty((min(step, len(a)), len(b)), kind) for _ in range(2))
    for begin in range(0, len(a), step):
        end = min(begin + step, len(a))
        width = end if triangle else len(b)
        dot, exponent = dot_block[: end - begin, :width], exponent_block[: end - begin, :width]
        np.matmul(a[begin:end], b[:width].T, out=dot)
        # Minus half the squared distance, which rounding must not make positive.
        np.subtract(dot, half_a[begin:end, None], out=exponent)
        exponent -= half_b[:width]
        np.minimum(exponent, 0, out=exponent)
        if a is b:
            diagonal = np.arange(begin, end)
            exponent[diagonal - begin, diagonal] = 0
        lowest = exponent.min() if way == "floored" else 0
        planes = out[:, begin:end, :width]
        for plane, s in zip(planes, WIDTHS):
            np.multiply(exponent, kind(s**-2), out=plane)
            if lowest * s**-2 < FLOOR[kind]:
                np.maximum(plane, kind(FLOOR[kind]), out=plane)
            np.exp(plane, out=plane)
        first, second, third = planes[len(WIDTHS) :]
        dot += 1
        np.multiply(dot, norm_a[begin:end, None], out=first)
        first *= norm_b[:width]
        np.multiply(first, first, out=second)
        np.multiply(second, first, out=third)


def formulas(a, b):
    """The kernels straight from their definitions, from differences of rows: slow, and nothing shared with `fill`."""
    distance = ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2)
    norms = [1 + (x * x).sum(axis=1) for x in (a, b)]
    t = (1 + (a[:, None, :] * b[None, :, :]).sum(axis=2)) / np.sqrt(np.outer(*norms))
    return np.stack([np.exp(-distance / (2 * s * s)) for s in WIDTHS] + [t**q for q in DEGREES])


def best(run):
    """Best seconds of repeats that last about a second in all, at least seven: as benches/stack.rs has for each of its jobs."""
    least, start, repeats = float("inf"), time.perf_counter(), 0
    while repeats < 7 or (time.perf_counter() - start < 1 and repeats < 200):
        begin = time.perf_counter()
        run()
        least = min(least, time.perf_counter() - begin)
        repeats += 1
    return least


def time_numpy(train, test, kind):
    """Seconds by way and memory."""
    train, test = train.astype(kind), test.astype(kind)

    def new():
        return [np.empty((N_KERNELS, len(x), len(train)), kind) for x in (train, test)]

    def both(way, results):
        fill(train, train, results[0], way)
        fill(test, train, results[1], way)

    seconds = {}
    for way in WAYS:
        fresh = best(lambda: both(way, new()))
        kept = new()
        # Pages are handed out when first written: not part of a reused result.
        both(way, kept)
        seconds[way] = {"fresh": fresh, "reused": best(lambda: both(way, kept))}
        del kept
    return seconds


def errors(train, test, kind, sample):
    """Largest differences from the formulas on the sampled rows: of numpy, over all ways, and of ours."""
    pick = slice(None, None, sample["every"])
    numpy_error = our_error = 0
    for x, part in ((train, "train"), (test, "cross")):
        want = formulas(x[pick], train[pick])
        points = train.astype(kind)
        rows = points if x is train else x.astype(kind)
        for way in WAYS:
            out = np.zeros((N_KERNELS, len(x), len(train)), kind)
            fill(rows, points, out, way)
            difference = np.abs(out[:, pick, pick].astype(np.float64) - want)
            if way != "whole" and x is train:
                difference = np.tril(difference)
            numpy_error = max(numpy_error, difference.max())
        our_error = max(our_error, np.abs(np.array(sample[part]).reshape(want.shape) - want).max())
    return numpy_error, our_error


def ours(folder):
    """What the bench says, by set and precision: see `bank` in benches/stack.rs."""
    with tempfile.TemporaryDirectory() as name:
        result = pathlib.Path(name, "result.json")
        command = ["cargo", "bench", "--quiet", "-p", "multikernel", "--bench", "stack", "--", "bank"]
        options = ["--data-dir", str(folder), "--json", str(result)]
        done = subprocess.run(command + options, cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"the bench failed:\n{done.stderr}")
        return {(row["set"], row["precision"]): row for row in json.loads(result.read_text())}


def pair(values, form):
    return " / ".join(format(value, form) for value in values)


def print_errors(sets, bench):
    """Prints the first table; returns whether all values in f64 are right."""
    right = True
    print("Largest difference from the formulas, on every hundredth row and column\n")
    print("| set | precision | numpy | ours |\n|---|---|---:|---:|")
    for name, (train, test) in sets.items():
        for precision, kind in PRECISIONS.items():
            both = errors(train, test, kind, bench[name, precision]["sample"])
            right &= precision != "f64" or max(both) <= WANTED
            print(f"| {name} | {precision} | {both[0]:.1e} | {both[1]:.1e} |", flush=True)
    return right


def print_times(sets, bench, numpy_seconds):
    """Prints the second table: both memories as `fresh / reused`; the plain way in numpy, and the quickest of all ways."""
    memories = ["fresh", "reused"]
    plain = {key: [seconds["whole"][memory] for memory in memories] for key, seconds in numpy_seconds.items()}
    quickest = {
        key: [min(seconds[way][memory] for way in WAYS) for memory in memories] for key, seconds in numpy_seconds.items()
    }
    print("\nAll 17 kernels, stored, one thread: fresh / reused memory, seconds, and how many times faster ours is\n")
    print(
        "| set | train + test | precision | ours s | than numpy whole, f64 | than numpy whole, same precision "
        "| than the quickest numpy, f64 | than the quickest numpy, same precision | two threads than one "
        "| the same, arithmetic alone |\n|---|---:|---|---:|---:|---:|---:|---:|---:|---:|"
    )
    for name, (train, test) in sets.items():
        for precision in PRECISIONS:
            row = bench[name, precision]
            one, two = ([row[threads][memory] for memory in memories] for threads in ("one_thread", "two_threads"))
            others = [plain[name, "f64"], plain[name, precision], quickest[name, "f64"], quickest[name, precision]]
            ratios = [[a / b for a, b in zip(other, one)] for other in others] + [[a / b for a, b in zip(one, two)]]
            print(
                f"| {name} | {len(train)} + {len(test)} | {precision} | {pair(one, '.4f')} | "
                + " | ".join(pair(values, ".1f") for values in ratios[:4])
                + f" | {pair(ratios[4], '.2f')} | {row['one_thread']['arithmetic'] / row['two_threads']['arithmetic']:.2f} |"
            )
    print("\nnumpy by way: fresh / reused memory, seconds\n")
    print(f"| set | precision | {' | '.join(WAYS)} |\n|---|---|---:|---:|---:|")
    for (name, precision), seconds in numpy_seconds.items():
        cells = [pair((seconds[way][memory] for memory in memories), ".4f") for way in WAYS]
        print(f"| {name} | {precision} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    # Absolute, because cargo runs benches in the folder of the crate.
    folder = parser.parse_args().data_dir.resolve()
    missing = [name for name in SETS if not (folder / f"{name}.csv.gz").exists()]
    for name in missing:
        print(f"{name}: no {name}.csv.gz in {folder}, left out", file=sys.stderr)
    if missing == SETS:
        return
    sets = {name: halves(read(folder / f"{name}.csv.gz")) for name in SETS if name not in missing}
    bench = ours(folder)
    right = print_errors(sets, bench)
    numpy_seconds = {
        (name, precision): time_numpy(*rows, kind)
        for name, rows in sets.items()
        for precision, kind in PRECISIONS.items()
    }
    print_times(sets, bench, numpy_seconds)
    if not right:
        sys.exit(f"kernels in f64 differ from the formulas by more than {WANTED:g}")


if __name__ == "__main__":
    main()
