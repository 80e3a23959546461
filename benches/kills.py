"""Runs killed with -9 at random moments and resumed: the result has the bits of the run that nobody disturbed.

Every method of `multikernel train` with a checkpoint, streams, evaluations and fits of Python with `checkpoint=`, and
evaluations on a Dask cluster whose workers are killed. Moments are drawn over the length of the whole run;
each case is killed up to three times. Ends with status 1 when a case fails.

    cargo build --release -p multikernel-cli -p multikernel-python && python benches/kills.py --kills 100

Python and Dask take part where the package and `distributed` can be imported.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Settings that make a run last about a second, so that there is something to interrupt.
SLOW = {
    "bm3kl": ["draws=400"],
    "bsvm": ["sweeps=1500"],
    "bank": ["sweeps=400"],
    "cik": ["sweeps=60"],
    "dpm": ["sweeps=200"],
    "svimkl": ["solver=ascent", "iterations=1500"],
    "mklr": ["tol=0"],
    "bemkl": ["tol=0", "iterations=600"],
    "sbemkl": ["tol=0", "iterations=600"],
    "mkc": ["tol=0", "rounds=2000"],
    "auto": ["effort=thorough"],
}
STREAMS = ["mklda", "ufomkl", "obscure"]
PYTHON = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
import multikernel as mk
from kills import timeless
X, y = mk.datasets.load_sonar(return_X_y=True)
with ThreadPoolExecutor(1) as pool:
    found = mk.evaluate(X, y, ["average", "evidence", "gpc"], repeats=20, executor=pool, checkpoint=sys.argv[2])
open(sys.argv[1], "w").write(timeless(found))
"""
FITS = {
    "classifier": "mk.BM3KL(draws=400), y",
    "regressor": 'mk.MKLRegressor("bemkl", params={"tol": 0, "iterations": 2000}), X[:, 0] * X[:, 1]',
    "survival": 'mk.MKLSurvival("mklr", params={"tol": 0}), mk.survival_target(1 + X[:, 0], X[:, 1] > X[:, 2])',
    "clusterer": "mk.DPM(sweeps=400), None",
}
FIT = """
import sys
import multikernel as mk
X, y = mk.datasets.load_sonar(return_X_y=True)
estimator, target = {made}
estimator.fit(X, target, checkpoint=sys.argv[2], checkpoint_seconds=0.01).save(sys.argv[1])
"""


def rows(path, n, seed):
    """A stream of two classes."""
    draw = random.Random(seed)
    with path.open("w") as file:
        print("a,b,c,d,label", file=file)
        for i in range(n):
            x = [draw.gauss(0.6 * (i % 2) * (j < 2), 1) for j in range(4)]
            print(*(f"{value:.4f}" for value in x), "pq"[i % 2], sep=",", file=file)


