"""Wall-clock seconds of whole trainings on 1, 4 and all threads, with the bytes of their models compared.

    python benches/cores.py PROGRAM [--data FOLDER] [--threads 1,4,16] [--only NAME,...] [--short]

The last column is what the machine itself allows: as many copies of the run on one thread as there are threads, all at once, as
times the speed of one alone. It is below the number of threads where cores share caches, memory and clock.

Needs numpy. Sets that are not bundled are read from FOLDER and skipped where they are absent; the others are made. --short has a
few steps of each method in place of whole runs.
"""

import argparse
import hashlib
import os
import pathlib
import subprocess
import tempfile
import time

import numpy as np


def blobs(path, rows, columns, classes, seed):
    """Normal clusters, each with a curved boundary between two of the classes."""
    rng = np.random.default_rng(seed)
    clusters = max(classes, 6)
    centres = rng.normal(size=(clusters, columns)) * 4
    cluster = rng.integers(0, clusters, rows)
    x = centres[cluster] + rng.normal(size=(rows, columns))
    inside = ((x - centres[cluster])[:, :2] ** 2).sum(axis=1) < 1.4
    label = (cluster + inside) % classes
    np.savez(path, x=x, y=label)


def jobs(folder, data, short):
    """Name, command after the program's name."""
    few = lambda *settings, whole=(): [word for each in (settings if short else whole) for word in ("--set", each)]
    made = {
        "blobs100k": (100_000, 10, 2),
        "digits10": (1_000, 16, 10),
        "rows50k": (50_000, 16, 2),
        "rows4k": (4_000, 16, 4),
    }
    for name, (rows, columns, classes) in made.items():
        blobs(folder / f"{name}.npz", rows, columns, classes, seed=len(name))
    of = lambda name: str(folder / f"{name}.npz")
    given = lambda name: str(data / name) if data and (data / name).exists() else None
    all_jobs = [
        ("cik, 100,000 rows", "train", of("blobs100k"), ["--method", "cik", "--set", "sweeps=5"]),
        ("bm3kl, german, 4 chains", "train", given("german.numer.csv.gz"), ["--method", "bm3kl", *few("draws=15", "warmup=15")]),
        ("bm3kl, 10 classes", "train", of("digits10"), ["--method", "bm3kl", *few("draws=3", "warmup=3", whole=("draws=25", "warmup=25"))]),
        ("svimkl, 4,000 rows", "train", of("rows4k"), ["--method", "svimkl", *few("iterations=18")]),
        ("mklda, 50,000 rows", "train", of("rows50k"), ["--method", "mklda", *few("loops=1")]),
        ("average, 4,000 rows", "train", of("rows4k"), ["--method", "average"]),
        ("evidence, 4,000 rows", "train", of("rows4k"), ["--method", "evidence"]),
        ("mkboost-d1, 4,000 rows", "train", of("rows4k"), ["--method", "mkboost-d1"]),
        ("evaluate, 20 splits of sonar", "evaluate", "sonar", ["--method", "average,evidence,auto", "--repeats", "20"]),
    ]
    for job in all_jobs:
        if job[2] is None:
            print(f"{job[0]}: skipped, its set is not there")
        else:
            yield job


def side_by_side(command, out, count):
    """Seconds of so many copies of a command at once."""
    start = time.perf_counter()
    copies = [subprocess.Popen([*command, *([f"{out}.{k}"] if out else [])], stdout=subprocess.DEVNULL) for k in range(count)]
    codes = [copy.wait() for copy in copies]
    seconds = time.perf_counter() - start
    for k in range(count if out else 0):
        pathlib.Path(f"{out}.{k}").unlink(missing_ok=True)
    return seconds if not any(codes) else float("nan")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--threads", default=f"1,4,{os.cpu_count()}")
    parser.add_argument("--only", default="")
    parser.add_argument("--short", action="store_true")
    args = parser.parse_args()
    counts = [int(count) for count in args.threads.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        print("| job | " + " | ".join(f"{count} threads, s" for count in counts) + " | speed-up | same bytes | copies allow |")
        print("|---|" + "---:|" * len(counts) + "---:|---|---:|", flush=True)
        for name, verb, data, rest in jobs(folder, args.data, args.short):
            if args.only and not any(word in name for word in args.only.split(",")):
                continue
            seconds, found = [], set()
            for count in counts:
                out = folder / "out"
                target = ["--out", str(out)] if verb == "train" else []
                base = [args.program, verb, data, *rest, "--quiet"]
                command = [*base, "--threads", str(count), *target]
                start = time.perf_counter()
                done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                seconds.append(time.perf_counter() - start)
                if done.returncode:
                    print(f"{name}: {done.stderr}")
                    break
                # Evaluations hold their times; their bytes differ.
                found.add(hashlib.sha256(out.read_bytes()).hexdigest() if verb == "train" else "")
                out.unlink(missing_ok=True)
            else:
                shown = " | ".join(f"{value:.2f}" for value in seconds)
                same = "yes" if len(found) == 1 else "NO"
                alone = [*base, "--threads", "1", *target[:1]]
                allowed = counts[-1] * seconds[0] / side_by_side(alone, out if target else None, counts[-1])
                print(f"| {name} | {shown} | {seconds[0] / seconds[-1]:.1f} | {same} | {allowed:.1f} |", flush=True)


if __name__ == "__main__":
    main()
