"""Workbooks and subtitles that are made to take memory or time."""

import zipfile
from pathlib import Path

import pytest
from openpyxl import Workbook
from reprise.core.errors import UserError
from reprise.media.subtitles import read_vtt

from tests.unit.limited import run_limited

SHEET = (
    '<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    "{rows}</sheetData></worksheet>"
)
FAR, FIRST = '<row r="60000"><c r="XFD60000"><v>1</v></c></row>', '<row r="1"><c r="XFD1"><v>1</v></c></row>'
MANY = "".join(f'<row r="{n}"><c r="A{n}"><v>1</v></c></row>' for n in range(2, 2000))
ENTITIES = b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10 if n else b"&a;" * 10) for n in range(12))
MEMORY = 2 * 2**30
SHEETS: dict[str, tuple[bytes, str]] = {
    "unpacks-to-gigabytes": (b" ", "bytes once it is unpacked, allowed are 536870912"),
    "one-cell-at-the-far-end": (SHEET.format(rows=FIRST + FAR).encode(), "1 rows"),
    "more-cells-than-a-table-has": (SHEET.format(rows=FIRST + MANY).encode(), "more than 5000000 cells"),
    "cut-off": (b"<worksheet", "not readable as xlsx"),
    "nothing": (b"", "not readable as xlsx"),
    "no-xml": (b"\xff\xfe\0", "not readable as xlsx"),
    "entities": (b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + ENTITIES + b"]><worksheet>&a11;</worksheet>", ""),
    "other-file": (b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><worksheet>&a;</worksheet>', ""),
}
PROGRAM = """
import sys, pathlib
from reprise.core.errors import UserError
from reprise.external.answers import ImportedAnswers, read_records
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    try:
        print(path.stem, len(read_records(path, ImportedAnswers(), ('1',))[1]), 'rows')
    except UserError as error:
        print(path.stem, error)
"""


def test_workbooks_that_are_none_take_little_memory_and_are_named(tmp_path: Path) -> None:

    Workbook().save(tmp_path / "whole.xlsx")
    folder = tmp_path / "made"
    folder.mkdir()
    with zipfile.ZipFile(tmp_path / "whole.xlsx") as whole:
        parts = {name: whole.read(name) for name in whole.namelist()}
    for name, (sheet, _) in SHEETS.items():
        with zipfile.ZipFile(folder / f"{name}.xlsx", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made:
            for part, content in (parts | {"xl/worksheets/sheet1.xml": sheet}).items():
                made.writestr(part, content)
            if name == "unpacks-to-gigabytes":
                made.getinfo("xl/worksheets/sheet1.xml").file_size = 2**29 + 1  # as the directory of the zip says
    done = run_limited(PROGRAM, folder, MEMORY)
    assert done.returncode == 0, done.stderr
    found = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert found.keys() == SHEETS.keys() and "root:" not in done.stdout
    assert [name for name, (_, words) in SHEETS.items() if words not in found[name]] == []


def test_subtitles_of_open_tags_are_read_in_time(tmp_path: Path) -> None:
    """Two million signs, each of which could begin a tag: minutes, were the rest searched for each."""
    path = tmp_path / "a.vtt"
    path.write_text("WEBVTT\n\n00:00.000 --> 00:01.000\n<c>said</c> " + "<" * 2_000_000)
    program = "import sys, pathlib\nfrom reprise.media.subtitles import read_vtt\nprint(read_vtt(pathlib.Path(sys.argv[1]))[0].text[:4])"
    done = run_limited(program, path, MEMORY)
    assert done.stdout.strip() == "said", done.stderr
    path.write_bytes(b"WEBVTT\n\n\xff\n")
    with pytest.raises(UserError, match="not readable as subtitles"):
        read_vtt(path)
