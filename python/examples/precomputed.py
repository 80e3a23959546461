"""Ready Gram matrices."""

import multikernel as mk
import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split

X, y = mk.datasets.load_sonar(return_X_y=True)
names = ["narrow", "wide"]
K = mk.stack(rbf_kernel(X, gamma=2.0), rbf_kernel(X, gamma=0.1))  # (n, n, 2)
clf = mk.MKLClassifier("simplemkl", kernels="precomputed", kernel_names=names)
shuffled = StratifiedKFold(5, shuffle=True, random_state=0)
print(f"accuracy {cross_val_score(clf, K, y, cv=shuffled).mean():.2f}")  # scikit-learn cuts both axes
train, test = train_test_split(np.arange(len(y)), random_state=0)
clf.fit(K[np.ix_(train, train)], y[train])
print(f"held out {clf.score(K[np.ix_(test, train)], y[test]):.2f}")
print({name: round(float(weight), 2) for name, weight in zip(names, clf.weights_, strict=True)})
