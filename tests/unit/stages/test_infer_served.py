"""The inference job of a model at a server: answers in any order, kills, who answered, and what stays secret."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store, read_lines
from reprise.models.asking.failures import Failures
from reprise.models.asking.journal import Journal
from reprise.models.asking.lazy import lazy_model
from reprise.models.asking.work import Work
from reprise.models.base import Clip, Request, served_by
from reprise.stages.infer import ask_all

from tests.unit.asked import request
from tests.unit.models.chat_server import MODEL, ChatServer, Says, completion, error, well
from tests.unit.stages.served_job import key_of


def works(*clips: tuple[str, Sequence[Request]]) -> list[Work]:
    return [Work(Clip(name, None, (), ()), f"recipe {name}", tuple(requests)) for name, requests in clips]


def questions(clip: str, count: int) -> list[Request]:
    return [request(f"{clip} {at}", "write", request_id=f"{clip}#{at}") for at in range(count)]


def asked_by(server: ChatServer, asked: list[Work], folder: Path, **settings: Any) -> list[dict[str, Any]]:
    """The rows of responses of one job; those of its timings are kept beside."""
    key = key_of(server, **settings)
    with lazy_model(key, Store(folder), 1) as model:
        rows, timings = ask_all(asked, model, Journal(folder / "j"), Failures(folder / "f", 3), key)
    (folder / "timings.json").write_text(json.dumps(timings))
    return rows


def test_who_answered_stands_with_every_answer(tmp_path: Path) -> None:
    asked = works(("a", questions("a", 3)), ("b", questions("b", 1)))
    with ChatServer() as server:
        rows = asked_by(server, asked, tmp_path)
    assert [row["text"] for row in rows] == ["0", "1", "2", "0"] and {row["error"] for row in rows} == {""}
    assert [row["served"] for row in json.loads((tmp_path / "timings.json").read_text())] == [[MODEL], [MODEL]]
    journal = Journal(tmp_path / "j")
    assert {served_by(journal.get(entry)) for work in asked for entry in work.entries} == {MODEL}
    assert all(line[-1] == MODEL for line in read_lines(tmp_path / "j"))


def test_a_job_whose_answers_are_there_needs_neither_server_nor_key(tmp_path: Path) -> None:
    asked = works(("a", questions("a", 3)))
    with ChatServer() as server:
        rows = asked_by(server, asked, tmp_path)
    assert asked_by(server, asked, tmp_path, key="MISSING_API_KEY") == rows


def test_another_models_answers_are_no_answers_and_are_kept_out(tmp_path: Path) -> None:
    asked = works(("a", questions("a", 6)))
    with ChatServer(lambda one: Says(completion(one, model="toy-2" if one.prompt == "a 3" else MODEL))) as server:
        rows = asked_by(server, asked, tmp_path)
    assert [row["error"] for row in rows] == ["", "", "", "other_model", "", ""]
    assert len(Journal(tmp_path / "j")) == 5


def test_a_mistake_loses_no_answer(tmp_path: Path) -> None:
    asked = works(*((clip, questions(clip, 5)) for clip in "abcd"))
    with ChatServer(lambda one: error(401) if one.prompt == "c 2" else well(one)) as server:
        with pytest.raises(UserError, match="refuses the key"):
            asked_by(server, asked, tmp_path)
        answered = len(server.asked) - 1
    assert len(Journal(tmp_path / "j")) == answered >= 8


def test_a_server_that_dies_in_the_middle_is_given_up(tmp_path: Path) -> None:
    asked = works(*((clip, questions(clip, 5)) for clip in "abcdefgh"))
    with ChatServer() as server:
        server.says = lambda one: well(one) if len(server.asked) <= 10 else error(503, message="shutting down")
        with pytest.raises(UserError, match=r"the last 6 questions .* server_error: HTTP 503: shutting down\. Answers"):
            asked_by(server, asked, tmp_path, concurrency=2)
        assert len(server.asked) < 20, "the others are not tried"
    assert len(Journal(tmp_path / "j")) == 10
    with ChatServer() as server:
        rows = asked_by(server, asked, tmp_path, concurrency=2)
        assert len(server.asked) == 30 and {row["error"] for row in rows} == {""}
