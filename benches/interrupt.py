"""Ctrl-C at random moments: seconds until `multikernel train` has ended.

Five methods, 20 moments each, on 12,000 rows of two classes and 8,000 of ten, made here. A run that ends before its moment
does not count and is drawn again. Ends with status 1 when a stop takes more than a second.

    cargo build --release && python benches/interrupt.py
"""

import argparse
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from classes_sklearn import ROOT, rows, write

# Seconds among which moments are drawn.
METHODS = {"average": 3, "evidence": 6, "simplemkl": 6, "mkboost-d1": 6, "svimkl": 6}


def interrupted(command, moment):
    """Seconds from the signal to the end, None where the run was over before."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        process.communicate(timeout=moment)
        return None, ""
    except subprocess.TimeoutExpired:
        start = time.perf_counter()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
        return time.perf_counter() - start, said.strip().rsplit("\n", 1)[-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default=ROOT / "target" / "release" / "multikernel")
    parser.add_argument("--moments", type=int, default=20)
    args = parser.parse_args()
    draw, slow = random.Random(0), 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        sets = {"two": (12000, 2), "ten": (8000, 10)}
        for number, (name, (n_rows, n_classes)) in enumerate(sets.items()):
            write(folder / f"{name}.csv", *rows(n_rows, n_classes, 20, seed=number))
        for method, span in METHODS.items():
            found = []
            while len(found) < args.moments:
                data = folder / f"{list(sets)[len(found) % 2]}.csv"
                command = [args.binary, "train", data, "--method", method, "--out", folder / "model"]
                moment = draw.uniform(0.1, span)
                seconds, said = interrupted(command, moment)
                if seconds is None:
                    continue
                found.append(seconds)
                if seconds > 1:
                    slow += 1
                    print(f"  {method} on {data.name} after {moment:.1f} s: {seconds:.2f} s, {said}")
            found.sort()
            print(f"{method}: {len(found)} stops, median {found[len(found) // 2]:.2f} s, longest {found[-1]:.2f} s", flush=True)
    sys.exit(slow > 0)


if __name__ == "__main__":
    main()
