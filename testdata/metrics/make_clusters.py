"""Write clusters.json: cluster indices of small clusterings by scikit-learn.

Run `python make_clusters.py` in this folder (made with scikit-learn 1.9.1, NumPy as its dependency). Normalised mutual
information is divided by the arithmetic mean of the entropies, scikit-learn's default. Purity and the Dunn index, which
scikit-learn has not, are worked out here from the contingency table and from all distances. What is not defined is null.
"""

import json

import numpy as np
from sklearn import metrics as sk


def pairwise(points):
    """From differences: scikit-learn's own distances of equal rows are rounded, and not 0."""
    return np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))


def dunn(points, clusters):
    distances = pairwise(points)
    same = clusters[:, None] == clusters[None]
    if same.all() or distances[same].max() == 0:
        return None
    return float(distances[~same].min() / distances[same].max())


def davies_bouldin(points, clusters):
    means = np.array([points[clusters == c].mean(axis=0) for c in np.unique(clusters)])
    # Where all means are the same, scikit-learn divides by the rounding of their difference.
    return None if np.allclose(means, means[0], rtol=1e-12, atol=0) else float(sk.davies_bouldin_score(points, clusters))


def expected(points, clusters, reference):
    many = 1 < len(np.unique(clusters)) < len(clusters)
    return {
        "n_clusters": len(np.unique(clusters)),
        "nmi": float(sk.normalized_mutual_info_score(reference, clusters)),
        "adjusted_rand": float(sk.adjusted_rand_score(reference, clusters)),
        "rand_index": float(sk.rand_score(reference, clusters)),
        "purity": float(sk.cluster.contingency_matrix(reference, clusters).max(axis=0).sum() / len(clusters)),
        "davies_bouldin": davies_bouldin(points, clusters) if many else None,
        "dunn": dunn(points, clusters),
        "silhouette": float(sk.silhouette_score(pairwise(points), clusters, metric="precomputed")) if many else None,
        "sampled": None,
    }


def case(name, points, clusters, reference):
    points, clusters, reference = np.asarray(points, float), np.asarray(clusters), np.asarray(reference)
    return {
        "name": name,
        "n_columns": points.shape[1],
        "points": points.ravel().tolist(),
        "clusters": clusters.tolist(),
        "reference": reference.tolist(),
        "expected": expected(points, clusters, reference),
    }


def main():
    rng = np.random.default_rng(0)
    cases = []
    for k in range(2, 6):
        for i, noise in enumerate([0.2, 0.7, 2.0]):
            n, d = int(rng.integers(12, 40)), int(rng.integers(1, 7))
            reference = rng.integers(k, size=n)
            points = np.round(rng.normal(size=(k, d))[reference] * 2 + noise * rng.normal(size=(n, d)), 3)
            # Some rows of each cluster are put elsewhere, and labels are no ranks.
            clusters = np.where(rng.random(n) < 0.2, rng.integers(k, size=n), reference)
            cases.append(case(f"{k} clouds, {i}", points, 10 * clusters + 3, reference))
    points = np.round(rng.normal(size=(15, 3)), 3)
    halves, classes = np.arange(15) % 2, rng.integers(3, size=15)
    cases.append(case("one cluster", points, np.zeros(15, int), classes))
    cases.append(case("each row a cluster", points, np.arange(15), classes))
    cases.append(case("one class", points, halves, np.zeros(15, int)))
    cases.append(case("a cluster of one row", points, np.arange(15) // 14, classes))
    cases.append(case("pairs and single rows", points, np.arange(15) // 2, classes))
    doubled = np.repeat(points[:6], 2, axis=0)
    cases.append(case("equal rows in different clusters", doubled, np.arange(12) % 2, np.arange(12) // 6))
    cases.append(case("equal rows together", doubled, np.arange(12) // 4, np.arange(12) // 6))
    cases.append(case("clusters are points", np.repeat([[0.0, 1.0], [3.0, 5.0]], 4, axis=0), [0] * 4 + [1] * 4, [0, 1] * 4))
    cases.append(case("all rows equal", np.ones((6, 2)), np.arange(6) % 2, np.arange(6) % 3))
    many = np.round(rng.normal(size=(300, 2)), 2)
    cases.append(case("more rows than a tile has columns", many, rng.integers(7, size=300), rng.integers(4, size=300)))

    lines = ",\n".join(json.dumps(c) for c in cases)
    with open("clusters.json", "w", encoding="utf-8") as file:
        file.write(f'{{"made_by": "make_clusters.py", "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
