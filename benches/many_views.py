"""CPU seconds and memory of whole trainings on many classes and many views, made from a seed.

    python benches/many_views.py PROGRAM [--rows 2000] [--classes 27] [--views 12] [--method svimkl,bemkl,single] [--set KEY=VALUE]
        [--threads 2] [--limit SECONDS]

Needs numpy. Each view has 10 to 60 columns; a third of the views say much about the class, a third little, a third nothing.
Prints the accuracy on as many new rows as there are for training, too.
"""

import argparse
import pathlib
import resource
import subprocess
import tempfile
import time

import numpy as np


def write(folder, name, rows, classes, views, seed):
    """A file for each view, the labels in the first; the centres of the classes come from the seed alone."""
    centres = np.random.default_rng(seed)
    rng = np.random.default_rng([seed, len(name)])
    labels = np.arange(rows) % classes
    rng.shuffle(labels)
    files = []
    for view in range(views):
        n_columns = 10 + 50 * view // max(views - 1, 1)
        means = centres.normal(size=(classes, n_columns)) * (0.9, 0.4, 0.0)[view % 3]
        table = means[labels] + rng.normal(size=(rows, n_columns))
        columns = [f"x{column}" for column in range(n_columns)] + ["label"] * (view == 0)
        path = folder / f"{name}-{view}.csv"
        with path.open("w") as file:
            file.write(",".join(columns) + "\n")
            for row, label in zip(table, labels):
                ends = f",c{label:02}" if view == 0 else ""
                file.write(",".join(f"{value:.5g}" for value in row) + ends + "\n")
        files += ["--view", f"view{view}={path}"]
    return files, [f"c{label:02}" for label in labels]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--classes", type=int, default=27)
    parser.add_argument("--views", type=int, default=12)
    parser.add_argument("--method", default="svimkl,bemkl,single")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=float, default=3600)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        made, labels = {}, {}
        for name in ("train", "test"):
            made[name], labels[name] = write(folder, name, args.rows, args.classes, args.views, 5)
        print("| method | clock, s | CPU, s | most memory, MB | accuracy |\n|---|---:|---:|---:|---:|", flush=True)
        for method in args.method.split(","):
            model, settings = folder / "model", [word for value in args.set for word in ("--set", value)]
            command = [args.program, "train", *made["train"], "--method", method, *settings, "--quiet"]
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            command += ["--threads", str(args.threads), "--out", str(model)]
            try:
                done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=args.limit)
            except subprocess.TimeoutExpired:
                print(f"| {method} | more than {args.limit:.0f} | | | |", flush=True)
                continue
            seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
            if done.returncode:
                print(f"{method}: {done.stderr}", flush=True)
                continue
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            predict = [args.program, "predict", str(model), *made["test"], "--quiet"]
            lines = subprocess.run(predict, stdout=subprocess.PIPE, text=True).stdout.splitlines()[1:]
            found = [line.split(",")[-1] for line in lines]
            accuracy = np.mean([label == right for label, right in zip(found, labels["test"])])
            print(f"| {method} | {seconds:.1f} | {spent:.1f} | {after.ru_maxrss / 1024:.0f} | {accuracy:.4f} |", flush=True)
            model.unlink()


if __name__ == "__main__":
    main()
