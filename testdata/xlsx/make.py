"""Writes the workbooks that the tests of the feature `xlsx` read.

Run `python make.py` in this folder (made with Python 3.11 alone). The tests hold the values. The parts of a workbook are
written by hand so that each case is exactly what it says.
"""

import zipfile

TYPES = """<?xml version="1.0" encoding="UTF-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/>
<Override PartName="/xl/workbook.xml"
 ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>"""
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
# Style 1 is a date, 2 a date and time, 3 a time.
STYLES = f"""<styleSheet xmlns="{MAIN}"><cellXfs count="4"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/>
<xf numFmtId="21"/></cellXfs></styleSheet>"""


def column(j):
    return chr(ord("A") + j)


def cell(value, at):
    match value:
        case None:
            return ""
        case bool():
            return f'<c r="{at}" t="b"><v>{int(value)}</v></c>'
        case int() | float():
            return f'<c r="{at}"><v>{value!r}</v></c>'
        case (number, style):
            return f'<c r="{at}" s="{style}"><v>{number!r}</v></c>'
        case str() if value.startswith("#"):
            return f'<c r="{at}" t="e"><v>{value}</v></c>'
        case str():
            text = value.replace("&", "&amp;").replace("<", "&lt;")
            return f'<c r="{at}" t="inlineStr"><is><t>{text}</t></is></c>'


def sheet(rows, first_row=1, first_column=0):
    lines = []
    for i, row in enumerate(rows, first_row):
        cells = "".join(cell(value, f"{column(j)}{i}") for j, value in enumerate(row, first_column))
        lines.append(f'<row r="{i}">{cells}</row>')
    return f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'


def write(path, sheets):
    names = "".join(f'<sheet name="{name}" sheetId="{k}" r:id="rId{k}"/>' for k, name in enumerate(sheets, 1))
    links = "".join(
        f'<Relationship Id="rId{k}" Type="{RELATIONS}/worksheet" Target="worksheets/sheet{k}.xml"/>'
        for k in range(1, len(sheets) + 1)
    )
    links += f'<Relationship Id="rId0" Type="{RELATIONS}/styles" Target="styles.xml"/>'
    root = f'<Relationship Id="rId1" Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/>'
    parts = {
        "[Content_Types].xml": TYPES,
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}">{root}</Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets>{names}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}">{links}</Relationships>',
        "xl/styles.xml": STYLES,
    }
    for k, text in enumerate(sheets.values(), 1):
        parts[f"xl/worksheets/sheet{k}.xml"] = text
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts.items():
            # A fixed time, so that the same bytes come out again.
            file.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), text, zipfile.ZIP_DEFLATED)


HEAD = ["age", "sex", "seen", "at", "well", "outcome"]
ROWS = [
    [61, "f", (44256, 1), (44256.5, 2), True, "ill"],
    [48.5, "m", (44259, 1), (44259.25, 2), False, "well"],
    [None, "f", (44257, 1), (44257.75, 2), True, "ill"],
    ["#N/A", "d & <e>", (44264, 1), (44264.0, 2), None, "well"],
]
SECOND = sheet([HEAD, *ROWS, [], [70, "m", (44270, 1), (44270.5, 2), False, "well"]], 3, 1)
write("patients.xlsx", {"Patients": sheet([HEAD, *ROWS]), "Lower right": SECOND})
write("empty.xlsx", {"Nothing": sheet([]), "Rows": sheet([HEAD, *ROWS])})
write("broken_number.xlsx", {"Data": sheet([["a", "b", "y"], [1, 2, "p"], [2, 3, "q"], [3, "oops", "p"], [4, 5, "q"]])})
write("broken_date.xlsx", {"Data": sheet([["seen", "y"], *[[(44256 + k, 1), "pq"[k % 2]] for k in range(9)], ["soon", "p"]])})
write("header_alone.xlsx", {"Data": sheet([HEAD])})
