"""Writes one table in each file format that the feature `arrow` reads.

Run `python make.py` in this folder (made with pyarrow 26.0.1). The tests hold the values of the table.
"""

import datetime

import pandas as pd
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

# A table of all kinds of columns, and the CSV text that holds the same.
day = datetime.date(2021, 3, 1)
mixed = pa.table(
    {
        "age": pa.array([61, 48, None, 39, 72, 67], pa.int32()),
        "dose": pa.array([0.5, 1.25, 2.0, None, 0.1, 3.0], pa.float32()),
        "sex": pa.array(["f", "m", "f", None, "m", "f"]).dictionary_encode(),
        "stage": pa.array(["II", "I", "III", "I", "II", "III"], pa.large_string()),
        "smoker": pa.array([True, False, None, True, False, True]),
        "seen": pa.array([day + datetime.timedelta(days=k) for k in range(6)], pa.date32()),
        "at": pa.array(
            [datetime.datetime(2021, 3, 1, 12, k, tzinfo=datetime.UTC) for k in range(6)], pa.timestamp("us", "Europe/Paris")
        ),
        "note": pa.array(
            [
                "walks without any pain today",
                "feels fine and sleeps well",
                'says "no pain", good appetite',
                None,
                "severe pain in the chest",
                "pain at night and no sleep",
            ]
        ),
        "tags": pa.array([["a"], [], None, ["b"], [], []]),
        "outcome": pa.array(["ill", "well", "well", "well", "ill", "ill"]),
    }
)
pa.parquet.write_table(mixed, "mixed.parquet", row_group_size=4)
pa.feather.write_feather(mixed, "mixed.arrow", compression="lz4", chunksize=4)
text = mixed.drop_columns(["tags"])
text = text.set_column(1, "dose", text["dose"].cast(pa.float64()))
text = text.set_column(6, "at", text["at"].cast(pa.timestamp("us")))
text.to_pandas(types_mapper={pa.int32(): pd.Int32Dtype(), pa.bool_(): pd.BooleanDtype()}.get).to_csv(
    "mixed.csv", index=False
)
