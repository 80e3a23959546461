"""Tables at the limits of what a report may be given: 1,000 columns, 50 classes, 10,000 rows, odd names.

python3 report-limits.py FOLDER
"""

import csv
import random
import sys
from pathlib import Path

folder = Path(sys.argv[1])
random.seed(0)


def table(name: str, n_rows: int, columns: list[str], classes: list[str]) -> None:
    with open(folder / name, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*columns, "label"])
        for i in range(n_rows):
            code = i % len(classes)
            writer.writerow([*(round(random.gauss(code % 7 if j < 3 else 0, 1), 4) for j in range(len(columns))), classes[code]])


def odd(k: int) -> str:
    """A name of 200 characters that would be markup if it were not escaped."""
    return f"<script>alert({k})</script><img src=x>&{k} ".ljust(200, "n")


table("wide.csv", 60, [odd(k) for k in range(1000)], ["yes", "no"])
few, classes = [odd(k) for k in range(6)], [odd(k) for k in range(50)]
table("classes.csv", 400, few, classes)
table("long.csv", 10_000, few, classes)
