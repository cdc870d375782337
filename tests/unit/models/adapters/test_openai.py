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
from reprise.media.decoder import as_grid, read_frames
from reprise.models.asking.money.prices import NO_BUDGET, Account
from reprise.models.base import Clip, Due
from reprise.models.remote.openai import OpenAIAdapter
from reprise.models.settings import OpenAISettings

from tests.unit.asked import BLIND, request, shown, spec
from tests.unit.models import vendor_servers
from tests.unit.models.chat_server import (
    FRAME_TOKENS,
    MODEL,
    TEXT_TOKENS,
    TOKENS,
    VERSION,
    Asked,
    ChatServer,
    Keeping,
    Says,
    completion,
    error,
    introduced,
    probability_of_yes,
    scored,
    well,
)
from tests.unit.models.vendor_servers import WRITE
from tests.unit.videos import RATE, numbers

KEY = "sk-test-0123456789abcdefghij"
SCORE = request("is it so", "score", ("Yes", "No"), max_tokens=1)
FRAMES = 48
"""of the tests' video"""
adapter = partial(vendor_servers.adapter, "openai", scores="logprob_token_ids")
answer = partial(vendor_servers.answer, "openai", scores="logprob_token_ids")


def due(name: str, count: int, clip: Clip = BLIND) -> Due:
    asked = [request(f"{name} {at}", "write", request_id=f"{name}{at}") for at in range(count)]
    return Due(replace(clip, clip_id=name), tuple(asked))


# --- what is sent ----------------------------------------------------------------------------------------------------


def test_a_grid_is_sent_as_one_picture(video: Path) -> None:
    indices = (3, 40, 40, 47)
    with ChatServer() as server:
        own = adapter(server, max_images=1)
        (found,) = own.answers(replace(shown(video, indices), grid=(2, 2)), [WRITE])
        (image,) = server.asked[-1].images
        with pytest.raises(UserError, match="is shown with 4 frames, but settings.max_images"):
            list(own.answers(shown(video, indices), [WRITE]))
    picture = np.asarray(Picture.open(BytesIO(base64.b64decode(image))))
    assert np.array_equal(picture, as_grid(read_frames(video, indices), 2, 2))
    assert found.frames_shown == 1 and found.tokens_in == TEXT_TOKENS + FRAME_TOKENS


