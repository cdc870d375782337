"""A model at a server: what is sent, what each reply means, and what a server that misbehaves leads to."""

import base64
from collections import Counter
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Picture
from pydantic import ValidationError
from reprise.core.errors import UserError
from reprise.media.decoder import arrange_grid, read_frames
from reprise.models.base import ClipFrames, PendingRequests
from reprise.models.inference.money.prices import NO_BUDGET, Account
from reprise.models.remote.openai import OpenAIAdapter
from reprise.models.settings import OpenAISettings

from tests.unit.models import vendor_servers
from tests.unit.models.chat_server import (
    FRAME_TOKENS,
    MODEL,
    TEXT_TOKENS,
    TOKENS,
    VERSION,
    ChatServer,
    FrameCachingServer,
    ReceivedRequest,
    ServerReply,
    build_logprobs,
    completion,
    describe_server,
    error,
    probability_of_yes,
    reply_correctly,
)
from tests.unit.models.vendor_servers import WRITE
from tests.unit.requests import BLIND, request, shown, spec
from tests.unit.videos import RATE, numbers

KEY = "sk-test-0123456789abcdefghij"
SCORE = request("is it so", "score", ("Yes", "No"), max_tokens=1)
FRAMES = 48
"""of the tests' video"""
adapter = partial(vendor_servers.adapter, "openai", scores="logprob_token_ids")
answer = partial(vendor_servers.answer, "openai", scores="logprob_token_ids")


def due(name: str, count: int, clip: ClipFrames = BLIND) -> PendingRequests:
    requests = [request(f"{name} {at}", "write", request_id=f"{name}{at}") for at in range(count)]
    return PendingRequests(replace(clip, clip_id=name), tuple(requests))


# --- what is sent ----------------------------------------------------------------------------------------------------


def test_a_grid_is_sent_as_one_picture(video: Path) -> None:
    indices = (3, 40, 40, 47)
    with ChatServer() as server:
        own = adapter(server, max_images=1)
        (found,) = own.answers(replace(shown(video, indices), grid=(2, 2)), [WRITE])
        (image,) = server.received[-1].images
        with pytest.raises(UserError, match="has 4 frames, but settings.max_images"):
            list(own.answers(shown(video, indices), [WRITE]))
    picture = np.asarray(Picture.open(BytesIO(base64.b64decode(image))))
    assert np.array_equal(picture, arrange_grid(read_frames(video, indices), 2, 2))
    assert found.frames_shown == 1 and found.tokens_in == TEXT_TOKENS + FRAME_TOKENS


def test_a_video_is_sent_as_a_list_of_frames_with_their_times(video: Path) -> None:
    """Frames of a temporal ablation have the times of the plan."""
    with ChatServer() as server:
        planned = replace(shown(video, (0, 20, 40)), indices=(40, 20, 0))
        list(adapter(server, frames="video").answers(planned, [WRITE]))
    received = server.received[-1]
    assert [part["type"] for part in received.content] == ["video_url", "text"]
    pictures = [np.asarray(Picture.open(BytesIO(base64.b64decode(one)))) for one in received.images]
    assert numbers(np.stack(pictures)) == [40, 20, 0]
    assert received.body["media_io_kwargs"] == {
        "video": {
            "num_frames": -1, "fps": RATE, "frames_indices": [0, 20, 40], "total_num_frames": FRAMES,
            "duration": FRAMES / RATE,
        }
    }  # fmt: skip


@pytest.mark.parametrize("frames", ["video", "images"])
@pytest.mark.parametrize(
    ("keeps", "sent"),
    [pytest.param(100, [6, 8, 0, 0, 0], id="kept"), pytest.param(0, [6, 8, 0, 8, 0, 8, 0, 8], id="dropped")],
)
def test_frames_are_sent_once_to_a_server_that_caches_them(
    video: Path, frames: str, keeps: int, sent: list[int]
) -> None:
    clip = shown(video, tuple(range(8)))
    requests = [replace(SCORE, prompt=f"is it {at}", request_id=str(at)) for at in range(4)]
    with ChatServer(FrameCachingServer(100)) as server:
        each_time = list(adapter(server, frames=frames).answers(clip, requests))
    with ChatServer(FrameCachingServer(keeps)) as server:
        once = list(adapter(server, frames=frames, frames_once=True, concurrency=1).answers(clip, requests))
        frame_counts = [
            len(received.images) for received in server.received if received.path.endswith("/chat/completions")
        ]
    assert once == each_time and len({found.scores for found in once}) == len(requests)
    assert frame_counts == sent


