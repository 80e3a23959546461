"""Writes the arrays in this folder and expected.json, what NumPy itself says they hold.

Run `python make.py` in this folder (made with NumPy 2.4.6). expected.json has, per file and array, the shape and either
the bits of each value as float64 in row-major order, or the texts.
"""

import json
import time

import numpy as np

# Archives carry the time of their writing; a fixed one gives the same bytes again.
time.localtime = lambda *_: time.gmtime(315532800)

expected = {}


def bits(array):
    table = array.reshape(len(array), -1).astype("float64")
    return {"shape": list(table.shape), "bits": [f"{v:016x}" for v in table.ravel(order="C").view("uint64").tolist()]}


def texts(array):
    return {"shape": list(array.shape), "texts": [str(value) for value in array.tolist()]}


def write(name, array, note=bits, version=None):
    with open(f"{name}.npy", "wb") as file:
        np.lib.format.write_array(file, array, version=version, allow_pickle=False)
    expected[f"{name}.npy"] = {"": note(array)}


def numbers(dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        info = np.finfo(dtype)
        values = [[0.1, np.nan], [-0.0, info.max], [info.smallest_subnormal, -2.5]]
    elif dtype.kind == "b":
        values = [[True, False], [False, False], [True, True]]
    else:
        info = np.iinfo(dtype)
        values = [[info.min, info.max], [0, 1], [2, info.max // 3]]
    return np.array(values, dtype=dtype)


for dtype in ["f8", "f4", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"]:
    write(dtype, numbers("<" + dtype))
for dtype in ["f8", "f4", "i2", "i4", "i8", "u2", "u4", "u8"]:
    write(dtype + "-big", numbers(">" + dtype))
write("fortran", np.asfortranarray(np.arange(12.0).reshape(4, 3) / 7))
write("fortran-big", np.asfortranarray(numbers(">i4")))
write("version2", numbers("<f8"), version=(2, 0))
write("version3", numbers("<f4"), version=(3, 0))
write("column", np.array([0.5, np.nan, -3.0]))

words = ["a", "", "é b", "\U0001f9ec", "long word "]
write("text", np.array(words), texts)
write("text-big", np.array(words).astype(">U10"), texts)
write("bytes", np.array(["ab", "c", "defg"], dtype="S"), lambda array: texts(array.astype(str)))
write("labels-i8", np.array([-(2**63), 2**63 - 1, 0, -7]), texts)
write("labels-i2-big", np.array([-300, 300], dtype=">i2"), texts)
write("labels-u8", np.array([2**64 - 1, 0], dtype="<u8"), texts)
write("labels-b1", np.array([True, False]), texts)
write("labels-f8", np.array([1.0, -2.0, -0.0]), lambda array: texts(array.astype(int)))

table = np.array([[1.5, np.nan], [2.5, -1.0], [0.0, 4.0]])
whole = {
    "X": np.asfortranarray(table),
    "y": np.array(["case", "control", "case"]),
    "names": np.array(["age", "dose"]),
    "ids": np.array([11, 7, 9]),
}
np.savez("whole.npz", **whole)
np.savez_compressed("packed.npz", **whole)
expected["whole.npz"] = {key: bits(array) if key == "X" else texts(array) for key, array in whole.items()}
expected["packed.npz"] = expected["whole.npz"]
bare = {"target": np.array([1, 0, 1]), "measurements": table.astype("f4"), "note": np.array("made up")}
np.savez_compressed("bare.npz", **bare)
expected["bare.npz"] = {"measurements": bits(bare["measurements"]), "target": texts(bare["target"])}

with open("expected.json", "w") as file:
    lines = [f"{json.dumps(name)}: {json.dumps(arrays)}" for name, arrays in expected.items()]
    file.write("{\n" + ",\n".join(lines) + "\n}\n")
