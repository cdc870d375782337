"""Test tables and YAML files that are damaged, deeply nested, bombs or not UTF-8: one message with file and line."""

from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.tabular import find_single_table, read_csv_rows, read_rows, read_user_rows, require_columns
from reprise.core.yaml_files import dump_yaml, load_yaml

from tests.unit.core.programs import write

BAD_TABLES = {
    "latin.csv": b"a,b\n1,x\n2,caf\xe9\n", "latin.json": b'[{"a": "caf\xe9"}]', "deep.json": b"[" * 200_000,
    "deep.jsonl": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", "half.json": b'[{"a": 1}, {"a"', "nothing.json": b"",
    "text.parquet": b"PAR1 this is no table PAR1", "other.txt": b"a,b",
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_bad_table_gives_one_message(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / name, BAD_TABLES[name])
    with pytest.raises(UserError) as caught:
        read_rows(path)
    assert str(path) in str(caught.value)
    if name.startswith("latin"):
        assert "not UTF-8" in str(caught.value) and "line " in str(caught.value)


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_a_late_row_of_json_keeps_its_values(name: str, tmp_path: Path) -> None:
    rows = [b'{"start": 1}'] * 150 + [b'{"start": 1.5, "note": "late"}']
    content = b"[" + b",".join(rows) + b"]" if name == "a.json" else b"\n".join(rows) + b"\n"
    assert read_rows(write(tmp_path / name, content)).row(-1) == (1.5, "late")


def test_a_handwritten_table_is_checked_row_by_row(tmp_path: Path) -> None:
    path = write(tmp_path / "a.CSV", b"a,b\n1,2\n3,4,5\n")
    with pytest.raises(UserError, match=r"a.CSV: row 2: 3 cells for 2 columns"):
        read_user_rows(path)
    assert read_user_rows(write(path, b"a,b\n1,2\n")).rows() == [("1", "2")]


def test_a_table_of_a_release_is_identified_by_its_columns(tmp_path: Path) -> None:
    brackets = b'[{"a": "' + b"[" * 500 + b'\\"' + b"{" * 500 + b'"}]'
    assert read_rows(write(tmp_path / "x.json", brackets)).height == 1, "brackets in texts are not nesting"
    table, other_table = write(tmp_path / "a.csv", b"a,b\n1,2\n"), write(tmp_path / "b.csv", b"c\n1\n")
    broken, text_file = write(tmp_path / "c.json", b"["), write(tmp_path / "readme.txt", b"a,b")
    assert (
        find_single_table([other_table, broken, text_file, table], ("a",)) == table
        and find_single_table([table, text_file], ("c",)) == table
    )
    with pytest.raises(UserError, match=r"expected one table with columns d, found 0 in a\.csv, b\.csv"):
        find_single_table([table, other_table], ("d",))
    with pytest.raises(UserError, match=r"column 'c' is missing\. Found: a, b\. Needed: a, c"):
        require_columns(read_rows(table), ("a", "c"), table)


@pytest.mark.parametrize(("text", "expected"), [
    ("a,b\n1,2\n", [("1", "2")]),
    ("\ufeffa,b\r\n1,2\r\n\r\n3,4", [("1", "2"), ("3", "4")]),
    ('a,b\n"1\n2",\n', [("1\n2", "")]),
    ("a,b\n", []),
    ("a,b\n1,2\n3\n", "row 2: 1 cells for 2 columns (a, b). A text with a comma needs quotes"),
    ('a,b\n1,2\n"3,4\n5,6\n', "row 2: not readable as csv: unexpected end of data. A quote there may be unclosed"),
    ('"a,b\n1,2\n', "its columns: not readable as csv"),
    ("a;b\n1;2\n", "its columns are separated by ';'. Save the file as csv with commas."),
    ("a\tb\n1\t2\n", "its columns are separated by tabs. Save"),
    ("a,a \n1,2\n", "duplicate column 'a'. Found: a, a . Remove one of them."),
    ("a\n1\n", "found columns ['a'], expected a, b."),
], ids=lambda value: None if isinstance(value, list) else value[:20])  # fmt: skip
def test_csv_rows_have_all_their_cells(tmp_path: Path, text: str, expected: list[tuple[str, ...]] | str) -> None:
    path = write(tmp_path / "a.csv", text.encode())
    if isinstance(expected, list):
        assert [tuple(row.values()) for row in read_csv_rows(path, ("a", "b"))] == expected
        return
    with pytest.raises(UserError) as caught:
        read_csv_rows(path, ("a", "b"))
    assert str(caught.value).startswith(f"{path}: {expected}")


BOMB = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))]
BAD_YAML = {
    "aliases": ("\n".join(BOMB), "not valid YAML: aliases"),
    "itself": ("a: &a [1, *a]", "line 1: not valid YAML: an alias that contains itself"),
    "deep": ("\n".join(" " * n + "a:" for n in range(3000)), "line 51: nested more than 50 levels deep"),
    "deep lists": ("[" * 200_000, "line 1: nested more than 50 levels deep"),
    "deep groups": ("{a: " * 200_000, "line 1: nested more than 50 levels deep"),
    "deep aliases": (
        f"a: &a {'[' * 40}{']' * 40}\nb: {'[' * 40}*a{']' * 40}\n",
        "line 2: nested more than 50 levels deep",
    ),
    "object": ("a: !!python/object/apply:os.system ['true']", "line 1: the tag .*os.system is not allowed"),
    "set": ("a: !!set {b}", "line 1: the tag .*set is not allowed"),
    "bytes": ("a: 1\nb: !!binary aGVsbG8=", "line 2: the tag .*binary is not allowed"),
    "no number": ("a: .nan", "line 1: .nan is not a number that a setting can have"),
    "infinite": ("a: 1\nb: -.inf", "line 2: -.inf is not a number"),
    "overflow": ("a: 1e999", "line 1: 1e999 is not a number"),
    "huge": (f"a: {'9' * 5000}", "line 1: 9{40}... is not a number"),
    "beyond 64 bits": (f"a: {2**63}", f"line 1: {2**63} is not a number"),
    "NUL": ('a: 1\nb: "x\\0y"', "line 2: a NUL character"),
    "key yes": ("a: 1\nyes: 2", 'line 2: the key yes is read as true or false. Put it in quotes: "yes"'),
    "key off": ("off: 2", 'the key off is read as true or false. Put it in quotes: "off"'),
    "key null": ("null: 2", 'the key null is read as nothing. Put it in quotes: "null"'),
    "key number": ("a: {2024: 2}", 'the key 2024 is read as a number. Put it in quotes: "2024"'),
    "key fraction": ("1.5: 2", 'the key 1.5 is read as a number. Put it in quotes: "1.5"'),
    "control": ("a: b\0c", "not valid YAML"),
    "group": ("a: 1\n[b]: 2\n", "line 2: not valid YAML: a key should be a text"),
    "twice": ("a: 1\nb: 2\na: 3\n", "line 3: not valid YAML: duplicate key 'a'"),
}


