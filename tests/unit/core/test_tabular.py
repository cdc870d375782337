"""Released tables that are damaged, deep, of another encoding or cut off: one message with the file."""

from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.tabular import csv_rows, only_table, read_own_rows, read_rows, require_columns

from tests.unit.core.programs import write

BAD = {
    "latin.csv": b"a,b\n1,x\n2,caf\xe9\n", "latin-header.csv": b"a,caf\xe9\n1,x\n",
    "latin.json": b'[{"a": "caf\xe9"}]', "deep.json": b"[" * 200_000, "deep-closed.json": b"[" * 200_000 + b"]" * 200_000,
    "deep-objects.json": b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "half.json": b'[{"a": 1}, {"a"',
    "deep.jsonl": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", "nothing.json": b"", "nothing.parquet": b"",
    "text.parquet": b"PAR1 this is no table PAR1", "other.txt": b"a,b",
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_table_is_one_message(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / name, BAD[name])
    with pytest.raises(UserError) as caught:
        read_rows(path)
    assert str(path) in str(caught.value)
    if name.startswith("latin"):
        assert "not UTF-8" in str(caught.value) and "line " in str(caught.value)


def test_a_table_that_people_write_is_checked_row_by_row(tmp_path: Path) -> None:
    path = write(tmp_path / "a.CSV", b"a,b\n1,2\n3,4,5\n")
    with pytest.raises(UserError, match=r"a.CSV: row 2: 3 cells for 2 columns"):
        read_own_rows(path)
    assert read_own_rows(write(path, b"a,b\n1,2\n")).rows() == [("1", "2")]


def test_a_table_of_a_release_is_known_by_its_columns(tmp_path: Path) -> None:
    table, other = write(tmp_path / "a.csv", b"a,b\n1,2\n"), write(tmp_path / "b.csv", b"c\n1\n")
    broken, text = write(tmp_path / "c.json", b"["), write(tmp_path / "readme.txt", b"a,b")
    assert only_table([other, broken, text, table], ("a",)) == table and only_table([table, text], ("c",)) == table
    with pytest.raises(UserError, match=r"expected one table with columns d, found 0 in a\.csv, b\.csv"):
        only_table([table, other], ("d",))
    with pytest.raises(UserError, match=r"column 'c' is missing\. Found: a, b\. Needed: a, c"):
        require_columns(read_rows(table), ("a", "c"), table)


def test_brackets_in_texts_are_no_nesting(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"a": "' + "[" * 500 + '\\"' + "{" * 500 + '"}]')
    assert read_rows(tmp_path / "a.json").height == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a,b\n1,2\n", [("1", "2")]),
        ("\ufeffa,b\r\n1,2\r\n\r\n3,4", [("1", "2"), ("3", "4")]),
        ('a,b\n"1\n2",\n', [("1\n2", "")]),
        ("a,b\n", []),
        ('a,b\n1,"' + "x" * 200_000 + '"\n', [("1", "x" * 200_000)]),
        ("a,b\n1,2\n3\n", "row 2: 1 cells for 2 columns (a, b). A text with a comma needs quotes"),
        ("a,b\n1,2,3\n", "row 1: 3 cells for 2 columns (a, b)."),
        ('a,b\n1,2\n"3,4\n5,6\n', "row 2: not readable as csv: unexpected end of data. A quote that begins there"),
        ('a,b\n1,2\n"3,4\n5,"6"\n', "row 2: not readable as csv: ',' expected after"),
        ('"a,b\n1,2\n', "its columns: not readable as csv"),
        ("a;b\n1;2\n", "its columns are separated by ';'. Save the file as csv with commas."),
        ("a\tb\n1\t2\n", "its columns are separated by tabs. Save"),
        ("a,a \n1,2\n", "duplicate column 'a'. Found: a, a . Remove one of them."),
        ("a\n1\n", "found columns ['a'], expected a, b."),
        ("", "found columns [], expected a, b."),
    ],
    ids=lambda one: None if isinstance(one, list) else one[:20],
)
def test_csv_rows_have_all_their_cells(tmp_path: Path, text: str, found: list[tuple[str, ...]] | str) -> None:
    path = write(tmp_path / "a.csv", text.encode())
    if isinstance(found, list):
        assert [tuple(row.values()) for row in csv_rows(path, ("a", "b"))] == found
        return
    with pytest.raises(UserError) as caught:
        csv_rows(path, ("a", "b"))
    assert str(caught.value).startswith(f"{path}: {found}")


def test_rows_in_another_encoding_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="line 2: not UTF-8"):
        csv_rows(write(tmp_path / "b.csv", b"a,b\n1,caf\xe9\n"), ("a", "b"))
