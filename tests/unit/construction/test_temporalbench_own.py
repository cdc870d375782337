"""A benchmark like TemporalBench of clips of one's own: the csv file, its errors, and the release as it is read."""

from pathlib import Path
from typing import Any

import pytest
from reprise.benchmarks.temporalbench.release import read_release
from reprise.construction.settings import TemporalBenchSettings
from reprise.construction.temporalbench.candidates import candidates
from reprise.construction.temporalbench.clips import clips
from reprise.construction.temporalbench.long_videos import long_videos
from reprise.construction.temporalbench.release import release
from reprise.core.errors import UserError

from tests.unit.construction.temporalbench_worlds import as_tables, facts, settings

HEADER = "video,start,end,caption\n"


def own(**changes: Any) -> TemporalBenchSettings:
    return settings(columns=None, **changes)


def sheet(folder: Path, text: str) -> dict[str, Path]:
    path = folder / "clips.csv"
    path.write_text(text)
    return {path.name: path}


def negative(video: str, start: float, end: float, **changes: Any) -> dict[str, Any]:
    clip = f"own/{video}.short-{start:g}-{end:g}"
    row = {
        "sample_id": f"{clip}/words/1", "clip": clip, "level": "words", "dataset": "own", "video": video,
        "start_s": start, "end_s": end, "caption": f"A cup falls at {start:g}.", "of": f"A cup falls at {start:g}.",
        "negative": f"A plate falls at {start:g}.", "category": "Action Effector", "votes": 1, "in_favour": 1,
        "filter": "", "why": "",
    }  # fmt: skip
    return row | changes


def test_a_row_is_a_clip_of_a_file_and_data_sets_do_not_concern_it(tmp_path: Path) -> None:
    rows = "one.mp4,0,4.5,A cup falls.\none,4.5,9,\ntwo,0,30,Too long.\n"
    files = sheet(tmp_path, HEADER + rows)
    found = clips(files, own())
    assert [(one.clip_id, one.source_id, one.start_s, one.end_s) for one in found] == [
        ("own/one.short-0-4.5", "one", 0.0, 4.5),
        ("own/one.short-4.5-9", "one", 4.5, 9.0),
    ]
    measured = facts(*((one.clip_id, 1, False) for one in found))
    pool = candidates(files, own(), measured).pool
    assert [row["filter"] for row in pool] == ["", "no_caption", "too_long"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("video,start,end\none,0,4\n", "clips.csv: column 'caption' is missing. Found: video, start, end"),
        (HEADER + "one,4,2,x\n", "clips.csv: row 1: column 'end': found '2', allowed is a time after column 'start'"),
        (HEADER + "one,,2,x\n", "clips.csv: row 1: column 'start': found '', allowed is seconds from the start"),
        (HEADER + "../one,0,2,x\n", "clips.csv: row 1: column 'video': found '../one', allowed is the name of a file"),
        (HEADER + "one,0,2,a, b\n", "clips.csv: row 1: 5 cells for 4 columns"),
        ("video,start,end,caption,dataset\none,0,2,a,b\n", "clips.csv: unknown column 'dataset'"),
    ],
)
def test_errors_of_the_csv_file(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        clips(sheet(tmp_path, text), own())
    assert message in str(error.value)


def test_the_release_is_read_without_flaws(tmp_path: Path) -> None:
    tables = as_tables({"reviewed": [negative("one", 0, 4), negative("one", 4, 9.5), negative("two", 1, 3)]})
    (joined,) = long_videos(tables["reviewed"], own())
    assert (joined.start_s, joined.end_s, len(joined.negatives)) == (0, 9.5, 2)
    for name, text in release(tables, own()).items():
        (tmp_path / name).write_text(text)
    files = sorted(tmp_path.iterdir())
    found = read_release(files, "files", {})
    assert {(clip.clip_id, clip.kind, clip.source_id, clip.start_s, clip.end_s) for clip in found.clips} == {
        ("own/one.short-0-4", "trim", "one", 0.0, 4.0),
        ("own/one.short-4-9.5", "trim", "one", 4.0, 9.5),
        ("own/two.short-1-3", "trim", "two", 1.0, 3.0),
        ("own/one.long-0-9.5", "segment", "one", 0.0, 9.5),
    }
    assert len(found.items) == 5 and not any(item.flaws for item in found.items)
    assert all(item.flaws for item in read_release(files, "ids", {}).items)


def test_a_release_without_spans_is_of_whole_files(tmp_path: Path) -> None:
    tables = as_tables({"reviewed": [negative("one", 0, 4)]})
    for name, text in release(tables, own()).items():
        (tmp_path / name).write_text(text.replace("_start_0_end_4", ""))
    (clip,) = read_release(sorted(tmp_path.iterdir()), "files", {}).clips
    assert (clip.clip_id, clip.unit, clip.kind, clip.source_id) == ("own/one.short", "own/one", "whole", "one")
