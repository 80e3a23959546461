"""One table: which kernels matter, and how good is it?"""

import multikernel as mk
from sklearn.model_selection import cross_val_score

X, y = mk.datasets.load_ionosphere(return_X_y=True)
clf = mk.MKLClassifier("evidence", "gaussian(median*2^-3..2^3), linear", proba=True)
print(f"accuracy {cross_val_score(clf, X, y, cv=5).mean():.3f}")
clf.fit(X, y)
for kernel, weight in sorted(zip(clf.kernels_, clf.weights_, strict=True), key=lambda pair: -pair[1])[:3]:
    print(f"{weight:.2f}  {kernel}")
print(clf.predict(X[:3]), clf.predict_proba(X[:3]).round(2).tolist())
