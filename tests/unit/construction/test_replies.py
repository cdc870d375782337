"""What language models answer: every reply that cannot be used has a name, and is never silently a text."""

import time

import pytest
from reprise.construction.replies import LIST_PROBLEMS, PROBLEMS, read_list, read_parts

LABELS = ["Target", "Fluent Caption"]
PROMPT = "Your objective is to generate a contradiction caption using the provided PropBank style dictionary."
GOOD = {"Target": "Ignore", "Fluent Caption": "A man is ignoring him."}
FORMS = {
    "as the prompt shows it": "Target: Ignore\n\nNaive Caption: A man ignores.\n\nFluent Caption: A man is ignoring him.",
    "in bold": "**Target:** Ignore\n**Fluent Caption:** A man is ignoring him.",
    "in quotes": 'Target: Ignore\nFluent Caption: "A man is ignoring him."',
    "in French quotes": "Target: « Ignore »\nFluent Caption: « A man is ignoring him. »",
    "in German quotes": "Target: Ignore\nFluent Caption: „A man is ignoring him.“",
    "in Chinese quotes": "Target: 「Ignore」\nFluent Caption: 『A man is ignoring him.』",
    "in two kinds of quotes": "Target: Ignore\nFluent Caption: \"'A man is ignoring him.'\"",
    "as JSON in quotes": '{"Target": "Ignore", "Fluent Caption": "“A man is ignoring him.”"}',
    "after a sentence": "Sure! Here it is.\n\nTarget: Ignore\nFluent Caption: A man is ignoring him.",
    "said twice alike": "Target: Ignore\nFluent Caption: A man is ignoring him.\nFluent Caption: A man is ignoring him.",
    "as JSON": '{"Target": "Ignore", "Fluent Caption": "A man is ignoring him."}',
    "as JSON in a fence": '```json\n{"target": "Ignore", "fluent caption": "A man is ignoring him."}\n```',
}
BAD = {
    "nothing": ("  \n", "empty"),
    "a refusal": ("I'm sorry, but I can't help with that.", "refusal"),
    "another refusal": ("I cannot describe violence.", "refusal"),
    "prose": ("The man greets the old man, which could be turned into ignoring him.", "no_caption"),
    "half": ("Target: Ignore", "no_caption"),
    "an empty caption": ("Target: Ignore\nFluent Caption:  ", "no_caption"),
    "JSON with a trailing comma": ('{"Target": "Ignore", "Fluent Caption": "A man is ignoring him.",}', "broken_json"),
    "JSON that is cut off": ('{"Target": "Ignore", "Fluent', "broken_json"),
    "JSON without the caption": ('{"Target": "Ignore"}', "no_caption"),
    "JSON with a list": ('{"Target": "Ignore", "Fluent Caption": ["A man."]}', "no_caption"),
    "JSON with numbers": ('{"Target": 3, "Fluent Caption": 4}', "no_caption"),
    "JSON with other keys": ('{"verb": "Ignore", "caption": "A man is ignoring him."}', "no_caption"),
    "JSON that says two things": (
        '{"Target": "a", "Fluent Caption": "A.", "fluent caption ": "B."}',
        "several_captions",
    ),
    "two JSON objects": ('{"Target": "a", "Fluent Caption": "A."}\n{"Target": "b"}', "broken_json"),
    "JSON in prose": ('Here it is:\n{"Target": "a", "Fluent Caption": "A."}', "no_caption"),
    "a number": ("42", "no_caption"),
    "null": ("null", "no_caption"),
    "the prompt repeated": (f"{PROMPT}\nTarget: Ignore\nFluent Caption: A man is ignoring him.", "prompt_repeated"),
    "a NUL": ("Target: Ignore\nFluent Caption: A man\0 sits.", "unprintable"),
    "a NUL in JSON": ('{"Target": "Ignore", "Fluent Caption": "A man\\u0000 sits."}', "unprintable"),
    "two captions": ("Target: Ignore\nFluent Caption: A man sits.\nFluent Caption: A man runs.", "several_captions"),
}


@pytest.mark.parametrize("reply", FORMS.values(), ids=FORMS)
def test_a_good_reply_is_read(reply: str) -> None:
    assert read_parts(reply, LABELS, PROMPT).found == GOOD


@pytest.mark.parametrize(("reply", "problem"), BAD.values(), ids=BAD)
def test_a_bad_reply_is_named(reply: str, problem: str) -> None:
    parts = read_parts(reply, LABELS, PROMPT)
    assert (parts.found, parts.problem) == ({}, problem) and parts.why and problem in PROBLEMS


LISTS = {
    "1. A man sits.\n2. A man runs.": ["A man sits.", "A man runs."],
    "1) «A man sits.»\n- „A man runs.“": ["A man sits.", "A man runs."],
    '```\n["A man sits.", "A man runs."]\n```': ["A man sits.", "A man runs."],
    "1. The dogs' owner sits.": ["The dogs' owner sits."],
}
NO_LISTS = {
    '["A man sits.", 3]': "no_list",
    '[{"caption": "A man sits."}]': "no_list",
    '[["A man sits."]]': "no_list",
    "[]": "no_list",
    '{"1": "A man sits."}': "no_list",
    '["A man sits.",]': "broken_json",
    '["A man sits."]\n["A man runs."]': "broken_json",
    "A man sits.": "no_list",
    "": "empty",
    "As an AI, I cannot.": "refusal",
    "1. A man\x1b[2J sits.": "unprintable",
    PROMPT: "prompt_repeated",
}


@pytest.mark.parametrize(("reply", "found"), LISTS.items())
def test_a_list_is_read(reply: str, found: list[str]) -> None:
    assert read_list(reply, PROMPT).found == found


@pytest.mark.parametrize(("reply", "problem"), NO_LISTS.items())
def test_what_is_no_list_of_texts_is_named(reply: str, problem: str) -> None:
    listed = read_list(reply, PROMPT)
    assert (listed.found, listed.problem) == ([], problem) and listed.why and problem in LIST_PROBLEMS


def test_a_reply_of_nothing_but_blank_lines_and_stars_is_read_quickly() -> None:
    start = time.process_time()
    assert read_parts("a\n" + "*\n" * 100_000 + "*" * 100_000, LABELS, PROMPT).problem == "no_caption"
    assert time.process_time() - start < 10


def test_every_problem_has_a_case() -> None:
    assert {problem for _, problem in BAD.values()} == set(PROBLEMS)
