"""What the writer makes of VELOCITI's dictionaries: bad replies are named, asked again, and never silently samples."""

from pathlib import Path
from typing import Any

import pytest
from reprise.core.errors import UserError
from reprise.stages.construction_samples import refuse_nothing

from tests.unit.construction.worlds import Writer, annotated, event, found_in, settings, written

MAN, BOY = "man in a suit", "boy with a dog"
ANNOTATIONS = [
    annotated("v_one_seg_0_10", event("walk", MAN, manner="slowly"), event("jump", BOY), event("sing", MAN)),
    annotated("v_two_seg_0_10", event("dance", "woman in red"), event("cook", "old chef")),
]
DANCING = "Fluent Caption: The woman in red is dancing."


def good(system: str, prompt: str) -> str:
    """Who does what, of the last dictionary of the prompt."""
    own = dict(line.strip("{},").replace("'", "").split(": ", 1) for line in last_dictionary(prompt))
    verb = own["Verb"].split(" ")[0]
    manner = f" {own['ArgM (manner)']}" if "ArgM (manner)" in own else ""
    if "verb misalignment" in system:
        return f"Target: fly\n\nFluent Caption: The {own['Arg0 (agent)']} is flying{manner}."
    if "manner misalignment" in system:
        return f"Target: quickly\n\nFluent Caption: The {own['Arg0 (agent)']} is {verb}ing quickly."
    return f"Fluent Caption: The {own['Arg0 (agent)']} is {verb}ing{manner}."


def last_dictionary(prompt: str) -> list[str]:
    start = prompt.rindex("{'Verb': ")
    return prompt[start : prompt.index("}", start) + 1].split("\n")


def is_about(prompt: str, agent: str, verb: str) -> bool:
    text = "\n".join(last_dictionary(prompt))
    return f"'{agent}'" in text and f"'{verb} (" in text


def once(bad: str, agent: str, verb: str) -> Writer:
    """A writer whose reply about one dictionary is bad, until it is told so."""
    return lambda system, prompt: (
        bad if is_about(prompt, agent, verb) and "cannot be used" not in prompt else good(system, prompt)
    )


def always(bad: str, agent: str, verb: str) -> Writer:
    return lambda system, prompt: bad if is_about(prompt, agent, verb) else good(system, prompt)


def row_of(made: Any, agent: str, verb: str) -> dict[str, Any]:
    """The caption of an event, as it was written."""
    return next(row for row in made.written if row["kind"] == "caption" and row["text_id"] == text_id(agent, verb))


def text_id(agent: str, verb: str) -> str:
    return next(
        row["text_id"]
        for row in FOUND.texts
        if row["kind"] == "caption"
        and f"'{agent}'" in row["values"][0]["text"]
        and f"'{verb} (" in row["values"][0]["text"]
    )


@pytest.fixture(autouse=True)
def _found(tmp_path: Path) -> None:
    global FOUND
    FOUND = found_in(tmp_path, ANNOTATIONS)


BAD = {
    "prose": ("She dances, and she wears red.", "no_caption"),
    "JSON with a trailing comma": ('{"Fluent Caption": "The woman in red is dancing.",}', "broken_json"),
    "the prompt repeated": (
        "Using the provided dictionary containing verb and argument-role pairs in the style of PropBank, follow these\n"
        + DANCING,
        "prompt_repeated",
    ),
    "a refusal": ("I'm sorry, I can't describe people.", "refusal"),
    "nothing": ("", "empty"),
    "no agent": ("Fluent Caption: Somebody is dancing.", "no_agent"),
    "a name that the video lacks": ("Fluent Caption: The woman in red is dancing with Peter.", "foreign_name"),
    "an agent of another video": ("Fluent Caption: The woman in red and the old chef are dancing.", "foreign_name"),
}


@pytest.mark.parametrize(("reply", "problem"), BAD.values(), ids=BAD)
def test_a_bad_reply_is_named_and_asked_again(reply: str, problem: str) -> None:
    made = written(FOUND, once(reply, "woman in red", "dance"), settings())
    row = row_of(made, "woman in red", "dance")
    assert (row["rounds"], row["text"], row["filter"]) == (2, "The woman in red is danceing.", "")
    assert [one.partition(":")[0] for one in row["problems"]] == [problem] and row["replies"][0] == reply