def test_a_video_is_sent_as_a_list_of_frames_with_their_times(video: Path) -> None:
    """Those of a view at the moments of the plan."""
    with ChatServer() as server:
        planned = replace(shown(video, (0, 20, 40)), indices=(40, 20, 0))
        list(adapter(server, frames="video").answers(planned, [WRITE]))
    asked = server.asked[-1]
    assert [part["type"] for part in asked.content] == ["video_url", "text"]
    pictures = [np.asarray(Picture.open(BytesIO(base64.b64decode(one)))) for one in asked.images]
    assert numbers(np.stack(pictures)) == [40, 20, 0]
    assert asked.body["media_io_kwargs"] == {
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
def test_frames_are_sent_once_to_a_server_that_keeps_them(
    video: Path, frames: str, keeps: int, sent: list[int]
) -> None:
    clip = shown(video, tuple(range(8)))
    asked = [replace(SCORE, prompt=f"is it {at}", request_id=str(at)) for at in range(4)]
    with ChatServer(Keeping(100)) as server:
        each_time = list(adapter(server, frames=frames).answers(clip, asked))
    with ChatServer(Keeping(keeps)) as server:
        once = list(adapter(server, frames=frames, frames_once=True, concurrency=1).answers(clip, asked))
        questions = [len(one.images) for one in server.asked if one.path.endswith("/chat/completions")]
    assert once == each_time and len({found.scores for found in once}) == len(asked)
    assert questions == sent


def test_no_id_stands_for_the_frames_of_two_clips(video: Path) -> None:
    dues = [due(name, 2, shown(video, (at, at + 1))) for at, name in enumerate("abc")]
    with ChatServer() as server:
        list(adapter(server, frames_once=True, check_frames=False).answers_in_any_order(dues))
    parts = [part for asked in server.asked for part in asked.content[:-1] if asked.images]
    assert len({part["uuid"] for part in parts}) == len(parts) == 6


def test_a_request_says_what_the_settings_and_the_protocol_say() -> None:
    asked = request('a "quoted"\nline of é', "write", system="Be brief.", max_tokens=5)
    with ChatServer() as server:
        own = {"temperature": None, "max_tokens_field": "max_completion_tokens", "body": {"reasoning_effort": "low"}}
        list(adapter(server, **own).answers(BLIND, [asked]))
        list(adapter(server, max_tokens=4000).answers(BLIND, [asked]))
    one, other = (asked.body for asked in server.asked)
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": asked.prompt}]
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
        assert server.looked_at == [], "a vendor is not asked what it serves"
        list(adapter(server).answers(BLIND, [WRITE]))
    with_key, without = (asked.headers for asked in server.asked)
    assert "somebody" not in str(without) + str(with_key)
    assert (without["authorization"], with_key["authorization"]) == ("Bearer none", f"Bearer {KEY}")


# --- scores ----------------------------------------------------------------------------------------------------------


def test_a_score_is_the_probability_of_each_options_token() -> None:
    with ChatServer() as server:
        found = list(adapter(server).answers(BLIND, [SCORE, request("or so", "score", ("Yes", "No"))]))
    for asked, one in zip(("is it so", "or so"), found, strict=True):
        yes = probability_of_yes(asked)
        assert one.scores == pytest.approx((yes, 0.9 - yes)) and one.text == "" and one.error == ""
    paths = Counter(asked.path for asked in server.asked)
    assert paths == {"/tokenize": 2, "/v1/chat/completions": 2}, "each option is looked up once"
    assert server.asked[-1].body["logprob_token_ids"] == [7, 8] and server.asked[-1].body["max_tokens"] == 1


@pytest.mark.parametrize(
    ("tokenizer", "settings", "message"),
    [
        (error(404), {}, r"no tokens of 'Yes'.*`option_tokens: \{Yes: <token>, \.\.\.\}`"),
        (Says({"tokens": [1, 2]}), {}, "'Yes' is 2 tokens; a score needs options that are one token each"),
        (
            Says({"tokens": [1]}),
            {},
            "/tokenize: 'Yes' and 'No' are the same token .1., so that their scores are always equal",
        ),
        (Says({"tokens": [1]}), {"scores": None}, r"settings\.scores .* no exact probabilities"),
    ],
)
def test_options_without_a_token_have_no_score(tokenizer: Says, settings: dict[str, Any], message: str) -> None:
    def says(asked: Asked) -> Says:
        return tokenizer if asked.path == "/tokenize" else well(asked)

    with pytest.raises(UserError, match=message):
        answer(says, SCORE, **settings)
    assert answer(says, SCORE, option_tokens={"Yes": 7, "No": 8})[0].scores, "where they are written down"
    with pytest.raises(ValidationError, match="'Yes' and 'No' are the same token"):
        answer(says, SCORE, option_tokens={"Yes": 7, "No": 7})


def logprobs(*found: tuple[str, float]) -> dict[str, Any]:
    top = [{"token": token, "logprob": value} for token, value in found]
    return {"content": [{"token": "x", "logprob": -1.0, "top_logprobs": top}]}


@pytest.mark.parametrize(
    ("reply", "outcome", "message"),
    [
        ({"logprobs": None}, "no_scores", "the server gave no logprobs"),
        ({"logprobs": logprobs(("Yes", -0.1), ("No", -3))}, "no_scores", "those of the server: Yes, No"),
        ({"logprobs": logprobs(("token_id:7", float("nan")), ("token_id:8", -3))}, "not_finite", "nan"),
        ({"logprobs": logprobs(("token_id:7", -0.1), ("token_id:8", -0.2))}, "malformed", "probabilities"),
        ({"text": "<think>", "logprobs": logprobs(("token_id:7", -0.1), ("token_id:8", -3))}, "no_scores", "thinks"),
        ({"message": {"reasoning_content": "Hm"}, "logprobs": logprobs(("token_id:7", -0.1))}, "no_scores", "thinks"),
    ],
)  # fmt: skip
def test_what_is_no_exact_score_is_a_failure(reply: dict[str, Any], outcome: str, message: str) -> None:
    def says(asked: Asked) -> Says:
        return Says(completion(asked, **reply)) if asked.path != "/tokenize" else well(asked)

    found, _ = answer(says, SCORE)
    assert found.error == outcome and message in found.message and found.scores == ()


# --- errors of the server --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "settings"),
    [(error(429, "rate_limit_exceeded", retry_after="1"), {}), (Says(b"", delay=9), {"timeout_s": 2})],
)
def test_what_passes_is_asked_again(first: Says, settings: dict[str, Any]) -> None:
    left = iter([first])
    found, asked = answer(lambda asked: next(left, None) or well(asked), **settings, retries=1)
    assert (found.text, found.error, len(asked)) == ("this", "", 2)


def test_a_key_that_cannot_be_one_is_named_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD_API_KEY", "two words")
    for key, said in (("MISSING_API_KEY", "is not set"), ("ODD_API_KEY", "holds no key: it has signs that no key")):
        with ChatServer() as server, pytest.raises(UserError, match=f"'{key}' {said}"):
            adapter(server, key=key)
        assert server.asked == []


# --- frames that a server leaves out ---------------------------------------------------------------------------------