def ended(command, seconds=None):
    """Runs until the end, or kills it after some seconds; whether it came to its end, and what it said."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        _, said = process.communicate(timeout=seconds)
        return True, process.returncode, said
    except subprocess.TimeoutExpired:
        process.kill()
        _, said = process.communicate()
        return False, process.returncode, said


class Case:
    """A run that can be started any number of times: how, what it leaves, and how long it takes."""

    def __init__(self, name, command, folder):
        self.name, self.command, self.folder = name, command, folder
        begin = time.perf_counter()
        done, status, said = ended(self.line("whole"))
        self.seconds = time.perf_counter() - begin
        if status != 0:
            sys.exit(f"{name}: {said}")
        self.whole = self.path("whole").read_bytes()

    def path(self, run, ending=""):
        return self.folder / f"{self.name}-{run}{ending}"

    def line(self, run):
        return self.command(self.path(run), self.path(run, ".checkpoint"))

    def killed(self, run, draw, most):
        """Kills so often, then lets it end; the number of kills, of those with a checkpoint, and whether the bits are right."""
        kills = resumed = 0
        for _ in range(most):
            done, status, said = ended(self.line(run), self.seconds * draw.uniform(0.02, 0.9))
            if done:
                if status != 0:
                    return kills, resumed, f"status {status}: {said}"
                break
            kills += 1
            resumed += self.path(run, ".checkpoint").exists()
        done, status, said = ended(self.line(run))
        if status != 0:
            return kills, resumed, f"status {status}: {said}"
        same = self.path(run).read_bytes() == self.whole
        self.path(run).unlink()
        return kills, resumed, "" if same else "other bits"


def trains(binary, folder):
    methods = json.loads(subprocess.run([binary, "methods", "--json"], check=True, stdout=subprocess.PIPE).stdout)
    names = [method["name"] for method in (methods if isinstance(methods, list) else methods["methods"])]
    for name in names:
        settings = [word for setting in SLOW.get(name, []) for word in ("--set", setting)]
        settings += ["--set", "kernel=0"] if name == "svm" else []
        views = ["--view", "x=0:30", "--view", "y=30:60"] if name == "bestview" else []

        def command(out, checkpoint, name=name, settings=settings, views=views):
            line = [binary, "train", "sonar", "--method", name, "--out", out, "--checkpoint", checkpoint, "--seed", "7"]
            return line + ["--checkpoint-seconds", "0.01", "--resume", "-q", *settings, *views]

        yield Case(name, command, folder)


def streams(binary, folder):
    data = folder / "stream.csv"
    rows(data, 6000, 1)
    for name in STREAMS:

        def command(out, checkpoint, name=name):
            line = [binary, "online", data, "--method", name, "--out", out, "--checkpoint", checkpoint, "--budget", "500"]
            return line + ["--checkpoint-seconds", "0.01", "--resume", "-q", "--warmup", "200"]

        yield Case(f"online-{name}", command, folder)


def evaluations(folder):
    def command(out, checkpoint):
        return [sys.executable, "-c", f"import sys; sys.path.append({str(ROOT / 'benches')!r})\n{PYTHON}", out, checkpoint]

    yield Case("python", command, folder)


def fits(folder):
    for name, made in FITS.items():

        def command(out, checkpoint, made=made):
            return [sys.executable, "-c", FIT.format(made=made), out, checkpoint]

        yield Case(f"python-{name}", command, folder)


def timeless(found):
    """The table without what a clock measured."""

    def strip(value):
        if isinstance(value, dict):
            return {name: strip(inner) for name, inner in value.items() if "seconds" not in name}
        return [strip(inner) for inner in value] if isinstance(value, list) else value

    return json.dumps(strip(found.raw), sort_keys=True)


def on_dask(draw, n):
    """Evaluations whose workers are killed while they compute: how many kills, and of how many tables how many are right."""
    import multikernel as mk
    from distributed import Client, LocalCluster

    X, y = mk.datasets.load_sonar(return_X_y=True)

    def table(**given):
        return timeless(mk.evaluate(X, y, ["average", "evidence", "gpc"], repeats=20, **given))

    begin = time.perf_counter()
    wanted = table()
    seconds = time.perf_counter() - begin
    kills = tables = right = 0
    while kills < n:
        cluster = LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50)
        with cluster, Client(cluster) as client:

            def kill(client=client):
                nonlocal kills
                for pid in list(client.run(os.getpid).values())[: draw.choice([1, 2])]:
                    os.kill(pid, 9)
                    kills += 1

            timer = threading.Timer(draw.uniform(0, seconds), kill)
            timer.start()
            found = table(executor=client, deadline=120)
            timer.join()
            tables, right = tables + 1, right + (found == wanted)
    return kills, tables, right


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default=os.environ.get("MULTIKERNEL", ROOT / "target" / "release" / "multikernel"))
    parser.add_argument("--kills", type=int, default=100, help="at least so many, without those on Dask")
    parser.add_argument("--dask", type=int, default=4, help="kills of workers on a Dask cluster; 0 for none")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    draw, failed = random.Random(args.seed), []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cases = [*trains(args.binary, folder), *streams(args.binary, folder)]
        try:
            import multikernel  # noqa: F401

            cases += [*evaluations(folder), *fits(folder)]
        except ImportError:
            print("multikernel cannot be imported: nothing of Python")
        kills = resumed = runs = right = 0
        while kills < args.kills:
            for case in cases:
                found, of_those, wrong = case.killed(runs, draw, 3)
                kills, resumed, runs, right = kills + found, resumed + of_those, runs + 1, right + (not wrong)
                if wrong:
                    failed.append(f"{case.name}: {wrong}")
                print(f"{case.name}: {case.seconds:.2f} s, {found} kills, {of_those} with a checkpoint, {wrong or 'the same bits'}", flush=True)
        print(f"{len(cases)} cases, {kills} kills, {resumed} of them with a checkpoint: {right} of {runs} resumed runs have the same bits")
        if args.dask:
            found, tables, right = on_dask(draw, args.dask)
            print(f"Dask: {found} kills of workers, {right} of {tables} tables the same")
            if right < tables:
                failed.append("Dask: another table")
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
