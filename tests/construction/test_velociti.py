"""VELOCITI's making: its rules (section 3.2) on small annotations, bad replies of the writer, and the subset."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from construction.settings import SubsetSearch
from construction.stages.samples import check_any_usable
from construction.velociti.subset import score_rows, search
from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.core.errors import UserError

from tests.construction import worlds as w

MAN, BOY = "man in a suit", "boy with a dog"
ONE, TWO = "v_one_seg_0_10", "v_two_seg_0_10"
HOW = w.settings("velociti", prompts="resources/prompts/construction/velociti.yaml")


def event(verb: str, agent: str, **roles: str) -> w.Row:
    """An event of VidSitu; `manner` by name."""
    args = {"Arg0 (agent)": agent} | {"AMnr (manner)" if name == "manner" else name: t for name, t in roles.items()}
    named = {"Verb": f"{verb} ({verb})" if verb else "", "VerbID": f"{verb}.01" if verb else ""}
    return named | {"Args": {name: text for name, text in args.items() if text}}


def annotated(video: str, *events: w.Row) -> w.Row:
    return {f"Ev{place}": {"vid_seg_int": video, **one} for place, one in enumerate(events, 1)}


def files(folder: Path, annotations: Any, split: Sequence[str] = (ONE, TWO)) -> w.Files:
    return w.saved(folder / "vseg_split_valid_lb.json", split) | w.saved(folder / "vsann_valid_lb.json", annotations)


SCENE = {"AScn (scene of the event)": "street", "ALoc": "at home", "AMnr (fast)": "so", "Arg1 (thing)": ""}
WALK, JUMP, SING = event("walk", MAN, manner="slowly"), event("jump", BOY), event("sing", MAN, manner="loudly")
VIDEO = annotated(ONE, WALK, JUMP, SING)
OTHER = annotated(TWO, event("dance", "woman in red"), event("cook", "old chef"))
NOBODY_ELSE = annotated(TWO, event("dance", "man"), event("cook", "person"), event("sit", "a suit"))
BOY_WALKS = [annotated(ONE, event("walk", MAN), event("walk", BOY), event("sing", MAN)), OTHER]
WALK_BOY = f"{{'Verb': 'walk (walk)',\n'Arg0 (agent)': '{BOY}',\n'ArgM (manner)': 'slowly'}}"
SING_BOY = f"{{'Verb': 'sing (sing)',\n'Arg0 (agent)': '{BOY}',\n'ArgM (manner)': 'loudly'}}"
# Test, the events that are looked at, and of each negative what it holds and why it is dropped.
RULES: dict[str, tuple[list[w.Row], str, str, list[tuple[str, str]]]] = {
    "a bound agent acts elsewhere in the video": ([VIDEO, OTHER], "agent_bind", "Ev1", [(WALK_BOY, "")]),
    "nor does it do the same by another annotation": ([VIDEO, annotated(ONE, event("walk", BOY)), OTHER], "agent_bind", "Ev1", [(BOY, f"{BOY}: may also do this")]),
    "nor does it act on itself": ([annotated(ONE, event("push", MAN, **{"Arg1 (pushed)": BOY}), JUMP), OTHER], "agent_bind", "Ev1", [(BOY, f"{BOY}: is in another role of the event")]),
    "a bound action keeps the agent": ([VIDEO, OTHER], "action_bind", "Ev2", [(WALK_BOY, ""), (SING_BOY, "")]),
    "it is another verb of another agent": (BOY_WALKS, "action_bind", "Ev1", []),
    "a coreference mixes two agents": ([VIDEO, OTHER], "coref", '["Ev1","Ev3","Ev3"]', [(BOY, "")]),
    "unless it may be true": (BOY_WALKS, "coref", '["Ev1","Ev3","Ev3"]', [("", f"every action of another agent may be one of {MAN}")]),
    "a random agent is no hypernym of anybody in the video": ([VIDEO, NOBODY_ELSE], "agent_random", "Ev1", [("", "every agent of the data set may be in this video")]),
    "a manner of what is done twice is not replaced": ([annotated(ONE, WALK, event("walk", MAN, manner="fast")), OTHER], "action_manner", "Ev1", [("slowly", f"{MAN} may do this twice, and once in the other manner")]),
    "events of a chronology are two seconds apart": ([VIDEO, OTHER], "chrono", '["Ev1","Ev3"]', [(MAN, "")]),
    "unless it is true both ways": ([annotated(ONE, WALK, JUMP, WALK, JUMP), OTHER], "chrono", '["Ev1","Ev3"]', [(MAN, "both orders may be true: an event happens twice")]),
}  # fmt: skip


@pytest.mark.parametrize(("annotations", "test", "label", "expected"), RULES.values(), ids=RULES)
def test_the_negatives_of_each_rule(
    tmp_path: Path, annotations: list[w.Row], test: str, label: str, expected: list[tuple[str, str]]
) -> None:
    here = w.pool_of(files(tmp_path, annotations), HOW)
    texts = {row["text_id"]: row["values"][0]["text"] for row in here["texts"].to_dicts()}
    rows = here["candidates"].filter(test=test, video=ONE, event=label).to_dicts()
    assert [row["why"] for row in rows] == [why for _, why in expected]
    for row, (negative, _) in zip(rows, expected, strict=True):
        made = "".join(texts[name] for name in row["negative"])
        assert negative in made if negative else not made


def test_events_use_the_role_names_of_the_prompts_or_are_dropped(tmp_path: Path) -> None:
    how = HOW.model_copy(update={"verbs_left_out": ["stand"]})
    bad = (event("", MAN), event("walk", ""), event("stand", MAN), event("walk", "x" * 301))
    here = w.pool_of(files(tmp_path, [annotated(ONE, event("walk", MAN, **SCENE), *bad), OTHER]), how)
    assert w.names_of(here["pool"])[:5] == ["", "no_verb", "no_agent", "verb_left_out", "too_long"]
    assert all(here["pool"]["why"][1:5]) and set(here["candidates"].filter(video=ONE)["event"]) == {"Ev1"}
    assert {one["name"]: one["text"] for one in here["pool"]["roles"][0]} == {
        "Arg0 (agent)": MAN, "Scene of the Event": "street", "ArgM (location)": "at home", "ArgM (fast)": "so",
    }  # fmt: skip


def entry(**parts: Any) -> list[w.Row]:
    return [OTHER, {"Ev1": event("walk", MAN) | {"vid_seg_int": "v_a"} | parts}]


BROKEN: dict[str, tuple[Any, str]] = {
    "deep JSON": ("[" * 100_000, "Invalid JSON"),
    "no events": ([OTHER, {"Ev9": {}}], "annotation 2: all events must have the same video (vid_seg_int), found 0"),
    "a role that is a list": (entry(Args={"Arg0": ["man"]}), "entry 2: Ev1.Args.Arg0: Input should be a valid string, found '['man']'"),
    "a NUL": (entry(Verb="walk\0"), "entry 2: Ev1.Verb: Value error, contains control characters, found 'walk[U+0000]'"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "words"), BROKEN.values(), ids=BROKEN)
def test_broken_annotations_are_refused_with_their_place(tmp_path: Path, content: Any, words: str) -> None:
    with pytest.raises(UserError) as error:
        w.pool_of(files(tmp_path, content), HOW)
    assert words in str(error.value) and len(str(error.value)) < 500
    with pytest.raises(UserError, match=r"expected one file 'vseg_split_test_lb.json', found 0.*Correct `split:`"):
        w.pool_of(files(tmp_path, [VIDEO]), HOW.model_copy(update={"split": "test"}))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> w.Tables:
    small = [annotated(ONE, WALK, JUMP, event("sing", MAN)), OTHER]
    return w.pool_of(files(tmp_path_factory.mktemp("small"), small), HOW)


def last_dictionary(asked: w.Row) -> str:
    start = asked["prompt"].rindex("{'Verb': ")
    return str(asked["prompt"][start : asked["prompt"].index("}", start) + 1])


def good(asked: w.Row) -> str:
    """Who does what, of the last dictionary of the prompt."""
    lines = last_dictionary(asked).split("\n")
    own = dict(line.strip("{},").replace("'", "").split(": ", 1) for line in lines)
    who, verb = own["Arg0 (agent)"], own["Verb"].split(" ")[0]
    manner = f" {own['ArgM (manner)']}" if "ArgM (manner)" in own else ""
    if "verb misalignment" in asked["system"]:
        return f"Target: fly\n\nFluent Caption: The {who} is flying{manner}."
    if "manner misalignment" in asked["system"]:
        return f"Target: quickly\n\nFluent Caption: The {who} is {verb}ing quickly."
    return f"Fluent Caption: The {who} is {verb}ing{manner}."


def bad_of(bad: str, agent: str, verb: str, system: str = "", *, learns: bool = False) -> w.Writer:
    """A writer whose reply about one dictionary is bad, always or until it is told so."""

    def reply(asked: w.Row) -> str:
        is_meant = f"'{agent}'" in last_dictionary(asked) and f"'{verb} (" in last_dictionary(asked)
        is_told = learns and "cannot be used" in asked["prompt"]
        return bad if is_meant and system in asked["system"] and not is_told else good(asked)

    return reply


ADV, MANNER = "verb misalignment", "manner misalignment"
RED, SLOW = "The woman in red", "The man in a suit"
# Agent, verb and prompt of a text, a reply about it, and why it is refused.
REFUSED: list[tuple[str, str, str, str, str]] = [
    ("woman in red", "dance", "", "She dances, and she wears red.", "no_caption: "),
    ("woman in red", "dance", "", "Fluent Caption: Somebody is dancing.", "no_agent: "),
    ("woman in red", "dance", "", f"Fluent Caption: {RED} is dancing with Peter.", "foreign_name: 'Peter' is not"),
    ("woman in red", "dance", "", f"Fluent Caption: {RED} and the old chef are dancing.", "foreign_name: 'old chef' is"),
    (MAN, "walk", ADV, f"Target: singing\n\nFluent Caption: {SLOW} is singing slowly.", "target_in_video: 'singing' is 'sing', which happens"),
    (MAN, "walk", ADV, f"Target: strolling\n\nFluent Caption: {SLOW} is walking slowly.", f"unchanged: '{SLOW} is walking slowly.' is the true"),
    (MAN, "walk", MANNER, f"Target: Slowly\nFluent Caption: {SLOW} walks slowly.", "target_unchanged: 'Slowly' is the manner that it"),
]  # fmt: skip


@pytest.mark.parametrize(("agent", "verb", "system", "reply", "why"), REFUSED)
def test_a_bad_reply_is_reported_requested_again_and_never_a_sample(
    found: w.Tables, agent: str, verb: str, system: str, reply: str, why: str
) -> None:
    def about(made: w.Tables) -> w.Row:
        [row] = (
            one
            for one in made["written"].to_dicts()
            if reply in one["replies"] and (system or one["kind"] == "caption")
        )
        return row

    stays = w.written(found, bad_of(reply, agent, verb, system), HOW)
    row = about(stays)
    assert (row["rounds"], row["text"]) == (2, "") and f"{row['filter']}: {row['why']}".startswith(why)
    lost = [one for one in stays["samples"].to_dicts() if one["why"].startswith(why)]
    assert {one["filter"] for one in lost} == {"not_written"} and not any(one["positive"] for one in lost)
    told = about(w.written(found, bad_of(reply, agent, verb, system, learns=True), HOW))
    assert (told["rounds"], told["filter"]) == (2, "") and told["problems"][0].startswith(why)


def test_captions_that_do_not_serve_a_test_are_dropped(found: w.Tables) -> None:
    made = w.written(found, bad_of("Fluent Caption: Music is made by the man in a suit.", MAN, "sing"), HOW)
    assert set(made["samples"].filter(test="coref")["filter"]) == {"no_reference"}
    good_ones = w.written(found, good, HOW)
    assert set(good_ones["written"]["rounds"]) == {1}
    assert {row["test"] for row in w.left(good_ones["samples"])} == {CONTROL, *TESTS}
    nothing = w.written(found, lambda asked: "I'm sorry, but no.", HOW)["written"].to_dicts()
    with pytest.raises(UserError, match=r"^x/r: no reply of the writer can be used: \d+ refusal. The first: I'm"):
        check_any_usable(nothing, Path("x/r"))
    check_any_usable(good_ones["written"].to_dicts(), Path("x/r"))


# --- the subset ---------------------------------------------------------------------------------------------------------

# Eight samples of which every second one is right: 50 percent.
RIGHT = {f"chrono/v{number}/Ev1-Ev3/1": number % 2 == 0 for number in range(8)}
SEARCH = SubsetSearch(per_test=4, tolerance=0, seed=3)


def test_a_subset_is_as_hard_as_the_whole() -> None:
    found = search("chrono", RIGHT, SEARCH)
    assert (found.samples, found.strict, found.subset_strict) == (8, 50, 50) and 1 <= found.tries <= SEARCH.tries
    assert len(found.item_ids) == 4 and sum(RIGHT[one] for one in found.item_ids) == 2
    row = {"test_name": "chrono", "samples": 8, "strict": "50.00", "subset": 4, "subset_strict": "50.00"}
    assert score_rows([found]) == [row | {"tries": found.tries}]
    assert search("chrono", dict(reversed(RIGHT.items())), SEARCH) == found
    few = search("chrono", dict(list(RIGHT.items())[:3]), SEARCH)
    assert (few.item_ids, few.tries) == (sorted(RIGHT)[:3], 0)
    # One of three is right: of two samples none is, or one, and 50 is nearer to 33.33 than 0.
    three = {"a": True, "b": False, "c": False}
    with pytest.raises(UserError, match=r"none of 30 tries is within 5 points of 33.33.*nearest has 50.00.*tolerance:"):
        search("chrono", three, SubsetSearch(per_test=2, tolerance=5, tries=30))
    assert search("chrono", three, SubsetSearch(per_test=2, tolerance=17, tries=30)).subset_strict == 50
