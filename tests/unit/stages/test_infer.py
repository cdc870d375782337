"""The inference job: what is asked, what is journaled, what a kill leaves behind; jobs that share a run; GPUs and releases."""

import json
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.core.errors import UserError
from reprise.core.schemas import CLIP_LEDGER, FRAME_PLAN, REQUESTS, RESPONSES, write_table
from reprise.core.store import Store
from reprise.fetch.keys import ReleaseKey
from reprise.models.asking.journal import Failures, Journal, Work
from reprise.models.asking.pieces import MOST_PIECES, PLACES, Piece, pieces_of
from reprise.models.base import Answer, Clip, Request
from reprise.models.keys import RunKey
from reprise.models.local.gpus import take_gpus
from reprise.models.local.stand_ins.baselines import Constant
from reprise.stages.infer import ask_all
from reprise.stages.join_pieces import join_answers
from reprise.stages.release import main
from reprise.stages.works import gather_work

from tests.unit.asked import BLIND, spec, yes_or_no
from tests.unit.rows import Row, request_row, response_row

KEY = RunKey.model_validate({"run": "b/p/s/m", "key": "k", "answers": {"adapter": "a", "sampling": {"rule": "none"}}})


class KilledAt:
    """Ends its process at one question as the kernel does when memory runs out."""

    def __init__(self, culprit: str = "") -> None:
        self.culprit = culprit

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        for one in requests:
            if one.request_id == self.culprit:
                os.kill(os.getpid(), signal.SIGKILL)
            yield Answer(text=one.prompt)


def asked_by(model: KilledAt, asked: list[Work], folder: Path) -> list[dict[str, Any]]:
    return ask_all(asked, model, Journal(folder / "j"), Failures(folder / "f", 3), KEY)[0]


def works(*clips: tuple[str, Sequence[Request]]) -> list[Work]:
    return [Work(Clip(name, None, (), ()), f"recipe {name}", tuple(requests)) for name, requests in clips]


def is_killed(model: KilledAt, asked: list[Work], folder: Path) -> bool:
    job = multiprocessing.get_context("fork").Process(target=asked_by, args=(model, asked, folder))
    job.start()
    job.join()
    assert job.exitcode in (0, -signal.SIGKILL)
    return job.exitcode != 0


def test_a_question_that_kills_the_job_is_found_and_given_up_at_last(tmp_path: Path) -> None:
    clips = [(clip, [yes_or_no(f"{clip}{number}") for number in "123"]) for clip in "abc"]
    asked, culprit, kills = works(*clips), "b2", 0
    while is_killed(KilledAt(culprit), asked, tmp_path):
        kills += 1
        assert kills < 10, "no way out"
        assert kills == 1 or len(Journal(tmp_path / "j")) >= 6, "the other clips are asked first"
    rows = asked_by(KilledAt(), asked, tmp_path)
    names = [request.request_id for work in asked for request in work.requests]
    assert {row["request_id"]: row["error"] for row in rows} == dict.fromkeys(names, "") | {culprit: "killed"}
    assert kills == 1 + 3, "a kill costs an attempt where one question was asked alone"


def test_a_model_that_is_killed_as_it_loads_has_nothing_against_its_questions(tmp_path: Path) -> None:
    for _ in range(5):
        assert is_killed(KilledAt("a1"), works(("a", [yes_or_no("a1")])), tmp_path)
    rows = asked_by(KilledAt(), works(("a", [yes_or_no("a1")])), tmp_path)
    assert [row["text"] for row in rows] == ["prompt a1"] and not (tmp_path / "f").exists()


Tables = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]


def tables(**statuses: str) -> Tables:
    """Requests, plans and the ledger of clips with these statuses."""
    asked = [request_row(f"{name}#pos", clip_id=name, ask="score", prompt="seen in \ue000 frames") for name in statuses]
    plan = {"indices": [1, 5], "times_s": [0.1, 0.5], "note": ""}
    plans = [{"clip_id": name, **plan} for name, status in statuses.items() if status == "ok"]
    known = {"bytes": 1, "black_start": None, "black_end": None, "message": ""}
    ledger = [
        {
            "clip_id": name,
            "unit": name,
            "status": status,
            "object": f"clips/{name}.mp4",
            "recipe": name,
            "sha256": name,
            **known,
        }
        for name, status in statuses.items()
    ]
    made = pl.DataFrame(asked, schema=REQUESTS), pl.DataFrame(plans, schema=FRAME_PLAN)
    return *made, pl.DataFrame(ledger, schema=CLIP_LEDGER)


def test_a_clip_that_is_not_there_is_not_asked_about_and_one_without_a_plan_is_an_error(tmp_path: Path) -> None:
    requests, plans, ledger = tables(here="ok", gone="removed")
    (found,) = gather_work(requests, plans, ledger, Store(tmp_path))
    assert found.clip.clip_id == "here"
    assert found.requests[0].prompt == "seen in 2 frames", "the frame count is filled in when the plan is known"
    with pytest.raises(UserError, match="clip 'here' has no frame plan"):
        gather_work(requests, plans.clear(), ledger, Store(tmp_path))


