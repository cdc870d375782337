"""The inference job of a model at a server: who answered, what is kept out, and what a failing server leaves behind."""

from pathlib import Path
from typing import Any

import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store, read_lines
from reprise.models.asking.journal import Journal, journal_path

from tests.unit.models.chat_server import MODEL, ChatServer, error, well
from tests.unit.stages.served_job import asked_here, blind_works, key_of


def asked(server: ChatServer, folder: Path, clips: int, questions: int = 5, **settings: Any) -> list[dict[str, Any]]:
    """The rows of responses of one job."""
    return asked_here(key_of(server, **settings), blind_works(clips, questions), folder)[0]


def journal_of(server: ChatServer, folder: Path) -> Path:
    return journal_path(Store(folder), key_of(server).key)


def test_who_answered_stands_with_every_answer_and_answers_need_neither_server_nor_key(tmp_path: Path) -> None:
    works = blind_works(2, 3)
    with ChatServer() as server:
        rows, timings = asked_here(key_of(server), works, tmp_path)
    assert [row["text"] for row in rows] == ["0", "1", "2"] * 2 and {row["error"] for row in rows} == {""}
    assert [row["served"] for row in timings] == [[MODEL], [MODEL]]
    journal = Journal(journal_of(server, tmp_path))
    found = [journal.known(entry) for work in works for entry in work.entries]
    assert {one.answer.served for one in found if one} == {MODEL} and None not in found
    assert all(line[-1] == MODEL for line in read_lines(journal_of(server, tmp_path)))
    assert asked(server, tmp_path, 2, 3, key="MISSING_API_KEY") == rows


def test_a_server_that_dies_in_the_middle_is_given_up(tmp_path: Path) -> None:
    with ChatServer() as server:
        server.says = lambda one: well(one) if len(server.asked) <= 10 else error(503, message="shutting down")
        with pytest.raises(UserError, match=r"the last 6 questions .* server_error: HTTP 503: shutting down\. Answers"):
            asked(server, tmp_path, 8, concurrency=2)
        assert len(server.asked) < 20, "the others are not tried"
        assert len(Journal(journal_of(server, tmp_path))) == 10
        server.says = well
        rows = asked(server, tmp_path, 8, concurrency=2)
        assert len({one.prompt for one in server.asked}) == 40 and {row["error"] for row in rows} == {""}
