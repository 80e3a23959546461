"""easymkl, bemkl and simplemkl beside the programs people know for them: MKLpy, BEMKL and DALMKL.

    python benches/rivals.py [easymkl] [bemkl] [dalmkl] [--data-dir DIR] [--bemkl DIR] [--dalmkl DIR] [--splits 3] [--repeats 5]

Both sides get the same Gram matrices (17 kernels of unit diagonal: Gaussians 2^-6 .. 2^7, polynomials 1 .. 3; on all columns, and for
the larger banks on one column each) of the same standardised stratified halves, and are timed by the CPU seconds of fitting alone, on
one thread, in turns; the least of the repeats counts, and the median over splits is told. Ours is timed from the arrays to the fitted
estimator, so that checking and copying them, and shares of kernels, are part of it.

- easymkl: EasyMKL of MKLpy 0.6 (needs torch), which adds kernels where the paper and ours take their mean: lambda is converted, and so is
  the C of its SVC. Both have the same weights with two classes; with more MKLpy learns weights for each class.
- bemkl: Gönen's own code under Octave (`--bemkl` is a copy of github.com/mehmetgonen/bemkl), 200 rounds, without its optional bound
  while it is timed. It starts at random, ours at the mean of that. Ours is told after the first round whose bound is no lower, and
  as it comes.
- dalmkl: `SpicySVM` of the R package RMKL (`--dalmkl` is a copy of github.com/cran/RMKL), compiled as it is by g++ with Armadillo and
  OpenBLAS, without R. It minimises sum_i max(0, 1 - y_i f(x_i)) + C sum_m |f_m|, simplemkl c sum_i max(0, 1 - y_i f(x_i)) + (sum_m
  |f_m|)^2 / 2: the same solution where C = sum_m |f_m| / c. Told is the first objective of both.

A rival, a set or a compiler that is not there is left out with a message.
"""

import argparse
import csv
import ctypes
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np
import scipy.io
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import multikernel as mk

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTHS = [2.0**k for k in range(-6, 8)]
DEGREES = [1, 2, 3]
FILES = {"german": "german.numer", "pendigits": "pendigits.train"}


def read(name, folders):
    """Rows and classes of a set; None with a message where it is not there."""
    file = f"{FILES.get(name, name)}.csv.gz"
    path = next((folder / file for folder in folders if (folder / file).exists()), None)
    if path is None:
        print(f"{name}: no {file} in {folders[0]}, left out", file=sys.stderr)
        return None
    with gzip.open(path, "rt", newline="") as text:
        rows = list(csv.reader(text))[1:]
    names = sorted({row[-1] for row in rows})
    return np.array([row[:-1] for row in rows], dtype=np.float64), np.array([names.index(row[-1]) for row in rows])


def halves(X, y, size, seed):
    split = StratifiedShuffleSplit(1, train_size=size or 0.5, test_size=size, random_state=seed)
    train, test = next(split.split(X, y))
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def grams(A, B, n_kernels):
    """An array (n_kernels, rows of A, rows of B): the 17 kernels on all columns, then on each column by itself."""
    found = np.empty((n_kernels, len(A), len(B)))
    at = 0
    for columns in [slice(None), *(slice(j, j + 1) for j in range(A.shape[1]))]:
        a, b = A[:, columns], B[:, columns]
        p, q, products = (a * a).sum(1), (b * b).sum(1), a @ b.T
        squares = np.maximum(p[:, None] + q[None, :] - 2 * products, 0)
        if A is B:
            np.fill_diagonal(squares, 0)
        cosines = (products + 1) / np.sqrt((p + 1)[:, None] * (q + 1)[None, :])
        for kernel in [*(np.exp(squares / (-2 * w * w)) for w in WIDTHS), *(cosines**d for d in DEGREES)]:
            if at < n_kernels:
                found[at] = (kernel + kernel.T) / 2 if A is B else kernel
                at += 1
    return found[:at]