def test_no_id_stands_for_the_frames_of_two_clips(video: Path) -> None:
    dues = [due(name, 2, shown(video, (at, at + 1))) for at, name in enumerate("abc")]
    with ChatServer() as server:
        list(adapter(server, frames_once=True, check_frames=False).answers_in_any_order(dues))
    parts = [part for received in server.received for part in received.content[:-1] if received.images]
    assert len({part["uuid"] for part in parts}) == len(parts) == 6


def test_a_request_says_what_the_settings_and_the_protocol_say() -> None:
    sent = request('a "quoted"\nline of é', "write", system="Be brief.", max_tokens=5)
    with ChatServer() as server:
        own = {"temperature": None, "max_tokens_field": "max_completion_tokens", "body": {"reasoning_effort": "low"}}
        list(adapter(server, **own).answers(BLIND, [sent]))
        list(adapter(server, max_tokens=4000).answers(BLIND, [sent]))
    one, other = (received.body for received in server.received)
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": sent.prompt}]
    assert one == {
        "model": MODEL, "reasoning_effort": "low", "max_completion_tokens": 5, "messages": messages
    }  # fmt: skip
    assert (other["max_tokens"], other["temperature"]) == (4000, 0)


def test_no_key_of_the_environment_is_sent_but_the_one_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "sk-of-somebody-else-0123456789")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer sk-of-somebody-else-0123456789")
    monkeypatch.setenv("OUR_API_KEY", KEY)
    with ChatServer() as server:
        list(adapter(server, key="OUR_API_KEY").answers(BLIND, [WRITE]))
        assert server.metadata_requests == [], "a vendor is not asked what it serves"
        list(adapter(server).answers(BLIND, [WRITE]))
    with_key, without = (received.headers for received in server.received)
    assert "somebody" not in str(without) + str(with_key)
    assert (without["authorization"], with_key["authorization"]) == ("Bearer none", f"Bearer {KEY}")


# --- scores ----------------------------------------------------------------------------------------------------------


def test_a_score_is_the_probability_of_each_options_token() -> None:
    with ChatServer() as server:
        found = list(adapter(server).answers(BLIND, [SCORE, request("or so", "score", ("Yes", "No"))]))
    for prompt, one in zip(("is it so", "or so"), found, strict=True):
        yes = probability_of_yes(prompt)
        assert one.scores == pytest.approx((yes, 0.9 - yes)) and one.text == "" and one.error == ""
    paths = Counter(received.path for received in server.received)
    assert paths == {"/tokenize": 2, "/v1/chat/completions": 2}, "each option is looked up once"
    assert server.received[-1].body["logprob_token_ids"] == [7, 8] and server.received[-1].body["max_tokens"] == 1


@pytest.mark.parametrize(
    ("tokenizer", "settings", "message"),
    [
        (error(404), {}, r"no tokens of 'Yes'.*`option_tokens: \{Yes: <token>, \.\.\.\}`"),
        (ServerReply({"tokens": [1, 2]}), {}, "'Yes' is 2 tokens; a score needs options of one token each"),
        (
            ServerReply({"tokens": [1]}),
            {},
            "/tokenize: 'Yes' and 'No' are the same token .1., so their scores are always equal",
        ),
        (ServerReply({"tokens": [1]}), {"scores": None}, r"settings\.scores .* no exact probabilities"),
    ],
)
def test_options_without_a_token_have_no_score(tokenizer: ServerReply, settings: dict[str, Any], message: str) -> None:
    def respond(received: ReceivedRequest) -> ServerReply:
        return tokenizer if received.path == "/tokenize" else reply_correctly(received)

    with pytest.raises(UserError, match=message):
        answer(respond, SCORE, **settings)
    assert answer(respond, SCORE, option_tokens={"Yes": 7, "No": 8})[0].scores, "where they are written down"
    with pytest.raises(ValidationError, match="'Yes' and 'No' are the same token"):
        answer(respond, SCORE, option_tokens={"Yes": 7, "No": 7})


def logprobs(*found: tuple[str, float]) -> dict[str, Any]:
    top = [{"token": token, "logprob": value} for token, value in found]
    return {"content": [{"token": "x", "logprob": -1.0, "top_logprobs": top}]}


