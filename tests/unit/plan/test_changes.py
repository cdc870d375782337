"""What changed in a key file since a result was made: found in what is there now and in what was there before."""

import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.core.files import canonical_json, text_digest, write_text
from reprise.core.paths import Results
from reprise.core.schemas import FRAME_PLAN, write_table
from reprise.plan.changes import KeyChanges, changes_between, remember

LONG = "Watch the video and pay attention to the order of events. Does it entail the caption?"


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({"answers": {"dtype": "float32"}, "key": "1"}, {"answers": {"dtype": "bfloat16"}, "key": "2"}, ["dtype: float32 -> bfloat16"]),
        ({"rule": {"fps": 1}}, {"rule": {"fps": 2}}, ["rule.fps: 1 -> 2"]),
        ({"settings": {}}, {"settings": {"seed": 1}}, ["settings.seed: (none) -> 1"]),
        ({"checkpoint": "a" * 64}, {"checkpoint": "b" * 64}, [f"checkpoint: {'a' * 12} -> {'b' * 12}"]),
        ({"code_versions": {"stage frames": 1}}, {"code_versions": {"stage frames": 2}}, ["version of stage frames: 1 -> 2"]),
        ({"rows": [{"label": "A"}, {"label": "B"}]}, {"rows": [{"label": "A"}]}, ["rows.2.label: B -> (none)"]),
        (
            {"prompt": {"user": LONG}},
            {"prompt": {"user": LONG.replace("entail", "fit")}},
            ["prompt.user: ... of events. Does it entail the caption? -> ... of events. Does it fit the caption?"],
        ),
        ({"label": "a"}, {"label": "b\x1b[2J\n\u202e"}, ["label: a -> b [U+202E]"]),
    ],
)  # fmt: skip
def test_a_change_is_told_from_what_to_what(before: dict[str, Any], after: dict[str, Any], words: list[str]) -> None:
    assert [change.words for change in changes_between(before, after)] == words


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "small/keys/frames/toy/fps1.json"
    write_text(path, canonical_json({"rule": {"fps": 1}}))
    return path


def made(key: Path, tmp_path: Path) -> Path:
    """A table that was made under the key file as it is."""
    path = tmp_path / "small/frames/toy/fps1.parquet"
    digest = text_digest(key.read_text(encoding="utf-8"))[:16]
    write_table(pl.DataFrame(schema=FRAME_PLAN), path, FRAME_PLAN, {str(key): digest})
    return path


def test_a_key_file_that_was_replaced_more_than_once(key: Path, tmp_path: Path) -> None:
    result, results = made(key, tmp_path), Results("small", tmp_path)
    remember(results, key)
    for fps, words in ((2, "rule.fps: 1 -> 2"), (3, "rule.fps: 1 -> 3")):
        write_text(key, canonical_json({"rule": {"fps": fps}}))
        assert [found.words for found in KeyChanges(results).since(result)] == [(words,)]
        remember(results, key)
    (results.folder / "keys/former.jsonl").unlink()
    assert KeyChanges(results).since(result)[0].words == ("changed; what it was is not recorded",)


def test_a_file_that_names_no_key_is_older_than_the_key_it_was_made_from(key: Path, tmp_path: Path) -> None:
    result, results = tmp_path / "files.json", Results("small", tmp_path)
    result.write_text("{}")
    os.utime(key, (1, 1))
    assert KeyChanges(results).since_input(result, key) is None
    now = {key: canonical_json({"rule": {"fps": 2}})}
    to_be_written = KeyChanges(results, now).since_input(result, key)
    remember(results, key)
    write_text(key, now[key])
    os.utime(result, (2, 2))
    written = KeyChanges(results, now).since_input(result, key)
    assert to_be_written == written is not None and written.words == ("rule.fps: 1 -> 2",)
    assert KeyChanges(results).since_input(tmp_path / "gone", key) is None
