"""Test the adapter for servers with OpenAI's API: requests that it sends, replies, and faults of the server."""

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
from tests.unit.requests import NO_FRAMES, clip_frames, make_request, model_spec
from tests.unit.videos import RATE, read_barcodes

KEY = "sk-test-0123456789abcdefghij"
SCORE = make_request("is it so", "score", ("Yes", "No"), max_tokens=1)
FRAME_COUNT = 48
"""number of frames of the tests' video"""
make_adapter = partial(vendor_servers.make_adapter, "openai", scores="logprob_token_ids")
query = partial(vendor_servers.query_vendor, "openai", scores="logprob_token_ids")


def make_pending(name: str, count: int, clip: ClipFrames = NO_FRAMES) -> PendingRequests:
    requests = [make_request(f"{name} {index}", "write", request_id=f"{name}{index}") for index in range(count)]
    return PendingRequests(replace(clip, clip_id=name), tuple(requests))


# --- requests --------------------------------------------------------------------------------------------------------


def test_a_grid_is_sent_as_one_picture(video: Path) -> None:
    indices = (3, 40, 40, 47)
    with ChatServer() as server:
        grid_adapter = make_adapter(server, max_images=1)
        (answer,) = grid_adapter.answers(replace(clip_frames(video, indices), grid=(2, 2)), [WRITE])
        (image,) = server.received[-1].images
        with pytest.raises(UserError, match="has 4 frames, but settings.max_images"):
            list(grid_adapter.answers(clip_frames(video, indices), [WRITE]))
    picture = np.asarray(Picture.open(BytesIO(base64.b64decode(image))))
    assert np.array_equal(picture, arrange_grid(read_frames(video, indices), 2, 2))
    assert answer.frames_shown == 1 and answer.tokens_in == TEXT_TOKENS + FRAME_TOKENS


def test_a_video_is_sent_as_a_list_of_frames_with_their_times(video: Path) -> None:
    """Frames of a temporal ablation have the times of the plan."""
    with ChatServer() as server:
        planned = replace(clip_frames(video, (0, 20, 40)), indices=(40, 20, 0))
        list(make_adapter(server, frames="video").answers(planned, [WRITE]))
    received = server.received[-1]
    assert [part["type"] for part in received.content] == ["video_url", "text"]
    pictures = [np.asarray(Picture.open(BytesIO(base64.b64decode(image)))) for image in received.images]
    assert read_barcodes(np.stack(pictures)) == [40, 20, 0]
    assert received.body["media_io_kwargs"] == {
        "video": {
            "num_frames": -1, "fps": RATE, "frames_indices": [0, 20, 40], "total_num_frames": FRAME_COUNT,
            "duration": FRAME_COUNT / RATE,
        }
    }  # fmt: skip


@pytest.mark.parametrize("frames", ["video", "images"])
@pytest.mark.parametrize(
    ("cache_size", "sent_frame_counts"),
    [pytest.param(100, [6, 8, 0, 0, 0], id="kept"), pytest.param(0, [6, 8, 0, 8, 0, 8, 0, 8], id="dropped")],
)
def test_frames_are_sent_once_to_a_server_that_caches_them(
    video: Path, frames: str, cache_size: int, sent_frame_counts: list[int]
) -> None:
    clip = clip_frames(video, tuple(range(8)))
    requests = [replace(SCORE, prompt=f"is it {index}", request_id=str(index)) for index in range(4)]
    with ChatServer(FrameCachingServer(100)) as server:
        answers_with_frames = list(make_adapter(server, frames=frames).answers(clip, requests))
    with ChatServer(FrameCachingServer(cache_size)) as server:
        answers_with_ids = list(
            make_adapter(server, frames=frames, frames_once=True, concurrency=1).answers(clip, requests)
        )
        frame_counts = [
            len(received.images) for received in server.received if received.path.endswith("/chat/completions")
        ]
    assert answers_with_ids == answers_with_frames and len({answer.scores for answer in answers_with_ids}) == len(
        requests
    )
    assert frame_counts == sent_frame_counts


def test_frames_of_two_clips_never_share_an_id(video: Path) -> None:
    pending = [make_pending(name, 2, clip_frames(video, (index, index + 1))) for index, name in enumerate("abc")]
    with ChatServer() as server:
        list(make_adapter(server, frames_once=True, check_frames=False).answers_in_any_order(pending))
    parts = [part for received in server.received for part in received.content[:-1] if received.images]
    assert len({part["uuid"] for part in parts}) == len(parts) == 6


