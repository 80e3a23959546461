"""Training on 100,000 rows of 10 categories with 1,000 levels each: seconds and processor seconds.

    python benches/categories.py [--rows N] [--binary FILE] [--landmarks N]

The classes follow from a sum of effects of the levels and noise. Ours is `multikernel train` as a whole, reading included, by
`ufomkl` and `mklr` with landmarks. Needs nothing but Python.
"""

import argparse
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLUMNS, LEVELS = 10, 1000


def write(path, n):
    draw = random.Random(1)
    effects = [[draw.gauss(0, 1) for _ in range(LEVELS)] for _ in range(COLUMNS)]
    with path.open("w") as file:
        file.write(",".join(f"c{j}" for j in range(COLUMNS)) + ",y\n")
        for _ in range(n):
            row = [draw.randrange(LEVELS) for _ in range(COLUMNS)]
            total = sum(effect[level] for effect, level in zip(effects, row)) + draw.gauss(0, 1)
            file.write(",".join(f"l{level}" for level in row) + (",a\n" if total > 0 else ",b\n"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--landmarks", type=int, default=300)
    parser.add_argument("--binary", default=ROOT / "target/release/multikernel")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table, model = pathlib.Path(folder, "rows.csv"), pathlib.Path(folder, "m.multikernel")
        write(table, args.rows)
        print(f"{'method':<10}{'seconds':>9}{'cpu s':>9}")
        for method in ("ufomkl", "mklr"):
            command = [args.binary, "train", table, "--label", "y", "--method", method]
            command += ["--set", f"landmarks={args.landmarks}", "--out", model, "-q"]
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            run = subprocess.run(command, capture_output=True, text=True)
            if run.returncode:
                sys.exit(run.stderr)
            after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"{method:<10}{seconds:9.1f}{used:9.1f}", flush=True)


if __name__ == "__main__":
    main()
