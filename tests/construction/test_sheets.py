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
VINOGROUND = w.settings("vinoground", columns={"video": "video", "captions": "caption"}, span=None)


def events(folder: Path, *rows: str, header: str = HEADER) -> w.Tables:
    return w.pool_of(w.saved(folder / "events.csv", "\n".join([header, *rows]) + "\n"), w.settings("velociti"))


def captions(folder: Path, *rows: str, header: str = CAPTIONS) -> list[tuple[object, ...]]:
    pool = w.pool_of(w.saved(folder / "events.csv", "\n".join([header, *rows]) + "\n"), VINOGROUND)["pool"]
    return pool.select("video", "source", "start_s", "end_s", "filter").rows()


def test_events_are_named_in_the_order_in_which_they_begin(tmp_path: Path) -> None:
    here = events(tmp_path, *EVENTS)
    pool = here["pool"].filter(video="b")
    assert pool.select("event", "verb", "start_s").rows() == [
        ("Ev1", "walk", 0),
        ("Ev2", "jump", 3.5),
        ("Ev3", "sing", 6),
    ]
    assert pool["roles"][0].to_list() == [
        {"name": "Arg0", "text": "man in a suit"}, {"name": "ArgM (manner)", "text": "slowly"},
    ]  # fmt: skip
    # A chronology needs two seconds: from 2 to 3.5 and from 5 to 6 is less.
    assert here["candidates"].filter(test="chrono")["event"].to_list() == ['["Ev1","Ev3"]']
    twice = events(tmp_path, *EVENTS, EVENTS[1], EVENTS[1], ",,,,,")
    assert [*filter(None, w.names_of(twice["pool"]))] == ["duplicate", "duplicate"]
    same = ["sample_id", "filter"]
    assert twice["candidates"].select(same).rows() == here["candidates"].select(same).rows()
    bad = events(tmp_path, *EVENTS, "b,9,10,,chef,", "b,10,11,run,,")
    assert [*filter(None, w.names_of(bad["pool"]))] == ["no_verb", "no_agent"]


MISTAKES: dict[str, tuple[str, str | bytes, str]] = {
    "a column that is missing": ("video,start,end,verb", "b,0,2,walk", "column 'arg0' is missing. Found: video, start"),
    "a column that nobody reads": (f"{HEADER[:-6]}maner", "b,0,2,run,x,y", "unknown column 'maner'. Did you mean 'manner'?"),
    "a time that is none": (HEADER, "b,0,2,run,x,\nb,soon,2,run,x,", "row 2: column 'start': found 'soon'; allowed: seconds"),
    "an end before its start": (HEADER, "b,3,2,run,x,", "column 'end': found '2'; allowed: a time after column 'start' (3)"),
    "a path": (HEADER, "../../etc/passwd,0,2,run,x,", "column 'video': found '../../etc/passwd'; allowed: a file name"),
    "semicolons": (HEADER.replace(",", ";"), "b;0;2;run;x;", "its columns are separated by ';'. Save the file as csv with commas."),
    "a control character": (HEADER, "b,0,2,run,x\0,", "column 'arg0': found 'x[U+0000]'; allowed: text without control"),
    "another encoding": (HEADER, "b,8,9,run,Ä,".encode("latin-1"), "line 2: not UTF-8"),
    "nothing": (HEADER, "", "no rows"),
    "half a span of a caption": (CAPTIONS, "a,1,,x", "column 'end': found ''"),
}  # fmt: skip


@pytest.mark.parametrize(("header", "rows", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, header: str, rows: str | bytes, words: str) -> None:
    path = tmp_path / "events.csv"
    path.write_bytes(f"{header}\n".encode() + (rows if isinstance(rows, bytes) else f"{rows}\n".encode()))
    with pytest.raises(UserError) as error:
        w.pool_of({path.name: path}, VINOGROUND if header == CAPTIONS else w.settings("velociti"))
    assert words in str(error.value) and str(path) in str(error.value) and len(str(error.value)) < 500


def test_captions_are_of_whole_files_or_of_spans(tmp_path: Path) -> None:
    whole = captions(tmp_path, "a.mp4,he eats", "a,", header="video,caption")
    assert whole == [("a", "a", None, None, ""), ("a", "a", None, None, "empty_caption")]
    rows = captions(tmp_path, "a,0,2.5,he eats", "a,,,he sits")
    assert rows == [("a_0_2.5", "a", 0, 2.5, ""), ("a", "a", None, None, "")]
    files = w.saved(tmp_path / "a.json", '[{"video": "a", "caption": "he eats", "start": 0, "end": 4}]')
    (row,) = w.pool_of(files, VINOGROUND)["pool"].to_dicts()
    assert (row["video"], row["start_s"], row["end_s"]) == ("a_0_4", 0, 4)
