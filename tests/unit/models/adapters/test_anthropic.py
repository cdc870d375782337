"""Anthropic on the wire: settings as they are sent, what a reply counts, limits before anything is paid for."""

from functools import partial
from typing import Any

import pytest
from anthropic.types import TextBlock, Usage
from pydantic import ValidationError
from reprise.models.remote.settings import AnthropicSettings

from tests.unit.models import vendor_servers
from tests.unit.models.chat_server import MODEL, Says
from tests.unit.models.vendor_servers import anthropic_well, message, thought

answer = partial(vendor_servers.answer, "anthropic")


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ({}, {"max_tokens": 8}),
        ({"thinking": 2048, "max_tokens": 4000},
         {"max_tokens": 4000, "thinking": {"type": "enabled", "budget_tokens": 2048}}),
        ({"thinking": "adaptive", "effort": "low", "temperature": 1},
         {"max_tokens": 8, "temperature": 1.0, "thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}),
    ],
)  # fmt: skip
def test_a_request_says_what_the_settings_and_the_protocol_say(
    settings: dict[str, Any], fields: dict[str, Any]
) -> None:
    _, (asked,) = answer(anthropic_well, **settings)
    assert (asked.path, asked.prompt, asked.body.pop("messages")[0]["role"]) == ("/v1/messages", "say this", "user")
    assert asked.body == {"model": MODEL, "system": "Be brief.", **fields}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"thinking": 5}, "at least 1024 tokens, found 5"),
        ({"thinking": 2048}, "max_tokens should be above the 2048 tokens"),
    ],
)
def test_settings_contradict_nothing(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        AnthropicSettings.model_validate({"model": MODEL, **settings})


def test_an_answer_is_what_follows_the_thoughts_and_cached_tokens_are_counted() -> None:
    usage = Usage(input_tokens=5, output_tokens=40, cache_read_input_tokens=100, cache_creation_input_tokens=7)
    content = [thought("Is it A?"), TextBlock(type="text", text="B")]
    found, _ = answer(lambda asked: Says(message(asked, content=content, usage=usage)))
    assert (found.text, found.tokens_in, found.tokens_out, found.tokens_cached) == ("B", 112, 40, 100)
