"""Groups in rows without labels."""

import multikernel as mk
import numpy as np

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(size=(80, 3)) + centre for centre in ([0, 0, 0], [6, 0, 0], [0, 6, 0])])
# A draw from the posterior: other seeds set a few rows apart as a cluster of their own.
clusters = mk.MKLClusterer("dpm", random_state=1).fit(X)
print(clusters.n_clusters_, np.bincount(clusters.labels_))
print(clusters.predict(X[[0, 100, 200]]), clusters.score_samples([[30.0, 30.0, 30.0]]) < -50)