def test_a_clip_that_another_one_is_shown_for_is_asked_about_by_the_other_s_frames(tmp_path: Path) -> None:
    requests, plans, ledger = tables(a="ok", b="ok", c="ok")
    shown = plans.with_columns(shown_clip=pl.Series(["b", "c", "b"]))
    alone = gather_work(requests, plans, ledger, Store(tmp_path))
    found = gather_work(requests, shown, ledger, Store(tmp_path))
    places = [(one.clip.clip_id, one.clip.path) for one in found]
    assert places == [(name, tmp_path / f"clips/{other}.mp4") for name, other in ("ab", "bc", "cb")]
    entries = [entry for one in (*alone, *found) for entry in one.entries]
    assert len(set(entries)) == 6, "an answer about another clip's frames is no answer about a clip"
    of_pieces = [
        work for piece in pieces_of(2) for work in gather_work(requests, shown, ledger, Store(tmp_path), piece)
    ]
    assert sorted(work.entries for work in of_pieces) == sorted(work.entries for work in found), "of its own clips"
    with pytest.raises(UserError, match="clip 'a' has no frame plan"):
        gather_work(requests, shown, ledger.filter(pl.col("clip_id") != "b"), Store(tmp_path))


@pytest.mark.parametrize("count", [1, 3, MOST_PIECES])
def test_each_clip_is_of_one_piece(count: int) -> None:
    pieces, recipes = pieces_of(count), [f"recipe {number}" for number in range(300)]
    assert [place for piece in pieces for place in piece.places] == list(range(PLACES))
    shares = [[recipe for recipe in recipes if piece.has(recipe)] for piece in pieces]
    assert sorted(recipe for share in shares for recipe in share) == sorted(recipes)
    assert count > 7 or all(0.7 < len(share) * count / len(recipes) < 1.3 for share in shares)


def test_a_piece_is_named() -> None:
    assert Piece.parse("2of4") == Piece(2, 4) and Piece(2, 4).name == "2of4"
    for wrong in ("", "0of2", "3of2", "2", "1of", "1of02", "-1of2"):
        with pytest.raises(ValueError, match="names no piece; such as: 2of4"):
            Piece.parse(wrong)


def pieces(folder: Path, *shares: Sequence[Row]) -> list[Path]:
    paths = [folder / f"{piece.name}.parquet" for piece in pieces_of(len(shares))]
    for path, share in zip(paths, shares, strict=True):
        write_table(pl.DataFrame(share, schema=RESPONSES), path, RESPONSES)
    return paths


def test_pieces_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    requests = pl.DataFrame({"request_id": ["a", "b"]})
    assert join_answers(pieces(tmp_path, [response_row("b")], [], [response_row("a")]), "k", requests).height == 2
    with pytest.raises(UserError, match="1 rows carry key other"):
        join_answers(pieces(tmp_path, [response_row("a")], [response_row("b", key="other")]), "k", requests)
    with pytest.raises(UserError, match="a was answered by two of them. Delete the folder and run snakemake again"):
        join_answers(pieces(tmp_path, [response_row("a")], [response_row("a")]), "k", requests)
    with pytest.raises(UserError, match="c is none of the run's"):
        join_answers(pieces(tmp_path, [response_row("a")], [response_row("c")]), "k", requests)


def test_a_constant_takes_an_option_that_is_there() -> None:
    with pytest.raises(UserError, match=r"told to take option 2 of \['Yes', 'No'\]"):
        list(Constant(spec(option=2)).answers(BLIND, [yes_or_no("a")]))


@pytest.mark.parametrize(("visible", "count"), [("", 0), ("3", 1)])
def test_gpus_that_are_not_there_are_one_message(
    visible: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    message = (
        f"^config/models/m.yaml: the model needs 2 GPUs, found {count} here .CUDA_VISIBLE_DEVICES is '{visible}'.*"
        "Remove the model from the suite's `run:`"
    )
    with pytest.raises(UserError, match=message):
        take_gpus(2, tmp_path, "m")


def listed(folder: Path, release: dict[str, str], **more: Any) -> dict[str, str]:
    """The files that the stage `release` lists, with their content."""
    key = {"benchmark": "velociti", "release": release, "files": ["*.csv", "sets/*.csv"], **more}
    main(ReleaseKey.model_validate(key), Store(folder / "store"), folder / "out.json")
    return {one["name"]: Path(one["path"]).read_text() for one in json.loads((folder / "out.json").read_text())}


@pytest.mark.parametrize(("release", "message"), [
    ({"kind": "folder", "path": "nowhere"}, "release of velociti: no folder 'nowhere'"),
    ({"kind": "folder", "path": "tests/unit/stages"}, r"no file matches \*\.csv, sets/\*\.csv\. Found: .*test_infer\.py"),
    ({"kind": "huggingface", "repo": "a/b", "revision": "unpinned"}, "a/b is 'unpinned'. Run `python -m reprise pin`"),
])  # fmt: skip
def test_a_release_that_cannot_come_is_named(tmp_path: Path, release: dict[str, str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        listed(tmp_path, release)
    assert not (tmp_path / "out.json").exists()


def test_files_laid_beside_a_release_count_as_its_own(tmp_path: Path) -> None:
    """One of the same name stands for the release's; a pattern that only the extra folder fits is no mistake."""
    texts = {"release/a.csv": "1", "release/b.csv": "2", "extras/b.csv": "3", "extras/sets/c.csv": "4"}
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    release = {"kind": "folder", "path": str(tmp_path / "release")}
    extras = {"folder": str(tmp_path / "extras"), "files": {}}
    assert listed(tmp_path, release) == {"a.csv": "1", "b.csv": "2"}
    assert listed(tmp_path, release, extras=extras) == {"a.csv": "1", "b.csv": "3", "sets/c.csv": "4"}
