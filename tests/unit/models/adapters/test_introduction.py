"""What a server of one's own says of itself before the first question, and what is refused by it."""

import logging
from functools import partial

import pytest
from reprise.core.errors import UserError

from tests.unit.asked import BLIND, request
from tests.unit.models import vendor_servers
from tests.unit.models.chat_server import (
    MODEL,
    TOKENS,
    VERSION,
    Asked,
    ChatServer,
    Says,
    completion,
    error,
    introduced,
    scored,
)
from tests.unit.models.vendor_servers import WRITE

adapter = partial(vendor_servers.adapter, "openai")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"model": "toy-2"}, rf"serves {MODEL}, not 'toy-2'\. Start it with that model \(vLLM: --served-model-name\)"),
        ({"version": "0.32.0"}, rf"says version '{VERSION}', not '0\.32\.0'\. Start that version"),
    ],
)
def test_a_server_of_another_model_or_version_is_refused_before_it_is_asked(
    wrong: dict[str, str], message: str
) -> None:
    with ChatServer() as server:
        with pytest.raises(UserError, match=message):
            list(adapter(server, **wrong).answers(BLIND, [WRITE]))
        assert server.asked == []
        (found,) = adapter(server, version=VERSION).answers(BLIND, [WRITE])
        assert found.text == "this"


def test_a_server_says_once_what_it_is_and_the_log_keeps_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), ChatServer() as server:
        asked = adapter(server)
        for _ in range(2):
            assert [one.text for one in asked.answers(BLIND, [WRITE])] == ["this"]
        assert [one.path for one in server.looked_at] == ["/v1/models", "/version", "/tokenize"]
        assert f"{server.url}: version {VERSION}, serves {MODEL}" in caplog.messages


@pytest.mark.parametrize("says", [error(404), error(500), Says(b"<html>"), Says({"data": []}), Says([{"id": 1}])])  # type: ignore[arg-type]
def test_what_a_server_does_not_say_is_no_mistake(says: Says) -> None:
    with ChatServer() as server:
        server.introduces = lambda asked: says
        (found,) = adapter(server).answers(BLIND, [WRITE])
    assert found.text == "this"


def test_a_vendor_is_not_asked_what_it_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_API_KEY", "sk-test-0123456789")
    with ChatServer() as server:
        (found,) = adapter(server, key="OUR_API_KEY").answers(BLIND, [WRITE])
        assert found.text == "this" and server.looked_at == []


CUT = "So, let's see. First, let me consider A."
OPENS = Says({"count": 3, "tokens": [1, 2, 3], "token_strs": ["assistant", "\u010a", "<think>", "\u010a"]})


def test_a_thought_that_the_servers_template_opens_is_no_answer() -> None:
    def says(asked: Asked) -> Says:
        logprobs = scored(asked) if "logprob_token_ids" in asked.body else None
        return Says(completion(asked, CUT, finish_reason="length", logprobs=logprobs))

    with ChatServer(says) as server:
        (found,) = adapter(server).answers(BLIND, [WRITE])
        assert found.text == CUT, "of a server that does not say so"
        server.introduces = lambda asked: OPENS if asked.path == "/tokenize" else introduced(asked)
        own = {"option_tokens": TOKENS, "body": {"chat_template_kwargs": {"a": 1}}}
        asked = adapter(server, scores="logprob_token_ids", **own)
        (found,) = asked.answers(BLIND, [WRITE])
        assert (found.error, found.text) == ("still_thinking", "") and "settings.max_tokens" in found.message
        (found,) = asked.answers(BLIND, [request("so?", "score", ("Yes", "No"))])
        assert (found.error, found.scores) == ("no_scores", ())
    assert server.looked_at[-1].body["chat_template_kwargs"] == {"a": 1}


def test_what_a_reply_shows_of_thoughts_holds_for_the_next() -> None:
    replies = iter([{"text": f"{CUT}</think>B"}, {"text": CUT, "finish_reason": "length"}, {"text": "A"}])
    with ChatServer(lambda asked: Says(completion(asked, **next(replies)))) as server:
        asked = adapter(server)
        found = [next(iter(asked.answers(BLIND, [WRITE]))) for _ in range(3)]
    assert [(one.text, one.error) for one in found] == [("B", ""), ("", "still_thinking"), ("A", "")]
