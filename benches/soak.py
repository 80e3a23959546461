"""An hour of everything at once: train, predict, evaluate and online in parallel processes, with random kills, signals, full
disks and slow readers. Nothing may be lost and memory stays flat.

    cargo build --release -p multikernel-cli && python benches/soak.py --minutes 60

What is checked after every operation: results are whole and have the bits of an undisturbed run, the file that a killed or
refused run leaves is the one that was there before, no partial file and no lock stays but of killed runs, statuses are
those promised, and nobody panics. Full disks are small file systems in memory (tmpfs, which needs root; else they are left
out). One process reads an endless stream for the whole time: its resident memory is measured. Ends with status 1 when
anything was lost.
"""

import argparse
import collections
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

from kills import ROOT, rows

TRAINS = {
    "average": [],
    "evidence": [],
    "silp": [],
    "mklr": [],
    "bemkl": [],
    "bm3kl": ["--set", "draws=60", "--set", "warmup=30"],
    "mkboost-d1": [],
    "dpm": [],
}


class Soak:
    def __init__(self, binary, folder, full, keep, seed):
        self.keep = keep
        self.binary, self.folder, self.full = binary, folder, full
        self.draw = random.Random(seed)
        self.lock = threading.Lock()
        self.counts = collections.Counter()
        self.losses = []
        self.data = folder / "rows.csv"
        rows(self.data, 200, seed)
        self.stream = folder / "stream.csv"
        rows(self.stream, 3000, seed + 1)
        self.whole = {}
        for method, settings in TRAINS.items():
            out = folder / f"whole-{method}"
            self.must([binary, "train", self.data, "--method", method, "--out", out, "-q", *settings])
            self.whole[method] = out.read_bytes()
        self.model = folder / "whole-average"
        out = folder / "whole-labels"
        self.must([binary, "predict", self.model, self.data, "--scores", "--out", out, "-q"])
        self.labels = out.read_bytes()
        out = folder / "whole-online"
        self.must([binary, "online", self.stream, "--warmup", "100", "--budget", "300", "--out", out, "-q"])
        self.online = out.read_bytes()
        self.table = self.must([binary, "evaluate", self.data, "--method", "majority,average", "--folds", "4", "-q"])

    @staticmethod
    def must(command):
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout

    def chance(self, share):
        with self.lock:
            return self.draw.random() < share

    def uniform(self, low, high):
        with self.lock:
            return self.draw.uniform(low, high)

    def choice(self, values):
        with self.lock:
            return self.draw.choice(values)

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    def lost(self, what):
        with self.lock:
            self.losses.append(what)
            print(f"LOST {what}", flush=True)

    def run(self, command, what):
        """Runs a command, perhaps disturbs it, and gives its status; None where it was killed."""
        disturb = self.choice(["nobody", "nobody", "kill", "interrupt", "terminate"])
        process = subprocess.Popen([self.binary, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        moment = None if disturb == "nobody" else self.uniform(0, 0.8)
        try:
            _, said = process.communicate(timeout=moment)
            disturb = "nobody"
        except subprocess.TimeoutExpired:
            process.send_signal({"kill": 9, "interrupt": signal.SIGINT, "terminate": signal.SIGTERM}[disturb])
            begin = time.perf_counter()
            _, said = process.communicate()
            # On a machine with much other work a stop waits for its turn: counted, but nothing is lost.
            if disturb != "kill" and time.perf_counter() - begin > 5:
                self.count("stops of over 5 s")
        self.count(f"{what}, {disturb}" if disturb != "nobody" else what)
        if "panicked" in said or process.returncode in (-6, -11, 101):
            self.lost(f"{what}: status {process.returncode}, {said}")
        if disturb == "kill":
            return None, said
        # A signal may come before the program listens to it: nothing was begun then.
        unheard = {"interrupt": -signal.SIGINT, "terminate": -signal.SIGTERM}.get(disturb)
        if process.returncode not in (0, 2, 130, unheard):
            self.lost(f"{what}: status {process.returncode}, {said}")
        return (process.returncode if disturb == "nobody" else None), said

    def check(self, path, allowed, what, resumed=None):
        """The file is one of those it may be: the old, the new, or none. One that is not is kept, with its checkpoint."""
        found = path.read_bytes() if path.exists() else None
        if found not in allowed:
            self.lost(f"{what}: {path.name} is neither the old file nor the new one{' (resumed)' if resumed else ''}")
            self.keep.mkdir(exist_ok=True)
            (self.keep / path.name).write_bytes(found or b"")
            (self.keep / f"{path.name}.resumed").write_bytes(resumed or b"")

    def train(self, worker):
        method = self.choice(list(TRAINS))
        out, checkpoint = self.folder / f"{worker}-{method}", self.folder / f"{worker}-{method}.checkpoint"
        before = out.read_bytes() if out.exists() else None
        resumed = checkpoint.read_bytes() if checkpoint.exists() else None
        command = ["train", self.data, "--method", method, "--out", out, "-q", *TRAINS[method]]
        command += ["--checkpoint", checkpoint, "--checkpoint-seconds", "0.05", "--resume"]
        status, said = self.run(command, "train")
        if status == 0:
            self.check(out, [self.whole[method]], f"train {method}", resumed)
            if checkpoint.exists():
                self.lost(f"train {method}: a finished run leaves its checkpoint")
        elif status is not None:
            self.lost(f"train {method}: {said}")
        elif out.exists() and out.read_bytes() not in (before, self.whole[method]):
            # A stopped run leaves what was learned so far; a killed one leaves the old file. Both can be read.
            if subprocess.run([self.binary, "inspect", out], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
                self.lost(f"train {method}: a stopped run leaves a file that cannot be read")
            out.unlink()

    def predict(self, worker):
        out = self.folder / f"{worker}-labels"
        before = out.read_bytes() if out.exists() else None
        status, said = self.run(["predict", self.model, self.data, "--scores", "--out", out, "-q"], "predict")
        self.check(out, [self.labels] if status == 0 else [before, self.labels], "predict")
        if status not in (0, None):
            self.lost(f"predict: {said}")

    def learn(self, worker):
        out, checkpoint = self.folder / f"{worker}-online", self.folder / f"{worker}-online.checkpoint"
        command = ["online", self.stream, "--warmup", "100", "--budget", "300", "--out", out, "-q"]
        command += ["--checkpoint", checkpoint, "--checkpoint-seconds", "0.05", "--resume"]
        status, said = self.run(command, "online")
        if status == 0:
            self.check(out, [self.online], "online")
            out.unlink(missing_ok=True)
        elif status is not None:
            self.lost(f"online: {said}")

    def evaluate(self, worker):
        command = [self.binary, "evaluate", self.data, "--method", "majority,average", "--folds", "4", "-q"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # A reader that takes a byte now and then, or goes away.
        if self.chance(0.2):
            process.stdout.close()
            process.stderr.read()
            process.wait()
            self.count("evaluate, reader gone")
            return
        found = b""
        if self.chance(0.5):
            for _ in range(20):
                found += process.stdout.read(1)
                time.sleep(0.02)
            self.count("evaluate, slow reader")
        else:
            self.count("evaluate")
        found += process.stdout.read()
        said = process.stderr.read().decode()
        if process.wait() != 0 or b"panicked" in found or timeless(found) != timeless(self.table):
            self.lost(f"evaluate: status {process.returncode}, another table, {said}")

    def fill(self, worker):
        """Writes to a disk that is full, or nearly: the old file stays, the error names it."""
        room = self.choice([0, 2, 40, 4000])
        folder = self.full / worker
        for old in folder.glob("*"):
            old.unlink()
        (folder / "m").write_bytes(self.whole["average"])
        try:
            with (folder / "ballast").open("wb") as ballast:
                while True:
                    ballast.write(bytes(4096))
                    ballast.flush()
        except OSError:
            pass
        if room:
            size = (folder / "ballast").stat().st_size
            os.truncate(folder / "ballast", max(size - 1024 * room, 0))
        command = ["train", self.data, "--method", "evidence", "--out", folder / "m", "-q"]
        status, said = self.run(command, f"full disk, {room} KiB left")
        after = (folder / "m").read_bytes()
        if status == 0 and after != self.whole["evidence"]:
            self.lost("full disk: success without the new file")
        # A run that was stopped, not killed, may have written what was learned so far.
        if status != 0 and after not in (self.whole["average"], self.whole["evidence"]):
            known = subprocess.run([self.binary, "inspect", folder / "m"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if known.returncode or status is not None:
                self.lost(f"full disk: the old file is gone: status {status}, {said}, {known.stderr}")
        if status == 2 and "m" not in said:
            self.lost(f"full disk: {said}")

    def work(self, worker, until):
        jobs = [self.train, self.train, self.predict, self.learn, self.evaluate] + ([self.fill] if self.full else [])
        while time.time() < until:
            job = self.choice(jobs)
            try:
                job(worker)
            except Exception as error:
                self.lost(f"{job.__name__}: {error!r}")


def timeless(table):
    """The lines of a table without their seconds."""
    return [line.split()[:4] for line in table.decode().splitlines() if line.strip() and not line.startswith("seconds")]


def endless(binary, folder, until, samples):
    """Feeds one learner for the whole time and looks at its memory."""
    command = [binary, "online", "-", "--warmup", "200", "--budget", "500", "--out", folder / "endless", "--format", "csv", "-q"]
    command += ["--checkpoint", folder / "endless.checkpoint", "--checkpoint-seconds", "1"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    draw, n = random.Random(5), 0
    process.stdin.write("a,b,c,d,label\n")
    last = 0
    while time.time() < until:
        for _ in range(100):
            x = [draw.gauss(0.6 * (n % 2) * (j < 2), 1) for j in range(4)]
            process.stdin.write(",".join(f"{value:.4f}" for value in x) + "," + "pq"[n % 2] + "\n")
            n += 1
        process.stdin.flush()
        time.sleep(0.05)
        if time.time() - last > 10:
            last = time.time()
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            samples.append(int(status.split("VmRSS:")[1].split()[0]))
    process.stdin.close()
    said = process.stderr.read()
    return process.wait(), said, n


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default=os.environ.get("MULTIKERNEL", ROOT / "target" / "release" / "multikernel"))
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("soak-kept"), help="folder for files with wrong bits")
    args = parser.parse_args()
    # The files of a folder that goes away, and one small file system for each worker.
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        names = [f"w{k}" for k in range(args.workers)]
        full = folder / "full"
        mounted = []
        for worker in names:
            (full / worker).mkdir(parents=True)
            mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "none", full / worker]
            if subprocess.run(mount, stderr=subprocess.DEVNULL).returncode == 0:
                mounted.append(full / worker)
        try:
            sys.exit(soak(args, folder, full if len(mounted) == len(names) else None, names))
        finally:
            for place in mounted:
                subprocess.run(["umount", place], check=False)


def soak(args, folder, full, names):
    begin = time.time()
    until = begin + 60 * args.minutes
    run = Soak(args.binary, folder, full, args.keep, args.seed)
    samples, stream = [], []
    threads = [threading.Thread(target=run.work, args=(worker, until)) for worker in names]
    threads.append(threading.Thread(target=lambda: stream.append(endless(args.binary, folder, until, samples))))
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(1)
        if int(time.time() - begin) % 300 == 0:
            print(f"{(time.time() - begin) / 60:.0f} min: {sum(run.counts.values())} operations, {len(run.losses)} lost", flush=True)
    status, said, n = stream[0]
    if status != 0:
        run.lost(f"endless stream: status {status}, {said}")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    killed = sum(count for what, count in run.counts.items() if what.endswith("kill"))
    stopped = sum(count for what, count in run.counts.items() if what.endswith(("interrupt", "terminate")))
    for what, count in sorted(run.counts.items()):
        print(f"  {count:6d}  {what}")
    half = samples[len(samples) // 2 :]
    print(
        f"{(time.time() - begin) / 60:.1f} minutes, {sum(run.counts.values())} operations, {killed} kills, {stopped} stops, "
        f"{len(run.losses)} lost\nthe endless stream: {n} rows, resident {samples[0] / 1024:.0f} MiB at first, {half[0] / 1024:.0f} MiB "
        f"halfway, {samples[-1] / 1024:.0f} MiB at the end; largest process of all {peak:.0f} MiB"
    )
    if half and samples[-1] > 1.2 * half[0] + 4096:
        run.lost("the memory of the stream grows")
    left = [path.name for path in folder.iterdir() if path.name.endswith(".partial")]
    print(f"partial files left by killed runs: {len(left)}")
    return bool(run.losses)


if __name__ == "__main__":
    main()