@pytest.mark.parametrize("name", BAD_YAML)
def test_a_bad_yaml_file_gives_one_message(name: str, tmp_path: Path) -> None:
    content, message = BAD_YAML[name]
    path = write(tmp_path / "bad.yaml", content.encode())
    with pytest.raises(UserError, match=message) as caught:
        load_yaml(path)
    assert str(path) in str(caught.value) and len(str(caught.value)) < 600


def test_a_missing_or_non_utf8_file_is_named(tmp_path: Path) -> None:
    write(tmp_path / "bad.yaml", b"a: 1\nb: caf\xe9\n")
    (tmp_path / "folder.yaml").mkdir()
    for name, message in {"bad": "line 2: not UTF-8", "folder": "not a file", "none": "no such file"}.items():
        with pytest.raises(UserError, match=message):
            load_yaml(tmp_path / f"{name}.yaml")


SCALARS = {
    "yes": True, "off": False, "~": None, "": None, "12": 12, "-3": -3, "100_000": 100_000, "1.5": 1.5, ".5": 0.5,
    "2e4": 20_000.0, "1.0e-3": 0.001, f"{2**63 - 1}": 2**63 - 1,
    # YAML 1.1 would read these as 90, 5400.0, 8, 16, 5, a date, and a timestamp.
    "1:30": "1:30", "1:30:00.0": "1:30:00.0", "010": "010", "0x10": "0x10", "0b101": "0b101",
    "2024-05-01": "2024-05-01", "2024-05-01 10:00:00": "2024-05-01 10:00:00", "=": "=", "y": "y", '"yes"': "yes",
}  # fmt: skip


@pytest.mark.parametrize("text", SCALARS)
def test_a_scalar_is_loaded_as_it_looks_and_survives_a_round_trip(text: str, tmp_path: Path) -> None:
    path, expected = tmp_path / "a.yaml", {"a": SCALARS[text], "2024-05-01": 1}
    path.write_text(f"a: {text}\n2024-05-01: 1\n")
    loaded = load_yaml(path)
    assert loaded == expected and type(loaded["a"]) is type(expected["a"])
    for is_inline in (True, False):
        path.write_text(dump_yaml([text, loaded], is_inline=is_inline))
        assert load_yaml(path) == [text, loaded]


def test_ordinary_aliases_and_merges_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: &a {x: 1}\nb: {<<: *a, y: 2}\nc: [*a, *a]\n")
    assert load_yaml(tmp_path / "a.yaml") == {"a": {"x": 1}, "b": {"x": 1, "y": 2}, "c": [{"x": 1}, {"x": 1}]}