def test_a_request_follows_the_settings_and_the_protocol() -> None:
    request = make_request('a "quoted"\nline of é', "write", system="Be brief.", max_tokens=5)
    with ChatServer() as server:
        settings = {
            "temperature": None,
            "max_tokens_field": "max_completion_tokens",
            "body": {"reasoning_effort": "low"},
        }
        list(make_adapter(server, **settings).answers(NO_FRAMES, [request]))
        list(make_adapter(server, max_tokens=4000).answers(NO_FRAMES, [request]))
    first_body, second_body = (received.body for received in server.received)
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": request.prompt}]
    assert first_body == {
        "model": MODEL, "reasoning_effort": "low", "max_completion_tokens": 5, "messages": messages
    }  # fmt: skip
    assert (second_body["max_tokens"], second_body["temperature"]) == (4000, 0)


def test_only_the_named_key_of_the_environment_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "sk-of-somebody-else-0123456789")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer sk-of-somebody-else-0123456789")
    monkeypatch.setenv("OUR_API_KEY", KEY)
    with ChatServer() as server:
        list(make_adapter(server, key="OUR_API_KEY").answers(NO_FRAMES, [WRITE]))
        assert server.metadata_requests == [], "the adapter requests no metadata from a vendor"
        list(make_adapter(server).answers(NO_FRAMES, [WRITE]))
    headers_with_key, headers_without_key = (received.headers for received in server.received)
    assert "somebody" not in str(headers_without_key) + str(headers_with_key)
    assert (headers_without_key["authorization"], headers_with_key["authorization"]) == ("Bearer none", f"Bearer {KEY}")


# --- scores ----------------------------------------------------------------------------------------------------------


def test_a_score_is_the_probability_of_each_options_token() -> None:
    with ChatServer() as server:
        answers = list(make_adapter(server).answers(NO_FRAMES, [SCORE, make_request("or so", "score", ("Yes", "No"))]))
    for prompt, answer in zip(("is it so", "or so"), answers, strict=True):
        yes = probability_of_yes(prompt)
        assert answer.scores == pytest.approx((yes, 0.9 - yes)) and answer.text == "" and answer.error == ""
    paths = Counter(received.path for received in server.received)
    assert paths == {"/tokenize": 2, "/v1/chat/completions": 2}, "each option is looked up once"
    assert server.received[-1].body["logprob_token_ids"] == [7, 8] and server.received[-1].body["max_tokens"] == 1


@pytest.mark.parametrize(
    ("tokenize_reply", "settings", "message"),
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
def test_options_without_a_token_have_no_score(
    tokenize_reply: ServerReply, settings: dict[str, Any], message: str
) -> None:
    def respond(received: ReceivedRequest) -> ServerReply:
        return tokenize_reply if received.path == "/tokenize" else reply_correctly(received)

    with pytest.raises(UserError, match=message):
        query(respond, SCORE, **settings)
    assert query(respond, SCORE, option_tokens={"Yes": 7, "No": 8})[0].scores, "settings may name the tokens"
    with pytest.raises(ValidationError, match="'Yes' and 'No' are the same token"):
        query(respond, SCORE, option_tokens={"Yes": 7, "No": 7})


def build_top_logprobs(*token_logprobs: tuple[str, float]) -> dict[str, Any]:
    top = [{"token": token, "logprob": value} for token, value in token_logprobs]
    return {"content": [{"token": "x", "logprob": -1.0, "top_logprobs": top}]}


@pytest.mark.parametrize(
    ("reply", "outcome", "message"),
    [
        ({"logprobs": None}, "no_scores", "the server returned no logprobs"),
        ({"logprobs": build_top_logprobs(("Yes", -0.1), ("No", -3))}, "no_scores", "the server returned: Yes, No"),
        ({"logprobs": build_top_logprobs(("token_id:7", float("nan")), ("token_id:8", -3))}, "not_finite", "nan"),
        ({"logprobs": build_top_logprobs(("token_id:7", -0.1), ("token_id:8", -0.2))}, "malformed", "probabilities"),
        ({"text": "<think>", "logprobs": build_top_logprobs(("token_id:7", -0.1), ("token_id:8", -3))}, "no_scores", "thinks"),
        ({"message": {"reasoning_content": "Hm"}, "logprobs": build_top_logprobs(("token_id:7", -0.1))}, "no_scores", "thinks"),
    ],
)  # fmt: skip
def test_inexact_scores_are_failures(reply: dict[str, Any], outcome: str, message: str) -> None:
    def respond(received: ReceivedRequest) -> ServerReply:
        return ServerReply(completion(received, **reply)) if received.path != "/tokenize" else reply_correctly(received)

    answer, _ = query(respond, SCORE)
    assert answer.error == outcome and message in answer.message and answer.scores == ()


# --- errors of the server --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first_reply", "settings"),
    [(error(429, "rate_limit_exceeded", retry_after="1"), {}), (ServerReply(b"", delay=9), {"timeout_s": 2})],
)
def test_transient_failures_are_retried(first_reply: ServerReply, settings: dict[str, Any]) -> None:
    remaining_replies = iter([first_reply])
    answer, received = query(
        lambda received: next(remaining_replies, None) or reply_correctly(received), **settings, retries=1
    )
    assert (answer.text, answer.error, len(received)) == ("this", "", 2)


