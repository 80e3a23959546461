"""Peak memory of `multikernel train` where the kernels would not fit: what is computed on the way is not stored.

    python benches/memory.py

trains `average` on generated rows: 170 kernels of 4,000 rows within 1 GiB and without a limit, whose model files must be
the same byte for byte, 300 Gaussians of 20,000 rows within 4 GiB, and of 30,000 rows with `--precision f32`. Prints peak
resident memory and seconds, and ends with status 1 when a claim does not hold. Needs cargo, or the program in MULTIKERNEL, and a
system with `wait4`.

`svm` and `average` sum kernels on the way and store none with or without a limit, so the two model files show that a
limit changes nothing; that stored and computed kernels are equal is tested in crates/multikernel/tests/interface/stack.rs.
"""

import argparse
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
GIB = 2**30
N_COLUMNS = 10
EACH = "gaussian(2^-6..2^7) each, polynomial(1..3) each"
RADIAL = "gaussian(gamma=2^-15..2^15; 300)"
# Name, rows, kernels, how many these are, --memory (None: no limit), --precision, peak allowed in GiB (None: any).
RUNS = [
    ("limited", 4000, EACH, 170, "1GiB", "f64", 1.2),
    ("not limited", 4000, EACH, 170, None, "f64", None),
    ("many rows", 20000, RADIAL, 300, "4GiB", "f64", 4.0),
    ("more rows", 30000, RADIAL, 300, "4GiB", "f32", 4.0),
]


def generate(path, n_rows):
    """Two classes by a rule with a wave, a product and a square, and noise; the same rows every time."""
    rng = random.Random(n_rows)
    with path.open("w") as file:
        print(*(f"x{j}" for j in range(N_COLUMNS)), "class", sep=",", file=file)
        for _ in range(n_rows):
            x = [rng.gauss(0, 1) for _ in range(N_COLUMNS)]
            score = math.sin(2 * x[0]) + x[1] * x[2] + 0.5 * (x[3] ** 2 - 1) + 0.5 * rng.gauss(0, 1)
            print(*(f"{value:.6f}" for value in x), "a" if score > 0 else "b", sep=",", file=file)


def build():
    """Builds the program unless there is one; its path, which cargo alone knows."""
    if "MULTIKERNEL" in os.environ:
        return os.environ["MULTIKERNEL"]
    command = ["cargo", "build", "--release", "--bin", "multikernel", "--message-format", "json"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    return next(message["executable"] for message in messages if message.get("executable"))


def train(program, data, bank, memory, precision, model):
    """Peak bytes of the process, its seconds, and the kernels it says it had."""
    command = [program, "train", str(data), "--method", "average", "--kernels", bank]
    command += ["--precision", precision, "--out", str(model)]
    command += [] if memory is None else ["--memory", memory]
    begin = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    said = child.stdout.read()
    # Not child.wait(): only wait4 tells what this one child used.
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"status {child.returncode}: {' '.join(command)}")
    # Kilobytes, but bytes on macOS.
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return peak, seconds, int(re.search(r"(\d+) kernels?", said)[1])


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    program, failed = build(), []
    print("| run | rows | kernels | all stored, one triangle each, GiB | --memory | --precision | peak GiB | allowed GiB | s |")
    print("|---|---:|---:|---:|---|---|---:|---:|---:|", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder, models = pathlib.Path(name), {}
        for run, n_rows, bank, n_wanted, memory, precision, allowed in RUNS:
            data = folder / f"{n_rows}.csv"
            if not data.exists():
                generate(data, n_rows)
            peak, seconds, n_kernels = train(program, data, bank, memory, precision, folder / run)
            models[run] = (folder / run).read_bytes()
            stored = n_kernels * n_rows * (n_rows + 1) / 2 * 8 / GIB
            print(
                f"| {run} | {n_rows} | {n_kernels} | {stored:.1f} | {memory or 'none'} | {precision} "
                f"| {peak / GIB:.2f} | {allowed or 'any'} | {seconds:.2f} |",
                flush=True,
            )
            if n_kernels != n_wanted:
                failed.append(f"{run}: {n_kernels} kernels instead of {n_wanted}")
            if allowed is not None and peak >= allowed * GIB:
                failed.append(f"{run}: peak of {peak / GIB:.2f} GiB, {allowed} allowed")
    same = models["limited"] == models["not limited"]
    print(f"\nModel files of 4000 rows with and without a limit: {'the same' if same else 'different'}, "
          f"{len(models['limited'])} bytes")
    if not same:
        failed.append("the model files of 4000 rows differ")
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
