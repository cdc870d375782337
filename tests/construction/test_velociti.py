"""Test VELOCITI's construction: its rules (section 3.2) on small annotations, a writer's bad replies, and the subset."""

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
FIRST_VIDEO, SECOND_VIDEO = "v_one_seg_0_10", "v_two_seg_0_10"
SETTINGS = w.construction_settings("velociti", prompts="resources/prompts/construction/velociti.yaml")


def event(verb: str, agent: str, **roles: str) -> w.Row:
    """Return an event of VidSitu; the argument `manner` sets the role `AMnr (manner)`."""
    args = {"Arg0 (agent)": agent} | {
        "AMnr (manner)" if name == "manner" else name: text for name, text in roles.items()
    }
    verb_fields = {"Verb": f"{verb} ({verb})" if verb else "", "VerbID": f"{verb}.01" if verb else ""}
    return verb_fields | {"Args": {name: text for name, text in args.items() if text}}


def video_annotation(video: str, *events: w.Row) -> w.Row:
    return {f"Ev{number}": {"vid_seg_int": video, **fields} for number, fields in enumerate(events, 1)}


def write_files(folder: Path, annotations: Any, split: Sequence[str] = (FIRST_VIDEO, SECOND_VIDEO)) -> w.Files:
    return w.write_annotations(folder / "vseg_split_valid_lb.json", split) | w.write_annotations(
        folder / "vsann_valid_lb.json", annotations
    )


SCENE = {"AScn (scene of the event)": "street", "ALoc": "at home", "AMnr (fast)": "so", "Arg1 (thing)": ""}
WALK, JUMP, SING = event("walk", MAN, manner="slowly"), event("jump", BOY), event("sing", MAN, manner="loudly")
FIRST_ANNOTATION = video_annotation(FIRST_VIDEO, WALK, JUMP, SING)
OTHER_VIDEO = video_annotation(SECOND_VIDEO, event("dance", "woman in red"), event("cook", "old chef"))
SIMILAR_AGENTS = video_annotation(SECOND_VIDEO, event("dance", "man"), event("cook", "person"), event("sit", "a suit"))
BOY_WALKS = [video_annotation(FIRST_VIDEO, event("walk", MAN), event("walk", BOY), event("sing", MAN)), OTHER_VIDEO]
WALK_BOY = f"{{'Verb': 'walk (walk)',\n'Arg0 (agent)': '{BOY}',\n'ArgM (manner)': 'slowly'}}"
SING_BOY = f"{{'Verb': 'sing (sing)',\n'Arg0 (agent)': '{BOY}',\n'ArgM (manner)': 'loudly'}}"
# Case -> annotations, test, event, and for each candidate an excerpt of its negative and the reason why it is dropped.
RULES: dict[str, tuple[list[w.Row], str, str, list[tuple[str, str]]]] = {
    "agent_bind uses an agent of another event in the video": ([FIRST_ANNOTATION, OTHER_VIDEO], "agent_bind", "Ev1", [(WALK_BOY, "")]),
    "agent_bind excludes agents that do the same in another annotation": ([FIRST_ANNOTATION, video_annotation(FIRST_VIDEO, event("walk", BOY)), OTHER_VIDEO], "agent_bind", "Ev1", [(BOY, f"{BOY}: may also do this")]),
    "agent_bind excludes agents with another role in the event": ([video_annotation(FIRST_VIDEO, event("push", MAN, **{"Arg1 (pushed)": BOY}), JUMP), OTHER_VIDEO], "agent_bind", "Ev1", [(BOY, f"{BOY}: is in another role of the event")]),
    "action_bind keeps the agent": ([FIRST_ANNOTATION, OTHER_VIDEO], "action_bind", "Ev2", [(WALK_BOY, ""), (SING_BOY, "")]),
    "action_bind needs another verb of another agent": (BOY_WALKS, "action_bind", "Ev1", []),
    "coref combines two agents": ([FIRST_ANNOTATION, OTHER_VIDEO], "coref", '["Ev1","Ev3","Ev3"]', [(BOY, "")]),
    "coref excludes negatives that may be true": (BOY_WALKS, "coref", '["Ev1","Ev3","Ev3"]', [("", f"every action of another agent may be one of {MAN}")]),
    "agent_random excludes hypernyms of the video's agents": ([FIRST_ANNOTATION, SIMILAR_AGENTS], "agent_random", "Ev1", [("", "every agent of the data set may be in this video")]),
    "action_manner excludes repeated actions": ([video_annotation(FIRST_VIDEO, WALK, event("walk", MAN, manner="fast")), OTHER_VIDEO], "action_manner", "Ev1", [("slowly", f"{MAN} may do this twice, and once in the other manner")]),
    "chrono uses events that are two seconds apart": ([FIRST_ANNOTATION, OTHER_VIDEO], "chrono", '["Ev1","Ev3"]', [(MAN, "")]),
    "chrono excludes repeated events": ([video_annotation(FIRST_VIDEO, WALK, JUMP, WALK, JUMP), OTHER_VIDEO], "chrono", '["Ev1","Ev3"]', [(MAN, "both orders may be true: an event happens twice")]),
}  # fmt: skip