def test_a_list_of_frames_that_the_server_cut_is_named(video: Path) -> None:
    asked = [request(f"say {at}", "write") for at in range(3)]
    with ChatServer(lambda asked: Says(completion(asked, frames=min(32, len(asked.images))))) as server:
        one = adapter(server)
        whole = list(one.answers(shown(video, tuple(range(32))), asked))
        cut = list(one.answers(shown(video, tuple(range(8, 48))), asked))
    assert [found.error for found in whole] == [""] * 3
    assert [found.error for found in cut] == ["not_shown"] * 3
    assert "counts 340 tokens with 40 frames and 340 with 38" in cut[0].message
    assert Counter(len(asked.images) for asked in server.asked) == {30: 1, 32: 3, 38: 1, 40: 1}, (
        "two requests show what the server does, and no other question is paid for"
    )


def test_as_many_frames_as_before_need_no_proof(video: Path) -> None:
    with ChatServer() as server:
        one = adapter(server)
        for frames in (8, 4, 8, 1):
            list(one.answers(shown(video, tuple(range(frames))), [WRITE]))
        list(adapter(server, check_frames=False).answers(shown(video, (0, 1, 2)), [WRITE]))
    assert [len(asked.images) for asked in server.asked] == [6, 8, 4, 8, 1, 3]


# --- many questions at a time ----------------------------------------------------------------------------------------


def test_the_first_question_goes_alone_and_the_others_together(video: Path) -> None:
    most: list[int] = []

    def says(asked: Asked) -> Says:
        most.append(server.most_at_once)
        return replace(well(asked), delay=0.1)

    with ChatServer(says) as server:
        list(adapter(server, concurrency=3, check_frames=False).answers_in_any_order([due("c", 8, shown(video, (1,)))]))
    assert server.prompts[0] == "c 0" and most[0] == 1 and server.most_at_once == 3 and len(most) == 8


def test_limits_of_a_vendor_hold_for_all_questions(tmp_path: Path) -> None:
    left = iter([error(429, "rate_limit_exceeded", retry_after="0.1")])
    with ChatServer(lambda asked: next(left, None) or replace(well(asked), delay=0.05)) as server:
        own = {"url": server.url, "model": MODEL, "retries": 1, "limits": {"concurrency": 1}}
        one = OpenAIAdapter(replace(spec(**own), account=Account(tmp_path, "m", None, NO_BUDGET, is_paid=False)))
        found = [given.answer.text for given in one.answers_in_any_order([due("c", 4)])]
        assert sorted(found) == ["0", "1", "2", "3"] and server.most_at_once == 1 and len(server.asked) == 5


def test_before_a_mistake_ends_the_job_what_is_on_its_way_arrives() -> None:
    def says(asked: Asked) -> Says:
        return error(401) if asked.prompt == "c 3" else replace(well(asked), delay=0.2 * (asked.prompt == "c 1"))

    found: list[str] = []
    with ChatServer(says) as server:
        with pytest.raises(UserError, match="refuses the key"):
            for given in adapter(server, concurrency=3).answers_in_any_order([due("c", 40)]):
                found.append(given.request.request_id)
        assert "c1" in found and len(server.asked) < 12, "nothing more is asked"


def test_a_clip_that_cannot_be_read_fails_alone(tmp_path: Path, video: Path) -> None:
    (tmp_path / "bad.mp4").write_bytes(b"no video")
    with ChatServer() as server:
        dues = [due("bad", 3, shown(tmp_path / "bad.mp4", (0, 1))), due("good", 2, shown(video, (0, 1)))]
        found = {given.request.request_id: given.answer for given in adapter(server).answers_in_any_order(dues)}
    assert {found[f"bad{at}"].error for at in range(3)} == {"not_media"}
    assert [found["good0"].text, found["good1"].text] == ["0", "1"]


# --- what a server of one's own says of itself -----------------------------------------------------------------------


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


@pytest.mark.parametrize("says", [error(404), error(500), Says(b"<html>"), Says({"data": []}), Says([{"id": 1}])])  # type: ignore[arg-type]
def test_what_a_server_does_not_say_is_no_mistake(says: Says) -> None:
    with ChatServer() as server:
        server.introduces = lambda asked: says
        (found,) = adapter(server).answers(BLIND, [WRITE])
    assert found.text == "this"


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
        asked = adapter(server, **own)
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


# --- secrets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"key": KEY}, "should be the name of an environment variable"),
        ({"key": "MY_VENDOR"}, "with API_KEY, TOKEN or SECRET in it"),
        ({"url": "http://user:secret@host/v1"}, "url"),
        ({"body": {"model": "x", "n": 2}}, "model, n: not here"),
        ({"limits": {"shared": "../us"}}, "limits.shared"),  # it names a folder
    ],
)
def test_settings_hold_no_secret_and_contradict_nothing(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        OpenAISettings.model_validate({"url": "http://host/v1", "model": MODEL, **settings})
