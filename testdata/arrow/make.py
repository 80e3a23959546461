"""Writes one table in each file format that the feature `arrow` reads.

Run `python make.py` in this folder (made with pyarrow 26.0.1). The tests hold the values of the table.
"""

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

table = pa.table(
    {
        "double": pa.array([0.5, None, float("nan")], pa.float64()),
        "single": pa.array([0.25, -2.0, None], pa.float32()),
        "half": pa.array([1.5, 2.5, 3.5], pa.float16()),
        "byte": pa.array([-128, 127, None], pa.int8()),
        "long": pa.array([-(2**53), 2**53, 0], pa.int64()),
        "unsigned": pa.array([65535, None, 7], pa.uint16()),
        "truth": pa.array([True, False, None], pa.bool_()),
        "kind": pa.array(["case", "control", "case"]).dictionary_encode(),
        "name": pa.array(["s1", "s2", "s3"]),
    }
)
pa.parquet.write_table(table, "table.parquet", row_group_size=2)
pa.parquet.write_table(table, "gzip.parquet", compression="gzip")
pa.feather.write_feather(table, "table.feather", compression="lz4")
pa.feather.write_feather(table, "table.arrow", compression="uncompressed", chunksize=2)