@pytest.mark.parametrize(("annotations", "test", "event_name", "expected"), RULES.values(), ids=RULES)
def test_negatives_follow_the_rules_of_their_test(
    tmp_path: Path, annotations: list[w.Row], test: str, event_name: str, expected: list[tuple[str, str]]
) -> None:
    tables = w.collect_pool(write_files(tmp_path, annotations), SETTINGS)
    texts = {row["text_id"]: row["values"][0]["text"] for row in tables["texts"].to_dicts()}
    rows = tables["candidates"].filter(test=test, video=FIRST_VIDEO, event=event_name).to_dicts()
    assert [row["why"] for row in rows] == [why for _, why in expected]
    for row, (negative, _) in zip(rows, expected, strict=True):
        written_text = "".join(texts[text_id] for text_id in row["negative"])
        assert negative in written_text if negative else not written_text


def test_events_use_the_role_names_of_the_prompts_or_are_dropped(tmp_path: Path) -> None:
    settings = SETTINGS.model_copy(update={"excluded_verbs": ["stand"]})
    dropped_events = (event("", MAN), event("walk", ""), event("stand", MAN), event("walk", "x" * 301))
    tables = w.collect_pool(
        write_files(
            tmp_path, [video_annotation(FIRST_VIDEO, event("walk", MAN, **SCENE), *dropped_events), OTHER_VIDEO]
        ),
        settings,
    )
    assert w.filter_names(tables["pool"])[:5] == ["", "no_verb", "no_agent", "excluded_verb", "too_long"]
    assert all(tables["pool"]["why"][1:5]) and set(tables["candidates"].filter(video=FIRST_VIDEO)["event"]) == {"Ev1"}
    assert {role["name"]: role["text"] for role in tables["pool"]["roles"][0]} == {
        "Arg0 (agent)": MAN, "Scene of the Event": "street", "ArgM (location)": "at home", "ArgM (fast)": "so",
    }  # fmt: skip


def edited_annotations(**parts: Any) -> list[w.Row]:
    return [OTHER_VIDEO, {"Ev1": event("walk", MAN) | {"vid_seg_int": "v_a"} | parts}]


