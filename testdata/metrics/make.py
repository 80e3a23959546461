"""Write reference.json: metrics of small random predictions by scikit-learn.

Run `python make.py` in this folder (made with scikit-learn 1.9.1, NumPy as its dependency). The macro means are
scikit-learn's defaults with zero_division=0; specificity is the recall of "not this class" over the same classes;
AUROC and average precision are means over the classes of which the truth holds members and non-members; two classes
are ranked by the difference of their scores. The Brier score is not halved for two classes. Probabilities are the
softmax of the scores; their calibration error, which scikit-learn has not, is summed up here bin by bin.
"""

import json
import warnings

import numpy as np
from sklearn import metrics as sk


def areas(function, truth, scores):
    if scores.shape[1] == 2:
        scores = scores - scores[:, ::-1]
    values = [
        function(truth == c, scores[:, c])
        for c in range(scores.shape[1])
        if 0 < np.sum(truth == c) < len(truth)
    ]
    return float(np.mean(values)) if values else None


def calibration_error(truth, probabilities):
    """15 bins of equal counts by the largest probability; rows of one probability are in one bin."""
    certainty, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == truth
    n = len(truth)
    bins = np.array([15 * int(np.sum(certainty < c)) // n for c in certainty])
    found = [bins == b for b in np.unique(bins)]
    return float(sum(np.sum(b) / n * abs(certainty[b].mean() - right[b].mean()) for b in found))


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def expected(truth, predicted, scores, probabilities, n_classes):
    classes = list(range(n_classes))
    macro = {"average": "macro", "zero_division": 0}
    seen = np.union1d(truth, predicted)
    specificity = [sk.recall_score(truth != c, predicted != c, zero_division=0) for c in seen]
    return {
        "accuracy": float(sk.accuracy_score(truth, predicted)),
        "balanced_accuracy": float(sk.balanced_accuracy_score(truth, predicted)),
        "macro_precision": float(sk.precision_score(truth, predicted, **macro)),
        "macro_recall": float(sk.recall_score(truth, predicted, **macro)),
        "macro_f": float(sk.f1_score(truth, predicted, **macro)),
        "macro_specificity": float(np.mean(specificity)),
        "mcc": float(sk.matthews_corrcoef(truth, predicted)),
        "auroc": areas(sk.roc_auc_score, truth, scores),
        "auprc": areas(sk.average_precision_score, truth, scores),
        "brier": float(sk.brier_score_loss(truth, probabilities, labels=classes, scale_by_half=False)),
        "log_loss": float(sk.log_loss(truth, probabilities, labels=classes)),
        "calibration_error": calibration_error(truth, probabilities),
        "confusion": sk.confusion_matrix(truth, predicted, labels=range(n_classes)).tolist(),
    }


def case(name, truth, predicted, scores, n_classes):
    truth, predicted, scores = np.asarray(truth), np.asarray(predicted), np.asarray(scores)
    # A wide range of certainties, some below the clip of the logarithm.
    probabilities = softmax(scores * len(truth) / 4)
    return {
        "name": name,
        "n_classes": n_classes,
        "truth": truth.tolist(),
        "predicted": predicted.tolist(),
        "scores": scores.ravel().tolist(),
        "probabilities": probabilities.ravel().tolist(),
        "expected": expected(truth, predicted, scores, probabilities, n_classes),
    }


def main():
    rng = np.random.default_rng(0)
    cases = []

    def scores(n, k, decimals):
        return np.round(rng.normal(size=(n, k)), decimals)

    for k in range(2, 6):
        for i in range(4):
            n = int(rng.integers(8, 36))
            truth = rng.integers(k, size=n)
            # One decimal makes many ties, three make few; informative scores, predictions by the largest.
            s = np.round(scores(n, k, 3) + 1.5 * np.eye(k)[truth], 1 if i % 2 else 3)
            cases.append(case(f"random {k} classes, {i}", truth, s.argmax(axis=1), s, k))
    for k in range(2, 6):
        truth = np.arange(12) % k
        cases.append(case(f"perfect {k} classes", truth, truth, np.eye(k)[truth], k))
        wrong = (truth + 1) % k
        cases.append(case(f"all wrong {k} classes", truth, wrong, np.eye(k)[wrong], k))
    for k in range(3, 6):
        n = 20
        truth = rng.integers(k - 1, size=n)
        cases.append(case(f"class absent from the truth, {k} classes", truth, rng.integers(k, size=n), scores(n, k, 1), k))
        predicted = rng.integers(k - 1, size=n)
        cases.append(case(f"class absent from both, {k} classes", truth, predicted, scores(n, k, 1), k))
        truth = rng.integers(k, size=n)
        cases.append(case(f"class never predicted, {k} classes", truth, predicted, scores(n, k, 1), k))
    cases.append(case("one class predicted", rng.integers(3, size=15), np.zeros(15, int), np.zeros((15, 3)), 3))
    cases.append(case("one class in the truth", np.ones(6, int), [1, 1, 0, 1, 2, 1], scores(6, 3, 1), 3))
    cases.append(case("one class in both", np.ones(5, int), np.ones(5, int), scores(5, 2, 1), 2))
    cases.append(case("one row", [0], [1], [[0.25, 0.75]], 2))

    lines = ",\n".join(json.dumps(c) for c in cases)
    with open("reference.json", "w", encoding="utf-8") as file:
        file.write(f'{{"made_by": "make.py", "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    with warnings.catch_warnings():
        # scikit-learn warns of every undefined ratio; these cases are here on purpose.
        warnings.simplefilter("ignore")
        main()
