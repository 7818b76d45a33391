"""The Parquet files of this folder, one table by four writers, and what they hold as text (`table.csv`, by pandas).

    pip install pandas==3.1.1 pyarrow==26.0.1 fastparquet==2026.9.0 polars==2.1.0 duckdb==2.0.0
    python make.py
"""

from decimal import Decimal

import duckdb
import fastparquet
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 24
draw = np.random.default_rng(7)
names = ["setosa", "virginica", "Göttingen 3", "a,b", ""]
columns = {
    "small": pa.array(draw.integers(-128, 128, ROWS), pa.int8()),
    "large": pa.array([None if n == 5 else int(n) * 10**15 + 1 for n in range(ROWS)], pa.int64()),
    "unsigned": pa.array(2**32 - 1 - draw.integers(0, 9, ROWS), pa.uint32()),
    "single": pa.array(draw.normal(size=ROWS), pa.float32()),
    "double": pa.array([None if n % 7 == 3 else float(x) for n, x in enumerate(draw.normal(size=ROWS))], pa.float64()),
    "truth": pa.array(draw.integers(0, 2, ROWS).astype(bool)),
    "label": pa.array([names[n % len(names)] for n in range(ROWS)]),
    "nothing": pa.array([None] * ROWS, pa.float64()),
}
only_arrow = {
    "half": pa.array(draw.normal(size=ROWS).astype(np.float16)),
    "price": pa.array([Decimal(int(x)).scaleb(-2) for x in draw.integers(-9999, 9999, ROWS)], pa.decimal128(9, 2)),
    "day": pa.array(draw.integers(0, 20000, ROWS).astype(np.int32), pa.date32()),
    "kept": pa.StructArray.from_arrays([pa.array(range(ROWS))], names=["inside"]),
}
table = pa.table(columns)
whole = pa.table(columns | only_arrow)

pq.write_table(whole, "arrow.parquet", row_group_size=10)
pq.write_table(whole, "arrow_gzip.parquet", compression="gzip", data_page_version="2.0", use_dictionary=False,
               column_encoding={"small": "DELTA_BINARY_PACKED", "large": "DELTA_BINARY_PACKED", "single": "BYTE_STREAM_SPLIT"})
pl.from_arrow(table).write_parquet("polars.parquet")
frame = table.to_pandas()
fastparquet.write("fastparquet.parquet", frame, compression=None)
frame.set_index(frame["small"].to_numpy() * 2).to_parquet("index.parquet")
duckdb.from_arrow(table).write_parquet("duckdb.parquet")

text = whole.to_pandas()
text["large"] = pd.Series(["" if value is None else str(value) for value in table["large"].to_pylist()])
text["single"] = text["single"].astype(float)
text["half"] = text["half"].astype(float)
text["truth"] = text["truth"].astype(int)
text["day"] = only_arrow["day"].cast(pa.int32()).to_pylist()
text["kept"] = range(ROWS)
text.rename(columns={"kept": "kept.inside"}).to_csv("table.csv", index=False)

# What a training takes: numbers alone.
numbers = pl.from_arrow(table.select(["small", "single", "double", "truth"]))
numbers.write_parquet("numbers.parquet")
numbers.cast({"truth": pl.Int8, "single": pl.Float64}).write_csv("numbers.csv")

# What is refused.
pq.write_table(pa.table({"x": [[1.0, 2.0], [3.0]]}), "refused_lists.parquet")
pq.write_table(pa.table({"x": [b"\xff\xfe", b"a"]}), "refused_bytes.parquet")
pq.write_table(pa.table({"x": [1.0, 2.0]}), "refused_brotli.parquet", compression="brotli")
pq.write_table(pa.table({"x": ["one", "only"]}), "refused_delta.parquet", use_dictionary=False, column_encoding={"x": "DELTA_BYTE_ARRAY"})
