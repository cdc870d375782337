"""Annotations in custom csv files: their content, and each error with its file, row and column."""

from pathlib import Path

import pytest
from reprise.core.errors import UserError

from tests.construction import worlds as w

HEADER, CAPTIONS = "video,start,end,verb,arg0,manner", "video,start,end,caption"
EVENTS = (
    "b.mp4,6,8,sing,man in a suit,", "b,0,2,walk,man in a suit,slowly", "b,3.5,5,jump,boy with a dog,",
    "c,0,2,dance,chef,",
)  # fmt: skip
VINOGROUND = w.construction_settings("vinoground", columns={"video": "video", "captions": "caption"}, span=None)


def events(folder: Path, *rows: str, header: str = HEADER) -> w.Tables:
    return w.collect_pool(
        w.write_annotations(folder / "events.csv", "\n".join([header, *rows]) + "\n"),
        w.construction_settings("velociti"),
    )


def captions(folder: Path, *rows: str, header: str = CAPTIONS) -> list[tuple[object, ...]]:
    pool = w.collect_pool(w.write_annotations(folder / "events.csv", "\n".join([header, *rows]) + "\n"), VINOGROUND)[
        "pool"
    ]
    return pool.select("video", "source", "start_s", "end_s", "filter").rows()


def test_events_are_numbered_by_their_start_times(tmp_path: Path) -> None:
    tables = events(tmp_path, *EVENTS)
    pool = tables["pool"].filter(video="b")
    assert pool.select("event", "verb", "start_s").rows() == [
        ("Ev1", "walk", 0),
        ("Ev2", "jump", 3.5),
        ("Ev3", "sing", 6),
    ]
    assert pool["roles"][0].to_list() == [
        {"name": "Arg0", "text": "man in a suit"}, {"name": "ArgM (manner)", "text": "slowly"},
    ]  # fmt: skip
    # The events of a `chrono` sample are at least two seconds apart. The other pairs are 1.5 s and 1 s apart.
    assert tables["candidates"].filter(test="chrono")["event"].to_list() == ['["Ev1","Ev3"]']
    repeated = events(tmp_path, *EVENTS, EVENTS[1], EVENTS[1], ",,,,,")
    assert [*filter(None, w.filter_names(repeated["pool"]))] == ["duplicate", "duplicate"]
    columns = ["sample_id", "filter"]
    assert repeated["candidates"].select(columns).rows() == tables["candidates"].select(columns).rows()
    incomplete = events(tmp_path, *EVENTS, "b,9,10,,chef,", "b,10,11,run,,")
    assert [*filter(None, w.filter_names(incomplete["pool"]))] == ["no_verb", "no_agent"]


MISTAKES: dict[str, tuple[str, str | bytes, str]] = {
    "missing column": ("video,start,end,verb", "b,0,2,walk", "column 'arg0' is missing. Found: video, start"),
    "unknown column": (f"{HEADER[:-6]}maner", "b,0,2,run,x,y", "unknown column 'maner'. Did you mean 'manner'?"),
    "time that is not a number": (HEADER, "b,0,2,run,x,\nb,soon,2,run,x,", "row 2: column 'start': found 'soon'; allowed: seconds"),
    "end before the start": (HEADER, "b,3,2,run,x,", "column 'end': found '2'; allowed: a time after column 'start' (3)"),
    "path as video name": (HEADER, "../../etc/passwd,0,2,run,x,", "column 'video': found '../../etc/passwd'; allowed: a file name"),
    "semicolons": (HEADER.replace(",", ";"), "b;0;2;run;x;", "its columns are separated by ';'. Save the file as csv with commas."),
    "control character": (HEADER, "b,0,2,run,x\0,", "column 'arg0': found 'x[U+0000]'; allowed: text without control"),
    "encoding other than UTF-8": (HEADER, "b,8,9,run,Ä,".encode("latin-1"), "line 2: not UTF-8"),
    "no rows": (HEADER, "", "no rows"),
    "start without an end": (CAPTIONS, "a,1,,x", "column 'end': found ''"),
}  # fmt: skip


@pytest.mark.parametrize(("header", "rows", "message"), MISTAKES.values(), ids=MISTAKES)
def test_error_messages_name_file_row_and_column(tmp_path: Path, header: str, rows: str | bytes, message: str) -> None:
    path = tmp_path / "events.csv"
    path.write_bytes(f"{header}\n".encode() + (rows if isinstance(rows, bytes) else f"{rows}\n".encode()))
    with pytest.raises(UserError) as error:
        w.collect_pool({path.name: path}, VINOGROUND if header == CAPTIONS else w.construction_settings("velociti"))
    assert message in str(error.value) and str(path) in str(error.value) and len(str(error.value)) < 500


def test_captions_describe_whole_files_or_spans(tmp_path: Path) -> None:
    whole_files = captions(tmp_path, "a.mp4,he eats", "a,", header="video,caption")
    assert whole_files == [("a", "a", None, None, ""), ("a", "a", None, None, "empty_caption")]
    rows = captions(tmp_path, "a,0,2.5,he eats", "a,,,he sits")
    assert rows == [("a_0_2.5", "a", 0, 2.5, ""), ("a", "a", None, None, "")]
    files = w.write_annotations(tmp_path / "a.json", '[{"video": "a", "caption": "he eats", "start": 0, "end": 4}]')
    (row,) = w.collect_pool(files, VINOGROUND)["pool"].to_dicts()
    assert (row["video"], row["start_s"], row["end_s"]) == ("a_0_4", 0, 4)