def ours(method, kernels, y, **params):
    """The fitted estimator; kernels as an array (P, n, n), of which it takes views without a copy."""
    return mk.MKLClassifier(method, "precomputed", params=params).fit(np.moveaxis(kernels, 0, 2), y)


def accuracy(model, kernels, y):
    return 100 * float((model.predict(np.moveaxis(kernels, 0, 2)) == y).mean())


def least(calls, repeats):
    """The least CPU seconds of each call, in turns, and what each returned last."""
    seconds, results = [np.inf] * len(calls), [None] * len(calls)
    for _ in range(repeats):
        for k, call in enumerate(calls):
            start = time.process_time()
            results[k] = call()
            seconds[k] = min(seconds[k], time.process_time() - start)
    return seconds, results


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def table(*names):
    row(*names)
    row(*["---"] * len(names))


def told(seconds):
    theirs, own = (float(np.median([pair[k] for pair in seconds])) for k in (0, 1))
    return f"{theirs:.4f}", f"{own:.4f}", f"{theirs / own:.1f}"


# MKLpy ---------------------------------------------------------------------------------------------------------------


def easymkl(args):
    try:
        import torch
        from MKLpy.algorithms import EasyMKL
    except ImportError as error:
        return print(f"easymkl: MKLpy is not here ({error}), left out", file=sys.stderr)
    torch.set_num_threads(1)
    table("set", "rows", "kernels", "MKLpy, s", "ours, s", "times", "accuracy of both, %", "weights differ by")
    sets = [("sonar", 17, None), ("sonar", 170, None), ("ionosphere", 17, None), ("wdbc", 17, None), ("german", 17, None)]
    for name, n_kernels, size in [*sets, ("pendigits", 17, 1000)]:
        if (data := read(name, args.folders)) is None:
            continue
        seconds, right, differ = [], [], 0.0
        for seed in range(args.splits):
            X, y, Z, truth = halves(*data, size, seed)
            kernels, test = grams(X, X, n_kernels), grams(Z, X, n_kernels)
            tensors = list(torch.from_numpy(kernels))
            c, lam = 10.0, 0.1
            params = {"c": c, "lambda": lam / (lam + (1 - lam) * n_kernels)}
            if y.max() > 1:
                params["multiclass"] = "ovr"
            # Ours takes c in units of the spread of the combined kernel.
            combined = np.tensordot(ours("easymkl", kernels, y, **params).weights_, kernels, 1)
            spread = np.trace(combined) / len(y) - combined.mean()
            rival = lambda: EasyMKL(lam=lam, learner=SVC(C=c / spread)).fit(tensors, torch.from_numpy(y))
            # A class at a time takes MKLpy seconds: once is enough.
            repeats = 1 if y.max() > 1 else args.repeats
            pair, (theirs, own) = least([rival, lambda: ours("easymkl", kernels, y, **params)], repeats)
            seconds.append(pair)
            predicted = np.asarray(theirs.predict(list(torch.from_numpy(test))))
            right.append((100 * float((predicted == truth).mean()), accuracy(own, test, truth)))
            if y.max() == 1:
                differ = max(differ, float(np.abs(np.asarray(theirs.solution.weights) - own.weights_).max()))
        of = np.mean(right, axis=0)
        row(name, len(y), n_kernels, *told(seconds), f"{of[0]:.1f}, {of[1]:.1f}", f"{differ:.1e}" if y.max() == 1 else "")


# BEMKL ---------------------------------------------------------------------------------------------------------------

