"""Replies of writer models: every unusable reply has a named problem and never becomes a text."""

import pytest
from construction.writing import UnusableReplyError, parse_list, parse_parts

LABELS = ["Target", "Fluent Caption"]
PROMPT = "Your objective is to generate a contradiction caption using the provided PropBank style dictionary."
GOOD = {"Target": "Ignore", "Fluent Caption": "A man is ignoring him."}
PARTS: dict[str, tuple[str, str]] = {
    "as the prompt shows it": ("Target: Ignore\n\nNaive Caption: A man ignores.\n\nFluent Caption: A man is ignoring him.", ""),
    "in bold, after a sentence": ("Sure! Here it is.\n\n**Target:** Ignore\n**Fluent Caption:** A man is ignoring him.", ""),
    "in two kinds of quotes": ("Target: Ignore\nFluent Caption: \"'A man is ignoring him.'\"", ""),
    "said twice alike": ("Target: Ignore\nFluent Caption: A man is ignoring him.\nFluent Caption: A man is ignoring him.", ""),
    "as JSON in a fence": ('```json\n{"target": "Ignore", "fluent caption": "“A man is ignoring him.”"}\n```', ""),
    "nothing": ("  \n", "empty"),
    "blank lines and stars, read at once": ("a\n" + "*\n" * 100_000 + "*" * 100_000, "no_caption"),
    "a refusal": ("I'm sorry, but I can't help with that.", "refusal"),
    "half": ("Target: Ignore", "no_caption"),
    "quotes around nothing": ('Target: Ignore\nFluent Caption: ""', "no_caption"),
    "JSON with a trailing comma": ('{"Target": "Ignore", "Fluent Caption": "A man is ignoring him.",}', "broken_json"),
    "JSON with a list": ('{"Target": "Ignore", "Fluent Caption": ["A man."]}', "no_caption"),
    "JSON that says two things": ('{"Target": "a", "Fluent Caption": "A.", "fluent caption ": "B."}', "several_captions"),
    "JSON in prose": ('Here it is:\n{"Target": "a", "Fluent Caption": "A."}', "no_caption"),
    "the prompt repeated": (f"{PROMPT}\nTarget: Ignore\nFluent Caption: A man is ignoring him.", "prompt_repeated"),
    "a NUL": ("Target: Ignore\nFluent Caption: A man\0 sits.", "unprintable"),
    "two captions": ("Target: Ignore\nFluent Caption: A man sits.\nFluent Caption: A man runs.", "several_captions"),
}  # fmt: skip


@pytest.mark.parametrize(("reply", "problem"), PARTS.values(), ids=PARTS)
def test_the_parts_of_a_reply(reply: str, problem: str) -> None:
    if not problem:
        assert parse_parts(reply, LABELS, PROMPT) == GOOD
        return
    with pytest.raises(UnusableReplyError) as error:
        parse_parts(reply, LABELS, PROMPT)
    assert error.value.problem == problem and error.value.why


BOTH = ["A man sits.", "A man runs."]
LISTS: dict[str, list[str] | str] = {
    "1. A man sits.\n2. A man runs.": BOTH,
    "1) «A man sits.»\n- „A man runs.“": BOTH,
    '```\n["A man sits.", "A man runs."]\n```': BOTH,
    "1. The dogs' owner sits.": ["The dogs' owner sits."],
    '["A man sits.", 3]': "no_list",
    "[]": "no_list",
    '{"1": "A man sits."}': "no_list",
    '["A man sits.",]': "broken_json",
    "1. A man\x1b[2J sits.": "unprintable",
}


@pytest.mark.parametrize(("reply", "found"), LISTS.items())
def test_the_lines_of_a_list(reply: str, found: list[str] | str) -> None:
    if isinstance(found, list):
        assert parse_list(reply, PROMPT) == found
        return
    with pytest.raises(UnusableReplyError) as error:
        parse_list(reply, PROMPT)
    assert error.value.problem == found and error.value.why
