"""Several views of the same samples, some of them missing."""

import multikernel as mk
import numpy as np
import pandas as pd
from sklearn.model_selection import GroupKFold, cross_val_score

rng = np.random.default_rng(0)
patients = [f"p{i}" for i in range(120)]
subtype = pd.Series(rng.integers(0, 2, 120), index=patients, name="subtype")
rna = pd.DataFrame(rng.normal(size=(120, 20)) + 0.8 * subtype.to_numpy()[:, None], index=patients)
meth = pd.DataFrame(rng.normal(size=(120, 30)), index=patients).iloc[20:]  # twenty patients lack it

X = mk.Views(rna=rna.add_prefix("r"), meth=meth.add_prefix("m"), how="outer")
y = subtype.loc[X.index]
clf = mk.MKLClassifier("evidence", "gaussian(median*2^-2..2^2) each view", proba=True)
sites = np.arange(len(X)) % 10
print(f"accuracy {cross_val_score(clf, X, y, cv=GroupKFold(5), groups=sites).mean():.2f}")
clf.fit(X, y)
print({view: round(share, 2) for view, share in clf.view_shares_.items()})
new = mk.Views(rna=rna.add_prefix("r").iloc[:2])  # patients with RNA alone
print(clf.predict_proba(new).shape)