@pytest.mark.parametrize(
    ("reply", "outcome", "message"),
    [
        ({"logprobs": None}, "no_scores", "the server returned no logprobs"),
        ({"logprobs": logprobs(("Yes", -0.1), ("No", -3))}, "no_scores", "the server returned: Yes, No"),
        ({"logprobs": logprobs(("token_id:7", float("nan")), ("token_id:8", -3))}, "not_finite", "nan"),
        ({"logprobs": logprobs(("token_id:7", -0.1), ("token_id:8", -0.2))}, "malformed", "probabilities"),
        ({"text": "<think>", "logprobs": logprobs(("token_id:7", -0.1), ("token_id:8", -3))}, "no_scores", "thinks"),
        ({"message": {"reasoning_content": "Hm"}, "logprobs": logprobs(("token_id:7", -0.1))}, "no_scores", "thinks"),
    ],
)  # fmt: skip
def test_what_is_no_exact_score_is_a_failure(reply: dict[str, Any], outcome: str, message: str) -> None:
    def respond(received: ReceivedRequest) -> ServerReply:
        return ServerReply(completion(received, **reply)) if received.path != "/tokenize" else reply_correctly(received)

    found, _ = answer(respond, SCORE)
    assert found.error == outcome and message in found.message and found.scores == ()


# --- errors of the server --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "settings"),
    [(error(429, "rate_limit_exceeded", retry_after="1"), {}), (ServerReply(b"", delay=9), {"timeout_s": 2})],
)
def test_transient_failures_are_retried(first: ServerReply, settings: dict[str, Any]) -> None:
    left = iter([first])
    found, received = answer(lambda received: next(left, None) or reply_correctly(received), **settings, retries=1)
    assert (found.text, found.error, len(received)) == ("this", "", 2)


def test_an_invalid_key_is_an_error_before_any_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD_API_KEY", "two words")
    for key, said in (
        ("MISSING_API_KEY", "is not set"),
        ("ODD_API_KEY", "does not hold a valid key: it contains spaces"),
    ):
        with ChatServer() as server, pytest.raises(UserError, match=f"'{key}' {said}"):
            adapter(server, key=key)
        assert server.received == []


# --- frames that a server leaves out ---------------------------------------------------------------------------------


def test_frames_that_the_server_drops_are_detected(video: Path) -> None:
    requests = [request(f"say {at}", "write") for at in range(3)]
    with ChatServer(lambda received: ServerReply(completion(received, frames=min(32, len(received.images))))) as server:
        one = adapter(server)
        whole = list(one.answers(shown(video, tuple(range(32))), requests))
        cut = list(one.answers(shown(video, tuple(range(8, 48))), requests))
    assert [found.error for found in whole] == [""] * 3
    assert [found.error for found in cut] == ["not_shown"] * 3
    assert "counts 340 tokens with 40 frames and 340 with 38" in cut[0].message
    assert Counter(len(received.images) for received in server.received) == {30: 1, 32: 3, 38: 1, 40: 1}, (
        "two requests show what the server does, and no other question is paid for"
    )


def test_a_clip_with_no_more_frames_than_before_is_not_probed(video: Path) -> None:
    with ChatServer() as server:
        one = adapter(server)
        for frames in (8, 4, 8, 1):
            list(one.answers(shown(video, tuple(range(frames))), [WRITE]))
        list(adapter(server, check_frames=False).answers(shown(video, (0, 1, 2)), [WRITE]))
    assert [len(received.images) for received in server.received] == [6, 8, 4, 8, 1, 3]


# --- many questions at a time ----------------------------------------------------------------------------------------


def test_the_first_request_of_a_clip_is_sent_alone_and_the_others_together(video: Path) -> None:
    most: list[int] = []

    def respond(received: ReceivedRequest) -> ServerReply:
        most.append(server.max_concurrent)
        return replace(reply_correctly(received), delay=0.1)

    with ChatServer(respond) as server:
        list(adapter(server, concurrency=3, check_frames=False).answers_in_any_order([due("c", 8, shown(video, (1,)))]))
    assert server.prompts[0] == "c 0" and most[0] == 1 and server.max_concurrent == 3 and len(most) == 8


def test_limits_of_a_vendor_hold_for_all_questions(tmp_path: Path) -> None:
    left = iter([error(429, "rate_limit_exceeded", retry_after="0.1")])
    with ChatServer(lambda received: next(left, None) or replace(reply_correctly(received), delay=0.05)) as server:
        own = {"url": server.url, "model": MODEL, "retries": 1, "limits": {"concurrency": 1}}
        one = OpenAIAdapter(replace(spec(**own), account=Account(tmp_path, "m", None, NO_BUDGET, is_paid=False)))
        found = [given.answer.text for given in one.answers_in_any_order([due("c", 4)])]
        assert sorted(found) == ["0", "1", "2", "3"] and server.max_concurrent == 1 and len(server.received) == 5


