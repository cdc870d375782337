"""Test the parsing of writers' replies: each unusable reply has a named problem and yields no text."""

import pytest
from construction.writing import UnusableReplyError, parse_list, parse_parts

LABELS = ["Target", "Fluent Caption"]
PROMPT = "Your objective is to generate a contradiction caption using the provided PropBank style dictionary."
GOOD = {"Target": "Ignore", "Fluent Caption": "A man is ignoring him."}
REPLIES_WITH_PARTS: dict[str, tuple[str, str]] = {
    "format of the prompt": ("Target: Ignore\n\nNaive Caption: A man ignores.\n\nFluent Caption: A man is ignoring him.", ""),
    "bold labels after a sentence": ("Sure! Here it is.\n\n**Target:** Ignore\n**Fluent Caption:** A man is ignoring him.", ""),
    "nested quotes": ("Target: Ignore\nFluent Caption: \"'A man is ignoring him.'\"", ""),
    "repeated line": ("Target: Ignore\nFluent Caption: A man is ignoring him.\nFluent Caption: A man is ignoring him.", ""),
    "JSON in a code fence": ('```json\n{"target": "Ignore", "fluent caption": "“A man is ignoring him.”"}\n```', ""),
    "empty reply": ("  \n", "empty"),
    "many lines of stars": ("a\n" + "*\n" * 100_000 + "*" * 100_000, "no_caption"),
    "refusal": ("I'm sorry, but I can't help with that.", "refusal"),
    "label without its caption": ("Target: Ignore", "no_caption"),
    "quotes around nothing": ('Target: Ignore\nFluent Caption: ""', "no_caption"),
    "JSON with a trailing comma": ('{"Target": "Ignore", "Fluent Caption": "A man is ignoring him.",}', "broken_json"),
    "JSON with a list": ('{"Target": "Ignore", "Fluent Caption": ["A man."]}', "no_caption"),
    "JSON with a duplicate key": ('{"Target": "a", "Fluent Caption": "A.", "fluent caption ": "B."}', "several_captions"),
    "JSON in prose": ('Here it is:\n{"Target": "a", "Fluent Caption": "A."}', "no_caption"),
    "repeated prompt": (f"{PROMPT}\nTarget: Ignore\nFluent Caption: A man is ignoring him.", "prompt_repeated"),
    "NUL character": ("Target: Ignore\nFluent Caption: A man\0 sits.", "unprintable"),
    "two captions": ("Target: Ignore\nFluent Caption: A man sits.\nFluent Caption: A man runs.", "several_captions"),
}  # fmt: skip
"""case -> (reply, its problem); a reply with the problem "" has the parts `GOOD`"""


@pytest.mark.parametrize(("reply", "problem"), REPLIES_WITH_PARTS.values(), ids=REPLIES_WITH_PARTS)
def test_parse_the_parts_of_a_reply(reply: str, problem: str) -> None:
    if not problem:
        assert parse_parts(reply, LABELS, PROMPT) == GOOD
        return
    with pytest.raises(UnusableReplyError) as error:
        parse_parts(reply, LABELS, PROMPT)
    assert error.value.problem == problem and error.value.why


TWO_LINES = ["A man sits.", "A man runs."]
EXPECTED_BY_LIST: dict[str, list[str] | str] = {
    "1. A man sits.\n2. A man runs.": TWO_LINES,
    "1) «A man sits.»\n- „A man runs.“": TWO_LINES,
    '```\n["A man sits.", "A man runs."]\n```': TWO_LINES,
    "1. The dogs' owner sits.": ["The dogs' owner sits."],
    '["A man sits.", 3]': "no_list",
    "[]": "no_list",
    '{"1": "A man sits."}': "no_list",
    '["A man sits.",]': "broken_json",
    "1. A man\x1b[2J sits.": "unprintable",
}
"""reply -> its lines, or the name of its problem"""


@pytest.mark.parametrize(("reply", "expected"), EXPECTED_BY_LIST.items())
def test_parse_the_lines_of_a_list(reply: str, expected: list[str] | str) -> None:
    if isinstance(expected, list):
        assert parse_list(reply, PROMPT) == expected
        return
    with pytest.raises(UnusableReplyError) as error:
        parse_list(reply, PROMPT)
    assert error.value.problem == expected and error.value.why