def test_an_invalid_key_is_an_error_before_any_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD_API_KEY", "two words")
    for key, problem in (
        ("MISSING_API_KEY", "is not set"),
        ("ODD_API_KEY", "does not hold a valid key: it contains spaces"),
    ):
        with ChatServer() as server, pytest.raises(UserError, match=f"'{key}' {problem}"):
            make_adapter(server, key=key)
        assert server.received == []


# --- frames that a server drops --------------------------------------------------------------------------------------


def test_frames_that_the_server_drops_are_detected(video: Path) -> None:
    requests = [make_request(f"say {index}", "write") for index in range(3)]
    with ChatServer(lambda received: ServerReply(completion(received, frames=min(32, len(received.images))))) as server:
        adapter = make_adapter(server)
        complete_answers = list(adapter.answers(clip_frames(video, tuple(range(32))), requests))
        dropped_answers = list(adapter.answers(clip_frames(video, tuple(range(8, 48))), requests))
    assert [answer.error for answer in complete_answers] == [""] * 3
    assert [answer.error for answer in dropped_answers] == ["not_shown"] * 3
    assert "counts 340 tokens with 40 frames and 340 with 38" in dropped_answers[0].message
    assert Counter(len(received.images) for received in server.received) == {30: 1, 32: 3, 38: 1, 40: 1}, (
        "two requests detect the dropped frames, and no other request is sent"
    )


def test_a_clip_with_no_more_frames_than_before_is_not_probed(video: Path) -> None:
    with ChatServer() as server:
        adapter = make_adapter(server)
        for frame_count in (8, 4, 8, 1):
            list(adapter.answers(clip_frames(video, tuple(range(frame_count))), [WRITE]))
        list(make_adapter(server, check_frames=False).answers(clip_frames(video, (0, 1, 2)), [WRITE]))
    assert [len(received.images) for received in server.received] == [6, 8, 4, 8, 1, 3]


# --- concurrent requests ---------------------------------------------------------------------------------------------


def test_the_first_request_of_a_clip_is_sent_alone_and_the_others_together(video: Path) -> None:
    concurrency_at_request: list[int] = []

    def respond(received: ReceivedRequest) -> ServerReply:
        concurrency_at_request.append(server.max_concurrent)
        return replace(reply_correctly(received), delay=0.1)

    with ChatServer(respond) as server:
        list(
            make_adapter(server, concurrency=3, check_frames=False).answers_in_any_order(
                [make_pending("c", 8, clip_frames(video, (1,)))]
            )
        )
    assert (
        server.prompts[0] == "c 0"
        and concurrency_at_request[0] == 1
        and server.max_concurrent == 3
        and len(concurrency_at_request) == 8
    )


def test_limits_of_a_vendor_apply_to_all_requests(tmp_path: Path) -> None:
    remaining_replies = iter([error(429, "rate_limit_exceeded", retry_after="0.1")])
    with ChatServer(
        lambda received: next(remaining_replies, None) or replace(reply_correctly(received), delay=0.05)
    ) as server:
        settings = {"url": server.url, "model": MODEL, "retries": 1, "limits": {"concurrency": 1}}
        adapter = OpenAIAdapter(
            replace(model_spec(**settings), account=Account(tmp_path, "m", None, NO_BUDGET, is_paid=False))
        )
        texts = [response.answer.text for response in adapter.answers_in_any_order([make_pending("c", 4)])]
        assert sorted(texts) == ["0", "1", "2", "3"] and server.max_concurrent == 1 and len(server.received) == 5


def test_requests_in_flight_finish_before_a_user_error_ends_the_job() -> None:
    def respond(received: ReceivedRequest) -> ServerReply:
        return (
            error(401)
            if received.prompt == "c 3"
            else replace(reply_correctly(received), delay=0.2 * (received.prompt == "c 1"))
        )

    finished_ids: list[str] = []
    with ChatServer(respond) as server:
        with pytest.raises(UserError, match="rejects the key"):
            for response in make_adapter(server, concurrency=3).answers_in_any_order([make_pending("c", 40)]):
                finished_ids.append(response.request.request_id)
        assert "c1" in finished_ids and len(server.received) < 12, "the job sends no further requests"