def test_requests_in_flight_finish_before_a_user_error_ends_the_job() -> None:
    def respond(received: ReceivedRequest) -> ServerReply:
        return (
            error(401)
            if received.prompt == "c 3"
            else replace(reply_correctly(received), delay=0.2 * (received.prompt == "c 1"))
        )

    found: list[str] = []
    with ChatServer(respond) as server:
        with pytest.raises(UserError, match="rejects the key"):
            for given in adapter(server, concurrency=3).answers_in_any_order([due("c", 40)]):
                found.append(given.request.request_id)
        assert "c1" in found and len(server.received) < 12, "nothing more is asked"


def test_a_clip_that_cannot_be_read_fails_alone(tmp_path: Path, video: Path) -> None:
    (tmp_path / "bad.mp4").write_bytes(b"no video")
    with ChatServer() as server:
        dues = [due("bad", 3, shown(tmp_path / "bad.mp4", (0, 1))), due("good", 2, shown(video, (0, 1)))]
        found = {given.request.request_id: given.answer for given in adapter(server).answers_in_any_order(dues)}
    assert {found[f"bad{at}"].error for at in range(3)} == {"not_media"}
    assert [found["good0"].text, found["good1"].text] == ["0", "1"]


# --- metadata of one's own server ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"model": "toy-2"}, rf"serves {MODEL}, not 'toy-2'\. Start it with that model \(vLLM: --served-model-name\)"),
        ({"version": "0.32.0"}, rf"reports version '{VERSION}', not '0\.32\.0'\. Start that version"),
    ],
)
def test_a_server_of_another_model_or_version_is_rejected_before_any_request(
    wrong: dict[str, str], message: str
) -> None:
    with ChatServer() as server:
        with pytest.raises(UserError, match=message):
            list(adapter(server, **wrong).answers(BLIND, [WRITE]))
        assert server.received == []
        (found,) = adapter(server, version=VERSION).answers(BLIND, [WRITE])
        assert found.text == "this"


@pytest.mark.parametrize(
    "server_reply",
    [error(404), error(500), ServerReply(b"<html>"), ServerReply({"data": []}), ServerReply([{"id": 1}])],
)  # type: ignore[arg-type]
def test_missing_metadata_of_a_server_is_no_error(server_reply: ServerReply) -> None:
    with ChatServer() as server:
        server.describe = lambda received: server_reply
        (found,) = adapter(server).answers(BLIND, [WRITE])
    assert found.text == "this"


CUT = "So, let's see. First, let me consider A."
OPENS = ServerReply({"count": 3, "tokens": [1, 2, 3], "token_strs": ["assistant", "\u010a", "<think>", "\u010a"]})


def test_a_thought_that_the_servers_template_opens_is_no_answer() -> None:
    def respond(received: ReceivedRequest) -> ServerReply:
        logprobs = build_logprobs(received) if "logprob_token_ids" in received.body else None
        return ServerReply(completion(received, CUT, finish_reason="length", logprobs=logprobs))

    with ChatServer(respond) as server:
        (found,) = adapter(server).answers(BLIND, [WRITE])
        assert found.text == CUT, "of a server that does not say so"
        server.describe = lambda received: OPENS if received.path == "/tokenize" else describe_server(received)
        own = {"option_tokens": TOKENS, "body": {"chat_template_kwargs": {"a": 1}}}
        own_adapter = adapter(server, **own)
        (found,) = own_adapter.answers(BLIND, [WRITE])
        assert (found.error, found.text) == ("still_thinking", "") and "settings.max_tokens" in found.message
        (found,) = own_adapter.answers(BLIND, [request("so?", "score", ("Yes", "No"))])
        assert (found.error, found.scores) == ("no_scores", ())
    assert server.metadata_requests[-1].body["chat_template_kwargs"] == {"a": 1}


def test_what_a_reply_shows_of_thoughts_holds_for_the_next() -> None:
    replies = iter([{"text": f"{CUT}</think>B"}, {"text": CUT, "finish_reason": "length"}, {"text": "A"}])
    with ChatServer(lambda received: ServerReply(completion(received, **next(replies)))) as server:
        own_adapter = adapter(server)
        found = [next(iter(own_adapter.answers(BLIND, [WRITE]))) for _ in range(3)]
    assert [(one.text, one.error) for one in found] == [("B", ""), ("", "still_thinking"), ("A", "")]


# --- secrets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"key": KEY}, "should be the name of an environment variable"),
        ({"key": "MY_VENDOR"}, "with API_KEY, TOKEN or SECRET in it"),
        ({"url": "http://user:secret@host/v1"}, "url"),
        ({"body": {"model": "x", "n": 2}}, "model, n: set by the protocol"),
        ({"limits": {"shared": "../us"}}, "limits.shared"),  # it names a folder
    ],
)
def test_settings_hold_no_secret_and_contradict_nothing(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        OpenAISettings.model_validate({"url": "http://host/v1", "model": MODEL, **settings})
