"""Annotations in csv files of one's own: what is read, and every mistake by its file, row and column."""

from pathlib import Path

import pytest
from reprise.benchmarks.vinoground.release import read_release
from reprise.construction.settings import Columns
from reprise.construction.velociti.candidates import Candidates
from reprise.construction.velociti.candidates import candidates as of_events
from reprise.construction.vinoground.candidates import candidates as of_captions
from reprise.core.errors import UserError

from tests.unit.construction.test_vinoground import settings as vinoground
from tests.unit.construction.worlds import settings

HEADER = "video,start,end,verb,arg0,manner"
EVENTS = (
    "b.mp4,6,8,sing,man in a suit,",
    "b,0,2,walk,man in a suit,slowly",
    "b,3.5,5,jump,boy with a dog,",
    "c,0,2,dance,chef,",
)


def sheet(folder: Path, *rows: str, header: str = HEADER, name: str = "events.csv") -> dict[str, Path]:
    (folder / name).write_text("\n".join([header, *rows]) + "\n")
    return {name: folder / name}


def events(folder: Path, *rows: str, header: str = HEADER) -> Candidates:
    return of_events(sheet(folder, *rows, header=header), settings())


def test_events_are_named_in_the_order_in_which_they_begin(tmp_path: Path) -> None:
    pool = [row for row in events(tmp_path, *EVENTS).pool if row["video"] == "b"]
    assert [(row["event"], row["verb"], row["start_s"]) for row in pool] == [
        ("Ev1", "walk", 0), ("Ev2", "jump", 3.5), ("Ev3", "sing", 6),
    ]  # fmt: skip
    assert pool[0]["roles"] == [
        {"name": "Arg0", "text": "man in a suit"}, {"name": "ArgM (manner)", "text": "slowly"},
    ]  # fmt: skip
    assert {row["filter"] for row in pool} == {""}


def test_a_chronology_needs_two_seconds_between_its_events(tmp_path: Path) -> None:
    found = [row for row in events(tmp_path, *EVENTS).candidates if row["test"] == "chrono"]
    assert [row["event"] for row in found] == ['["Ev1","Ev3"]']  # from 2 to 3.5 and from 5 to 6 is less


def test_an_event_without_a_verb_or_an_agent_is_dropped_by_name(tmp_path: Path) -> None:
    pool = events(tmp_path, *EVENTS, "b,9,10,,chef,", "b,10,11,run,,").pool
    assert [row["filter"] for row in pool if row["filter"]] == ["no_verb", "no_agent"]


def test_an_event_that_stands_twice_is_one(tmp_path: Path) -> None:
    once, twice = events(tmp_path, *EVENTS), events(tmp_path, *EVENTS, EVENTS[1], EVENTS[1])
    assert [row["filter"] for row in twice.pool].count("duplicate") == 2
    assert [row["sample_id"] for row in twice.candidates] == [row["sample_id"] for row in once.candidates]
    assert [row["filter"] for row in twice.candidates] == [row["filter"] for row in once.candidates]


MISTAKES = {
    "a column that is missing": (["b,0,2,walk"], "video,start,end,verb", "column 'arg0' is missing. Found: video, start"),
    "a column that nobody reads": (["b,0,2,run,x,y"], f"{HEADER[:-6]}maner", "unknown column 'maner'. Did you mean 'manner'?"),
    "a column twice": (["b,0,2,run,x,y"], f"{HEADER[:-6]}arg0", "duplicate column 'arg0'"),
    "a time that is none": (["b,0,2,run,x,", "b,soon,2,run,x,"], HEADER, "row 2: column 'start': found 'soon', allowed is seconds"),
    "a time of nothing": (["b,0,nan,run,x,"], HEADER, "row 1: column 'end': found 'nan', allowed is seconds"),
    "a time before the video": (["b,-1,2,run,x,"], HEADER, "column 'start': found '-1'"),
    "an end before its start": (["b,3,2,run,x,"], HEADER, "column 'end': found '2', allowed is a time after column 'start' (3)"),
    "a path": (["../../etc/passwd,0,2,run,x,"], HEADER, "column 'video': found '../../etc/passwd', allowed is the name of a file"),
    "no video": ([",0,2,run,x,"], HEADER, "row 1: column 'video': found ''"),
    "a comma without quotes": (["b,0,2,run,x,y,z"], HEADER, "row 1: 7 cells for 6 columns"),
    "a quote that does not end": (['b,0,2,run,"x,'], HEADER, "not readable as csv"),
    "two files of a name": (["b.mp4,0,2,run,x,", "b,2,4,sit,x,", "b.mov,4,6,eat,x,"], HEADER, "row 3: column 'video': found 'b.mov', allowed is one file of a name, and 'b.mp4' stands above"),
    "an accent that stands by itself": (["a\u0308,0,2,run,x,"], HEADER, "allowed is each letter as one sign (Unicode NFC)"),
    "semicolons": (["b;0;2;run;x;"], HEADER.replace(",", ";"), "its columns are separated by ';'. Save the file as csv with commas."),
    "a control character": (["b,0,2,run,x\0,"], HEADER, "column 'arg0': found 'x[U+0000]', allowed is text without control"),
    "nothing": ([], HEADER, "no rows"),
}  # fmt: skip