@pytest.mark.parametrize(("reply", "problem"), BAD.values(), ids=BAD)
def test_a_reply_that_stays_bad_becomes_no_sample(reply: str, problem: str) -> None:
    made = written(FOUND, always(reply, "woman in red", "dance"), settings())
    row = row_of(made, "woman in red", "dance")
    assert (row["rounds"], row["text"], row["filter"]) == (2, "", problem)
    lost = [one for one in made.samples if one["filter"] == "not_written"]
    assert lost and all(one["why"].startswith(f"{problem}: ") and not one["positive"] for one in lost)
    captions = [one["positive"] + one["negative"] for one in made.samples if not one["filter"]]
    assert captions and not any("woman in red is danc" in one or (reply and reply in one) for one in captions)


def adversarial(target: str, verb: str) -> Writer:
    def reply(system: str, prompt: str) -> str:
        if "verb misalignment" in system and is_about(prompt, MAN, "walk"):
            return f"Target: {target}\n\nFluent Caption: The man in a suit is {verb} slowly."
        return good(system, prompt)

    return reply


def test_a_target_that_happens_in_the_video_is_refused() -> None:
    made = written(FOUND, adversarial("singing", "singing"), settings())
    [row] = [one for one in made.written if one["filter"] == "target_in_video"]
    assert row["kind"] == "action_adv" and "'singing' is 'sing', which happens in the video" in row["why"]


def test_the_true_caption_is_no_false_one() -> None:
    made = written(FOUND, adversarial("strolling", "walking"), settings())
    [row] = [one for one in made.written if one["filter"] == "unchanged"]
    assert "'The man in a suit is walking slowly.' is the true caption" in row["why"]


def test_the_manner_itself_is_no_replacement() -> None:
    def reply(system: str, prompt: str) -> str:
        same = "manner misalignment" in system
        return "Target: Slowly\nFluent Caption: The man in a suit walks slowly." if same else good(system, prompt)

    made = written(FOUND, reply, settings())
    assert {one["filter"] for one in made.written if one["kind"] == "action_manner"} == {"target_unchanged"}


def test_a_caption_that_says_nothing_of_its_agent_makes_no_reference() -> None:
    reply = "Fluent Caption: Music is made by the man in a suit."
    made = written(FOUND, always(reply, MAN, "sing"), settings())
    assert {one["filter"] for one in made.samples if one["test"] == "coref"} == {"no_reference"}


def test_the_same_caption_on_both_sides_is_dropped() -> None:
    made = written(
        FOUND, always("Fluent Caption: The boy with a dog and a man in a suit walk.", BOY, "walk"), settings()
    )
    names = {one["filter"] for one in made.written}
    assert "foreign_name" in names  # the boy is in the dictionary, the man is not


def test_good_replies_are_asked_for_once_and_make_every_test() -> None:
    made = written(FOUND, good, settings())
    assert {row["rounds"] for row in made.written} == {1}
    kept = [row for row in made.samples if not row["filter"]]
    assert {row["test"] for row in kept} == {
        "control", "agent_random", "agent_bind", "coref", "action_adv", "action_manner", "action_bind", "chrono",
    }  # fmt: skip
    assert all(row["positive"] and row["negative"] and row["positive"] != row["negative"] for row in kept)


def test_a_writer_of_whom_nothing_can_be_used_is_an_error_that_counts_reasons() -> None:
    made = written(FOUND, lambda system, prompt: "I'm sorry, but no.", settings())
    with pytest.raises(
        UserError, match=r"^x/replies: nothing that the writer said can be used: \d+ refusal. The first: I'm"
    ):
        refuse_nothing(made.written, Path("x/replies"))
    refuse_nothing(written(FOUND, good, settings()).written, Path("x/replies"))
    refuse_nothing([], Path("x/replies"))
