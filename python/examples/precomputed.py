"""Ready Gram matrices."""

import multikernel as mk
import numpy as np
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import cross_val_score, train_test_split

X, y = mk.datasets.load_sonar(return_X_y=True)
K = mk.stack(rbf_kernel(X, gamma=0.5), polynomial_kernel(X, degree=2), names=["shape", "text"])  # (n, n, 2)
clf = mk.MKLClassifier("simplemkl", kernels="precomputed", kernel_names=["shape", "text"])
print(f"accuracy {cross_val_score(clf, K, y, cv=5).mean():.2f}")  # scikit-learn cuts both axes
train, test = train_test_split(np.arange(len(y)), random_state=0)
clf.fit(K[np.ix_(train, train)], y[train])
print(
    f"held out {clf.score(K[np.ix_(test, train)], y[test]):.2f}",
    dict(zip(clf.kernels_, clf.weights_.round(2), strict=True)),
)