@pytest.mark.parametrize(("rows", "header", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, rows: list[str], header: str, words: str) -> None:
    with pytest.raises(UserError) as error:
        events(tmp_path, *rows, header=header)
    assert words in str(error.value) and str(tmp_path / "events.csv") in str(error.value)


def test_a_text_of_a_megabyte_is_shown_by_its_beginning(tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        events(tmp_path, f"{'x/' * 2**19},0,2,run,x,")
    assert len(str(error.value)) < 500


def test_another_encoding_is_named_by_its_line(tmp_path: Path) -> None:
    path = sheet(tmp_path, *EVENTS)["events.csv"]
    path.write_bytes(path.read_bytes() + "b,8,9,run,Ä,\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"events.csv: line 6: not UTF-8"):
        of_events({path.name: path}, settings())


HOW = vinoground(columns=Columns(video="video", captions="caption"), span=None)


def captions(folder: Path, *rows: str, header: str = "video,caption") -> list[tuple[object, ...]]:
    found = of_captions(sheet(folder, *rows, header=header), HOW).pool
    return [tuple(row[name] for name in ("video", "source", "start_s", "end_s", "filter")) for row in found]


def test_captions_are_of_whole_files_or_of_spans(tmp_path: Path) -> None:
    assert captions(tmp_path, "a.mp4,he eats", "a,") == [
        ("a", "a", None, None, ""), ("a", "a", None, None, "empty_caption"),
    ]  # fmt: skip
    assert captions(tmp_path, "a,0,4,he eats", header="video,start,end,caption") == [("a_0_4", "a", 0, 4, "")]
    rows = captions(tmp_path, "a,1,2.5,he eats", "a,,,he sits", header="video,start,end,caption")
    assert rows == [("a_1_2.5", "a", 1, 2.5, ""), ("a", "a", None, None, "")]


def test_a_start_of_zero_in_json_is_one(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"video": "a", "caption": "he eats", "start": 0, "end": 4}]')
    (row,) = of_captions({path.name: path}, HOW).pool
    assert (row["video"], row["start_s"], row["end_s"]) == ("a_0_4", 0, 4)


@pytest.mark.parametrize(
    ("row", "words"),
    [("../a,1,2,x", "row 1: column 'video'"), ("a,1,,x", "column 'end': found ''"), ("a,2,1,x", "allowed is a time after"), ("a,1,2,x,y", "row 1: 5 cells for 4 columns"), ('a,1,2,"x', "row 1: not readable as csv")],
)  # fmt: skip
def test_a_caption_s_mistake_is_named_with_its_place(tmp_path: Path, row: str, words: str) -> None:
    with pytest.raises(UserError) as error:
        captions(tmp_path, row, header="video,start,end,caption")
    assert words in str(error.value) and "events.csv" in str(error.value)


def test_a_release_of_files_cuts_what_has_a_span(tmp_path: Path) -> None:
    header = "index,major,minor,pos_vid,pos_start,pos_end,pos_cap,neg_vid,neg_start,neg_end,neg_cap"
    files = sheet(tmp_path, "0,action,,a,,,he eats,b,1,2.5,eats he", "1,action,,a,1,,x y,b,,,y x", header=header)
    read = read_release(list(files.values()), "files", {})
    clips = {clip.clip_id: (clip.kind, clip.source_id, clip.start_s, clip.end_s) for clip in read.clips}
    assert clips["0.pos"] == ("whole", "a", None, None) and clips["0.neg"] == ("trim", "b", 1, 2.5)
    assert "1.pos" not in clips and clips["1.neg"] == ("whole", "b", None, None)
    assert sum(kind == "concat" for kind, *_ in clips.values()) == 1
    assert [item.flaws for item in read.items if item.item_id == "1_pos/text"] == [
        ["pair 1: 'pos_end' is empty: half of the pair is missing, and what needs it is not asked"]
    ]
