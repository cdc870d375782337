"""Workbooks and subtitles that are made to take memory or time."""

import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from openpyxl import Workbook
from reprise.core.errors import UserError
from reprise.external.answers import read_records
from reprise.media.subtitles import read_vtt

from tests.unit.limited import run_limited

SHEET = (
    '<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    "{rows}</sheetData></worksheet>"
)


def workbook(path: Path, sheet: bytes) -> Path:
    """A workbook whose only sheet is this XML."""
    Workbook().save(path.with_suffix(".whole.xlsx"))
    with (
        zipfile.ZipFile(path.with_suffix(".whole.xlsx")) as whole,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made,
    ):
        for name in whole.namelist():
            made.writestr(name, sheet if name == "xl/worksheets/sheet1.xml" else whole.read(name))
    return path


def outcome_in_little_memory(path: Path) -> str:
    program = (
        "import sys, pathlib\n"
        "from reprise.core.errors import UserError\n"
        "from reprise.external.answers import read_records\n"
        "try:\n    print(len(read_records(pathlib.Path(sys.argv[1]))[1]), 'rows')\n"
        "except UserError as error:\n    print(error)\n"
    )
    done = run_limited(program, path, 2 * 2**30)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_workbook_that_unpacks_to_gigabytes(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", b" " * (2**29 + 1))
    assert path.stat().st_size < 2**20
    assert "not readable as xlsx" in outcome_in_little_memory(path)


def test_one_cell_at_the_far_end_of_a_sheet(tmp_path: Path) -> None:
    rows = '<row r="1"><c r="XFD1"><v>1</v></c></row><row r="300000"><c r="XFD300000"><v>1</v></c></row>'
    path = workbook(tmp_path / "a.xlsx", SHEET.format(rows=rows).encode())
    assert "1 rows" in outcome_in_little_memory(path)


def test_more_cells_than_a_table_of_answers_has(tmp_path: Path) -> None:
    rows = '<row r="1"><c r="XFD1"><v>1</v></c></row>'
    rows += "".join(f'<row r="{n}"><c r="A{n}"><v>1</v></c></row>' for n in range(2, 2000))
    path = workbook(tmp_path / "a.xlsx", SHEET.format(rows=rows).encode())
    assert "more than 5000000 cells" in outcome_in_little_memory(path)


@pytest.mark.parametrize(
    "sheet",
    [
        b"<worksheet",
        b"",
        b"\xff\xfe\0",
        b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10 if n else b"&a;" * 10) for n in range(12)) + b"]><worksheet>&a11;</worksheet>",
        b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><worksheet>&a;</worksheet>',
    ],
    ids=["cut-off", "nothing", "no-xml", "entities", "other-file"],
)  # fmt: skip
def test_a_sheet_that_is_no_sheet(sheet: bytes, tmp_path: Path) -> None:
    found = outcome_in_little_memory(workbook(tmp_path / "a.xlsx", sheet))
    assert "not readable as xlsx" in found or found == "0 rows\n"
    assert "root:" not in found


@pytest.mark.parametrize("name", ["a.json", "a.csv", "a.tsv"])
def test_other_files_of_answers(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"[" * 200_000 if name == "a.json" else b"index,caf\xe9\n1,2\n")
    with pytest.raises(UserError, match="not readable as"):
        read_records(tmp_path / name)


def test_subtitles_of_open_tags_are_read_in_time(tmp_path: Path) -> None:
    """Two million signs, each of which could begin a tag: minutes, were the rest searched for each."""
    path = tmp_path / "a.vtt"
    path.write_text("WEBVTT\n\n00:00.000 --> 00:01.000\n<c>said</c> " + "<" * 2_000_000)
    program = "import sys, pathlib\nfrom reprise.media.subtitles import read_vtt\nprint(read_vtt(pathlib.Path(sys.argv[1]))[0].text[:4])"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (20, 20))

    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, preexec_fn=limit)
    assert done.stdout.strip() == "said", done.stderr
    path.write_bytes(b"WEBVTT\n\n\xff\n")
    with pytest.raises(UserError, match="not readable as subtitles"):
        read_vtt(path)