INVALID_ANNOTATIONS: dict[str, tuple[Any, str]] = {
    "deep JSON": ("[" * 100_000, "Invalid JSON"),
    "no events": ([OTHER_VIDEO, {"Ev9": {}}], "annotation 2: all events must have the same video (vid_seg_int), found 0"),
    "list as role": (edited_annotations(Args={"Arg0": ["man"]}), "entry 2: Ev1.Args.Arg0: Input should be a valid string, found '['man']'"),
    "NUL character": (edited_annotations(Verb="walk\0"), "entry 2: Ev1.Verb: Value error, contains control characters, found 'walk[U+0000]'"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message"), INVALID_ANNOTATIONS.values(), ids=INVALID_ANNOTATIONS)
def test_errors_in_annotations_are_reported_with_their_location(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(UserError) as error:
        w.collect_pool(write_files(tmp_path, content), SETTINGS)
    assert message in str(error.value) and len(str(error.value)) < 500
    with pytest.raises(UserError, match=r"expected one file 'vseg_split_test_lb.json', found 0.*Correct `split:`"):
        w.collect_pool(write_files(tmp_path, [FIRST_ANNOTATION]), SETTINGS.model_copy(update={"split": "test"}))


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> w.Tables:
    annotations = [video_annotation(FIRST_VIDEO, WALK, JUMP, event("sing", MAN)), OTHER_VIDEO]
    return w.collect_pool(write_files(tmp_path_factory.mktemp("small"), annotations), SETTINGS)


def last_dictionary(request: w.Row) -> str:
    start = request["prompt"].rindex("{'Verb': ")
    return str(request["prompt"][start : request["prompt"].index("}", start) + 1])


def good_reply(request: w.Row) -> str:
    """Return a usable reply about the last dictionary of the prompt."""
    lines = last_dictionary(request).split("\n")
    roles = dict(line.strip("{},").replace("'", "").split(": ", 1) for line in lines)
    agent, verb = roles["Arg0 (agent)"], roles["Verb"].split(" ")[0]
    manner = f" {roles['ArgM (manner)']}" if "ArgM (manner)" in roles else ""
    if "verb misalignment" in request["system"]:
        return f"Target: fly\n\nFluent Caption: The {agent} is flying{manner}."
    if "manner misalignment" in request["system"]:
        return f"Target: quickly\n\nFluent Caption: The {agent} is {verb}ing quickly."
    return f"Fluent Caption: The {agent} is {verb}ing{manner}."


def writer_with_bad_reply(bad_reply: str, agent: str, verb: str, system: str = "", *, learns: bool = False) -> w.Writer:
    """Return a writer with a bad reply about one event. A writer that learns replies well after feedback."""

    def reply(request: w.Row) -> str:
        is_about_event = f"'{agent}'" in last_dictionary(request) and f"'{verb} (" in last_dictionary(request)
        has_feedback = learns and "cannot be used" in request["prompt"]
        return bad_reply if is_about_event and system in request["system"] and not has_feedback else good_reply(request)

    return reply


ADV, MANNER = "verb misalignment", "manner misalignment"
RED, SLOW = "The woman in red", "The man in a suit"
# Agent and verb of an event, part of the system prompt, the bad reply, and its problem.
BAD_REPLIES: list[tuple[str, str, str, str, str]] = [
    ("woman in red", "dance", "", "She dances, and she wears red.", "no_caption: "),
    ("woman in red", "dance", "", "Fluent Caption: Somebody is dancing.", "no_agent: "),
    ("woman in red", "dance", "", f"Fluent Caption: {RED} is dancing with Peter.", "foreign_name: 'Peter' is not"),
    ("woman in red", "dance", "", f"Fluent Caption: {RED} and the old chef are dancing.", "foreign_name: 'old chef' is"),
    (MAN, "walk", ADV, f"Target: singing\n\nFluent Caption: {SLOW} is singing slowly.", "target_in_video: 'singing' is 'sing', which happens"),
    (MAN, "walk", ADV, f"Target: strolling\n\nFluent Caption: {SLOW} is walking slowly.", f"unchanged: '{SLOW} is walking slowly.' is the true"),
    (MAN, "walk", MANNER, f"Target: Slowly\nFluent Caption: {SLOW} walks slowly.", "target_unchanged: 'Slowly' is the manner that it"),
]  # fmt: skip


@pytest.mark.parametrize(("agent", "verb", "system", "reply", "why"), BAD_REPLIES)
def test_a_bad_reply_is_reported_requested_again_and_never_a_sample(
    pool: w.Tables, agent: str, verb: str, system: str, reply: str, why: str
) -> None:
    def row_with_reply(tables: w.Tables) -> w.Row:
        [row] = (
            text_row
            for text_row in tables["written"].to_dicts()
            if reply in text_row["replies"] and (system or text_row["kind"] == "caption")
        )
        return row

    tables = w.run_rounds(pool, writer_with_bad_reply(reply, agent, verb, system), SETTINGS)
    row = row_with_reply(tables)
    assert (row["rounds"], row["text"]) == (2, "") and f"{row['filter']}: {row['why']}".startswith(why)
    dropped_rows = [row for row in tables["samples"].to_dicts() if row["why"].startswith(why)]
    assert {sample["filter"] for sample in dropped_rows} == {"not_written"} and not any(
        sample["positive"] for sample in dropped_rows
    )
    learned_row = row_with_reply(
        w.run_rounds(pool, writer_with_bad_reply(reply, agent, verb, system, learns=True), SETTINGS)
    )
    assert (learned_row["rounds"], learned_row["filter"]) == (2, "") and learned_row["problems"][0].startswith(why)


def test_unusable_captions_are_dropped(pool: w.Tables) -> None:
    tables = w.run_rounds(
        pool, writer_with_bad_reply("Fluent Caption: Music is made by the man in a suit.", MAN, "sing"), SETTINGS
    )
    assert set(tables["samples"].filter(test="coref")["filter"]) == {"no_reference"}
    good_tables = w.run_rounds(pool, good_reply, SETTINGS)
    assert set(good_tables["written"]["rounds"]) == {1}
    assert {row["test"] for row in w.kept_dicts(good_tables["samples"])} == {CONTROL, *TESTS}
    refused_texts = w.run_rounds(pool, lambda request: "I'm sorry, but no.", SETTINGS)["written"].to_dicts()
    with pytest.raises(UserError, match=r"^x/r: no reply of the writer can be used: \d+ refusal. The first: I'm"):
        check_any_usable(refused_texts, Path("x/r"))
    check_any_usable(good_tables["written"].to_dicts(), Path("x/r"))


# --- the subset ---------------------------------------------------------------------------------------------------------

# Every second of eight samples is correct, so the score is 50 percent.
CORRECT_BY_ITEM = {f"chrono/v{number}/Ev1-Ev3/1": number % 2 == 0 for number in range(8)}
SEARCH = SubsetSearch(per_test=4, tolerance=0, seed=3)


def test_a_subset_is_as_hard_as_the_whole() -> None:
    subset = search("chrono", CORRECT_BY_ITEM, SEARCH)
    assert (subset.sample_count, subset.strict, subset.subset_strict) == (
        8,
        50,
        50,
    ) and 1 <= subset.tries <= SEARCH.tries
    assert len(subset.item_ids) == 4 and sum(CORRECT_BY_ITEM[item_id] for item_id in subset.item_ids) == 2
    row = {"test_name": "chrono", "samples": 8, "strict": "50.00", "subset": 4, "subset_strict": "50.00"}
    assert score_rows([subset]) == [row | {"tries": subset.tries}]
    assert search("chrono", dict(reversed(CORRECT_BY_ITEM.items())), SEARCH) == subset
    small_subset = search("chrono", dict(list(CORRECT_BY_ITEM.items())[:3]), SEARCH)
    assert (small_subset.item_ids, small_subset.tries) == (sorted(CORRECT_BY_ITEM)[:3], 0)
    # The score of all three items is 33.33. A subset of two items scores 0 or 50, and 50 is nearer.
    three_items = {"a": True, "b": False, "c": False}
    with pytest.raises(UserError, match=r"none of 30 tries is within 5 points of 33.33.*nearest has 50.00.*tolerance:"):
        search("chrono", three_items, SubsetSearch(per_test=2, tolerance=5, tries=30))
    assert search("chrono", three_items, SubsetSearch(per_test=2, tolerance=17, tries=30)).subset_strict == 50
