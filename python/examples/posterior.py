"""How sure are the weights?"""

import multikernel as mk

X, y = mk.datasets.load_sonar(return_X_y=True)
clf = mk.BM3KL(kernels="gaussian(1), gaussian(4), gaussian(16)", draws=200, chains=4).fit(X, y)
for kernel, (low, high) in zip(clf.kernels_, clf.intervals_["bounds"], strict=True):
    print(f"{kernel}: {low:.2f} to {high:.2f}")
print("prior:", tuple(round(bound, 2) for bound in clf.intervals_["prior"]))
dims, draws = clf.posterior_dict()["posterior"]["weights"]  # plain arrays; clf.posterior() is an ArviZ DataTree
print(dims, draws.shape)