# Octave has these in a package of its own.
NORMAL = {
    "normcdf.m": "function p = normcdf(x)\n  p = erfc(-x / sqrt(2)) / 2;\nend\n",
    "normpdf.m": "function p = normpdf(x)\n  p = exp(-x .* x / 2) / sqrt(2 * pi);\nend\n",
}
RUN_BEMKL = """
load data.mat
p = struct('alpha_lambda', 1, 'beta_lambda', 1, 'alpha_gamma', 1, 'beta_gamma', 1, 'alpha_omega', 1, 'beta_omega', 1);
p.iteration = rounds; p.margin = 1; p.progress = 0; p.seed = seed; p.sigma_g = 0.1;
seconds = Inf;
for k = 1:repeats
  before = cputime();
  evalc("state = bemkl_supervised_classification_variational_train(K, y, p);");
  seconds = min(seconds, cputime() - before);
end
predicted = bemkl_supervised_classification_variational_test(T, state);
right = mean((predicted.p > 0.5) == (truth > 0));
p.progress = 1;
evalc("state = bemkl_supervised_classification_variational_train(K, y, p);");
printf('%.17g %.17g %.17g\\n', seconds, right, state.bounds(end));
"""


def run_octave(folder, kernels, y, test, truth, rounds, repeats, seed):
    """CPU seconds of a fit, its accuracy in percent and its bound, by Octave."""
    with tempfile.TemporaryDirectory() as there:
        for name, text in {**NORMAL, "run.m": RUN_BEMKL}.items():
            (pathlib.Path(there) / name).write_text(text)
        values = {"K": kernels.transpose(1, 2, 0), "y": 1.0 - 2 * y[:, None], "T": test.transpose(2, 1, 0)}
        values |= {"truth": 1.0 - 2 * truth[:, None], "rounds": float(rounds), "repeats": float(repeats), "seed": float(seed)}
        scipy.io.savemat(pathlib.Path(there) / "data.mat", values)
        command = ["octave", "--no-gui", "--no-init-file", "--quiet", "--path", str(folder), "run.m"]
        done = subprocess.run(command, cwd=there, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        seconds, right, bound = (float(text) for text in done.stdout.split()[-3:])
        return seconds, 100 * right, bound


def bound_of(model):
    """The bound after the last round, from what the model tells."""
    text = dict(model.model_.facts)["lower bound of the log evidence"]
    return float(re.findall(r"(-?[0-9.]+) after", text)[-1])


def rounds_to(bound, kernels, y):
    """The fewest rounds after which the bound of ours is no lower than this, 200 if there are none: it rises with each."""
    few, many = 0, 200
    while few + 1 < many:
        middle = (few + many) // 2
        reached = bound_of(ours("bemkl", kernels, y, tol=0, iterations=middle)) >= bound
        few, many = (few, middle) if reached else (middle, many)
    return many


def bemkl(args):
    if shutil.which("octave") is None:
        return print("bemkl: there is no octave, left out", file=sys.stderr)
    if args.bemkl is None or not list(args.bemkl.glob("bemkl_supervised_classification_*_train.m")):
        return print("bemkl: give a copy of its code with --bemkl, left out", file=sys.stderr)
    table("set", "rows", "kernels", "rounds", "BEMKL, s", "ours, s", "times", "accuracy of both, %", "bound of both")
    for name, n_kernels in [("sonar", 17), ("sonar", 170), ("ionosphere", 17), ("wdbc", 17), ("german", 17)]:
        if (data := read(name, args.folders)) is None:
            continue
        seconds, right, bounds = [[], []], [[], []], [[], []]
        for seed in range(args.splits):
            X, y, Z, truth = halves(*data, None, seed)
            kernels, test = grams(X, X, n_kernels), grams(Z, X, n_kernels)
            theirs = run_octave(args.bemkl, kernels, y, test, truth, 200, min(args.repeats, 3), seed)
            settings = [{"tol": 0, "iterations": rounds_to(theirs[2], kernels, y)}, {}]
            fits = [lambda params=params: ours("bemkl", kernels, y, **params) for params in settings]
            for k, (own, model) in enumerate(zip(*least(fits, args.repeats), strict=True)):
                seconds[k].append((theirs[0], own))
                right[k].append((theirs[1], accuracy(model, test, truth)))
                bounds[k].append((theirs[2], bound_of(model), model.model_.steps))
        for k in range(2):
            of, bound = np.mean(right[k], axis=0), np.median(bounds[k], axis=0)
            cells = (f"{of[0]:.1f}, {of[1]:.1f}", f"{bound[0]:.1f}, {bound[1]:.1f}")
            row(name, len(y), n_kernels, f"200, {bound[2]:.0f}", *told(seconds[k]), *cells)


# DALMKL --------------------------------------------------------------------------------------------------------------

# What its source needs of R: a list of results, and a stream.
RCPP = """
#include <armadillo>
#include <iostream>
#include <map>
#include <string>
namespace Rcpp {
struct Slot {
    arma::mat value;
    template <class T> Slot& operator=(const arma::Base<double, T>& x) { value = x.get_ref(); return *this; }
    Slot& operator=(double x) { value.set_size(1, 1); value(0, 0) = x; return *this; }
};
struct List {
    std::map<std::string, Slot> slots;
    Slot& operator[](const char* name) { return slots[name]; }
};
static std::ostream& Rcout = std::cerr;
}
"""
CALL_DALMKL = """
#include "spicytry.cpp"
extern "C" double dalmkl(const double* k, const double* y, int n, int m, double c, double tol, double* alpha) {
    arma::cube kernels(k, n, n, m);
    arma::vec sides(y, n);
    Rcpp::List found = SpicySVM(kernels, sides, c, tol, 1e-6, 500, 500, 10);
    const arma::mat& of = found["alpha"].value;
    std::copy(of.begin(), of.end(), alpha);
    return found["b"].value(0, 0);
}
"""


def compiled(source):
    """The rival as a function of kernels, sides, C and tolerance, which returns sample weights (P, n) and the constant."""
    with tempfile.TemporaryDirectory() as there:
        folder = pathlib.Path(there)
        (folder / "RcppArmadillo.h").write_text(RCPP)
        (folder / "call.cpp").write_text(CALL_DALMKL)
        command = [
            "g++",
            "-O3",
            "-march=native",
            "-std=c++17",
            "-shared",
            "-fPIC",
            "-w",
            "-DARMA_DONT_USE_WRAPPER",
            "-DARMA_NO_DEBUG",
        ]
        command += [f"-I{folder}", f"-I{source}", str(folder / "call.cpp"), "-lopenblas", "-o", str(folder / "dalmkl.so")]
        subprocess.run(command, check=True, capture_output=True, text=True)
        library = ctypes.CDLL(str(folder / "dalmkl.so"))
    call, pointer = library.dalmkl, ctypes.POINTER(ctypes.c_double)
    call.restype = ctypes.c_double
    at = lambda array: array.ctypes.data_as(pointer)

    def run(kernels, sides, C, tol):
        m, n, _ = kernels.shape
        alpha = np.empty((m, n))
        constant = call(at(kernels), at(sides), n, m, ctypes.c_double(C), ctypes.c_double(tol), at(alpha))
        return alpha, constant

    return run


def block_norm_objective(kernels, sides, C, alpha, constant):
    """sum_i max(0, 1 - y_i f(x_i)) + C sum_m |f_m|, f_m = K_m alpha_m; also sum_m |f_m|, and the kernels in use."""
    outputs = np.einsum("mij,mj->mi", kernels, alpha)
    norms = np.sqrt(np.maximum((outputs * alpha).sum(1), 0))
    loss = np.maximum(0, 1 - sides * (outputs.sum(0) + constant)).sum()
    return loss + C * norms.sum(), norms.sum(), int((norms > 1e-6 * norms.max()).sum())


def sample_weights(model, kernels):
    """The sample weights (P, n) and the constant of a simplemkl: from its decisions, where K = sum_m d_m K_m is singular with the least norm."""
    weights = np.asarray(model.weights_)
    decisions = model.decision_function(np.moveaxis(kernels, 0, 2))
    combined = np.tensordot(weights, kernels, 1)
    constant = float(model.parts(np.moveaxis(kernels, 0, 2)).biases[0])
    values, vectors = np.linalg.eigh(combined)
    kept = values > 1e-12 * values[-1]
    beta = vectors[:, kept] @ ((vectors[:, kept].T @ (decisions - constant)) / values[kept])
    return weights[:, None] * beta[None, :], constant


def dalmkl(args):
    if shutil.which("g++") is None:
        return print("dalmkl: there is no g++, left out", file=sys.stderr)
    if args.dalmkl is None or not (args.dalmkl / "src" / "spicytry.cpp").exists():
        return print("dalmkl: give a copy of RMKL with --dalmkl, left out", file=sys.stderr)
    try:
        rival = compiled(args.dalmkl / "src")
    except subprocess.CalledProcessError as error:
        return print(f"dalmkl: it does not compile ({error.stderr.strip().splitlines()[0]}), left out", file=sys.stderr)
    names = ("DALMKL, s", "ours, s", "times", "accuracy of both, %", "objective of both", "kernels of both")
    table("set", "rows", "kernels", "tolerance of both", *names)
    banks = [("sonar", 17), ("sonar", 170), ("sonar", 1000), ("ionosphere", 17), ("wdbc", 17), ("german", 17)]
    for name, n_kernels in banks:
        if (data := read(name, args.folders)) is None:
            continue
        for tol, gap in [(1e-2, 1e-2), (1e-3, 1e-3), (1e-4, 1e-4)]:
            seconds, right, objectives, used = [], [], [], []
            for seed in range(args.splits):
                X, y, Z, truth = halves(*data, None, seed)
                kernels, test = grams(X, X, n_kernels), grams(Z, X, n_kernels)
                sides, c = np.where(y == 1, 1.0, -1.0), 10.0
                # The penalty at which both problems have the same solution.
                sharp = sample_weights(ours("simplemkl", kernels, y, c=c, gap=1e-5, tol=1e-5), kernels)
                C = block_norm_objective(kernels, sides, 0.0, *sharp)[1] / c
                calls = [lambda: rival(kernels, sides, C, tol), lambda: ours("simplemkl", kernels, y, c=c, gap=gap)]
                pair, (theirs, own) = least(calls, args.repeats)
                seconds.append(pair)
                found = [block_norm_objective(kernels, sides, C, *of) for of in (theirs, sample_weights(own, kernels))]
                objectives.append([of[0] for of in found])
                used.append([of[2] for of in found])
                decided = np.einsum("mij,mj->i", test, theirs[0]) + theirs[1] > 0
                right.append((100 * float((decided == (truth == 1)).mean()), accuracy(own, test, truth)))
            of, value, kept = np.mean(right, axis=0), np.median(objectives, axis=0), np.median(used, axis=0)
            cells = (f"{of[0]:.1f}, {of[1]:.1f}", f"{value[0]:.4f}, {value[1]:.4f}", f"{kept[0]:.0f}, {kept[1]:.0f}")
            row(name, len(y), n_kernels, f"{tol:g}", *told(seconds), *cells)


RIVALS = {"easymkl": easymkl, "bemkl": bemkl, "dalmkl": dalmkl}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="*", metavar="RIVAL", help=f"{', '.join(RIVALS)}; all of them if none is named")
    parser.add_argument("--data-dir", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--bemkl", type=pathlib.Path)
    parser.add_argument("--dalmkl", type=pathlib.Path)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    if unknown := [name for name in args.which if name not in RIVALS]:
        parser.error(f"no rival is called {', '.join(unknown)}")
    args.folders = [args.data_dir, ROOT / "crates" / "multikernel" / "data"]
    warnings.simplefilter("ignore")
    for name in args.which or RIVALS:
        RIVALS[name](args)
        print()


if __name__ == "__main__":
    main()
