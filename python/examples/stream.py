"""Rows that come one after the other."""

import pickle

import multikernel as mk

X, y = mk.datasets.load_wdbc(return_X_y=True)
clf = mk.OnlineMKLClassifier("mklda", budget=200)
right = seen = 0
for start in range(0, len(X), 50):
    batch, labels = X[start : start + 50], y[start : start + 50]
    if start:
        right += int((clf.predict(batch) == labels).sum())
        seen += len(batch)
    clf.partial_fit(batch, labels, classes=["B", "M"])
    clf = pickle.loads(pickle.dumps(clf))  # it goes on after a stop, with the same bits
print(f"{right / seen:.2f} right before they were learned, {clf.n_iter_} rows")