def test_a_clip_that_cannot_be_read_fails_alone(tmp_path: Path, video: Path) -> None:
    (tmp_path / "bad.mp4").write_bytes(b"no video")
    with ChatServer() as server:
        pending = [
            make_pending("bad", 3, clip_frames(tmp_path / "bad.mp4", (0, 1))),
            make_pending("good", 2, clip_frames(video, (0, 1))),
        ]
        answer_by_id = {
            response.request.request_id: response.answer
            for response in make_adapter(server).answers_in_any_order(pending)
        }
    assert {answer_by_id[f"bad{index}"].error for index in range(3)} == {"not_media"}
    assert [answer_by_id["good0"].text, answer_by_id["good1"].text] == ["0", "1"]


# --- metadata of a local server --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong_settings", "message"),
    [
        ({"model": "toy-2"}, rf"serves {MODEL}, not 'toy-2'\. Start it with that model \(vLLM: --served-model-name\)"),
        ({"version": "0.32.0"}, rf"reports version '{VERSION}', not '0\.32\.0'\. Start that version"),
    ],
)
def test_a_server_of_another_model_or_version_is_rejected_before_any_request(
    wrong_settings: dict[str, str], message: str
) -> None:
    with ChatServer() as server:
        with pytest.raises(UserError, match=message):
            list(make_adapter(server, **wrong_settings).answers(NO_FRAMES, [WRITE]))
        assert server.received == []
        (answer,) = make_adapter(server, version=VERSION).answers(NO_FRAMES, [WRITE])
        assert answer.text == "this"


@pytest.mark.parametrize(
    "server_reply",
    [error(404), error(500), ServerReply(b"<html>"), ServerReply({"data": []}), ServerReply([{"id": 1}])],
)  # type: ignore[arg-type]
def test_missing_metadata_of_a_server_is_no_error(server_reply: ServerReply) -> None:
    with ChatServer() as server:
        server.describe = lambda received: server_reply
        (answer,) = make_adapter(server).answers(NO_FRAMES, [WRITE])
    assert answer.text == "this"


UNFINISHED_THOUGHT = "So, let's see. First, let me consider A."
OPEN_THOUGHT_TOKENS = ServerReply(
    {"count": 3, "tokens": [1, 2, 3], "token_strs": ["assistant", "\u010a", "<think>", "\u010a"]}
)


def test_a_thought_that_the_servers_template_opens_is_not_an_answer() -> None:
    def respond(received: ReceivedRequest) -> ServerReply:
        logprobs = build_logprobs(received) if "logprob_token_ids" in received.body else None
        return ServerReply(completion(received, UNFINISHED_THOUGHT, finish_reason="length", logprobs=logprobs))

    with ChatServer(respond) as server:
        (answer,) = make_adapter(server).answers(NO_FRAMES, [WRITE])
        assert answer.text == UNFINISHED_THOUGHT, "a server that does not report its template"
        server.describe = lambda received: (
            OPEN_THOUGHT_TOKENS if received.path == "/tokenize" else describe_server(received)
        )
        settings = {"option_tokens": TOKENS, "body": {"chat_template_kwargs": {"a": 1}}}
        adapter = make_adapter(server, **settings)
        (answer,) = adapter.answers(NO_FRAMES, [WRITE])
        assert (answer.error, answer.text) == ("still_thinking", "") and "settings.max_tokens" in answer.message
        (answer,) = adapter.answers(NO_FRAMES, [make_request("so?", "score", ("Yes", "No"))])
        assert (answer.error, answer.scores) == ("no_scores", ())
    assert server.metadata_requests[-1].body["chat_template_kwargs"] == {"a": 1}


def test_a_thought_in_one_reply_is_expected_in_the_next() -> None:
    replies = iter(
        [
            {"text": f"{UNFINISHED_THOUGHT}</think>B"},
            {"text": UNFINISHED_THOUGHT, "finish_reason": "length"},
            {"text": "A"},
        ]
    )
    with ChatServer(lambda received: ServerReply(completion(received, **next(replies)))) as server:
        adapter = make_adapter(server)
        answers = [next(iter(adapter.answers(NO_FRAMES, [WRITE]))) for _ in range(3)]
    assert [(answer.text, answer.error) for answer in answers] == [("B", ""), ("", "still_thinking"), ("A", "")]


# --- secrets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"key": KEY}, "should be the name of an environment variable"),
        ({"key": "MY_VENDOR"}, "with API_KEY, TOKEN or SECRET in it"),
        ({"url": "http://user:secret@host/v1"}, "url"),
        ({"body": {"model": "x", "n": 2}}, "model, n: set by the protocol"),
        ({"limits": {"shared": "../us"}}, "limits.shared"),  # it is the name of a folder
    ],
)
def test_settings_with_a_secret_or_a_contradiction_are_rejected(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        OpenAISettings.model_validate({"url": "http://host/v1", "model": MODEL, **settings})
