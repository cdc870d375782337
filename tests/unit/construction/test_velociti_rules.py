"""VELOCITI's rules (section 3.2) on small annotations made by hand: what is set against what, and what is not."""

from pathlib import Path
from typing import Any

import pytest
from reprise.construction.velociti.candidates import Candidates, candidates
from reprise.construction.velociti.captions import in_order, plain, predicate, stems
from reprise.construction.velociti.vidsitu import role_name
from reprise.construction.velociti.world import may_be
from reprise.core.errors import UserError

from tests.unit.construction.worlds import annotated, event, files, found_in, settings

MAN, BOY = "man in a suit", "boy with a dog"
VIDEO = annotated(
    "v_one_seg_0_10",
    event("walk", MAN, manner="slowly"),
    event("jump", BOY),
    event("sing", MAN, manner="loudly"),
)
OTHER = annotated("v_two_seg_0_10", event("dance", "woman in red"), event("cook", "old chef"))


def against(found: Candidates, test: str, event: str = "") -> list[tuple[str, list[str], str]]:
    """Of the candidates of a test: event, what the negative is made of, and why it is dropped."""
    texts = {row["text_id"]: row["values"][0]["text"] for row in found.texts}
    rows = [row for row in found.candidates if row["test"] == test and row["video"] == "v_one_seg_0_10"]
    return [
        (row["event"], [texts[name] for name in row["negative"]], row["why"])
        for row in rows
        if event in ("", row["event"])
    ]


@pytest.fixture
def made(tmp_path: Path) -> Candidates:
    return found_in(tmp_path, [VIDEO, OTHER])


def test_the_control_takes_captions_of_other_videos(made: Candidates) -> None:
    found = against(made, "control")
    assert sorted(why for _, _, why in found) == [
        "",
        "",
        "no caption of another video is left that is false of this one",
    ]
    for _, negative, _ in (one for one in found if not one[2]):
        assert "woman in red" in negative[0] or "old chef" in negative[0]


def test_a_random_agent_is_nobody_of_the_video(made: Candidates) -> None:
    for _, negative, why in against(made, "agent_random"):
        assert not why and ("woman in red" in negative[0] or "old chef" in negative[0])


def test_a_random_agent_is_no_hypernym_of_anybody_in_the_video(tmp_path: Path) -> None:
    other = annotated("v_two_seg_0_10", event("dance", "man"), event("cook", "person"), event("sit", "a suit"))
    found = against(found_in(tmp_path, [VIDEO, other]), "agent_random", "Ev1")
    assert found == [("Ev1", [], "every agent of the data may be in this video")]


def test_a_bound_agent_acts_elsewhere_in_the_video(made: Candidates) -> None:
    assert [negative[0] for _, negative, _ in against(made, "agent_bind", "Ev1")] == [
        "{'Verb': 'walk (walk)',\n'Arg0 (agent)': 'boy with a dog',\n'ArgM (manner)': 'slowly'}"
    ]


def test_a_bound_agent_does_not_do_the_same_by_another_annotation(tmp_path: Path) -> None:
    second = annotated("v_one_seg_0_10", event("walk", BOY))
    found = against(found_in(tmp_path, [VIDEO, second, OTHER]), "agent_bind", "Ev1")
    assert [why for _, _, why in found] == [f"{BOY}: may do this too"]


def test_a_bound_agent_does_not_act_on_itself(tmp_path: Path) -> None:
    video = annotated("v_one_seg_0_10", event("push", MAN, **{"Arg1 (pushed)": BOY}), event("jump", BOY))
    found = against(found_in(tmp_path, [video, OTHER]), "agent_bind", "Ev1")
    assert [why for _, _, why in found] == [f"{BOY}: is in another role of the event"]


def test_a_bound_action_keeps_the_agent_and_takes_verb_and_modifiers(made: Candidates) -> None:
    assert [negative[0] for _, negative, _ in against(made, "action_bind", "Ev2")] == [
        "{'Verb': 'walk (walk)',\n'Arg0 (agent)': 'boy with a dog',\n'ArgM (manner)': 'slowly'}",
        "{'Verb': 'sing (sing)',\n'Arg0 (agent)': 'boy with a dog',\n'ArgM (manner)': 'loudly'}",
    ]


def test_a_bound_action_is_another_verb_of_another_agent(tmp_path: Path) -> None:
    video = annotated("v_one_seg_0_10", event("walk", MAN), event("walk", BOY), event("sing", MAN))
    assert against(found_in(tmp_path, [video, OTHER]), "action_bind", "Ev1") == []


def test_a_coreference_mixes_two_agents(made: Candidates) -> None:
    [(label, negative, why)] = against(made, "coref")
    assert (label, why) == ('["Ev1","Ev3","Ev3"]', "")
    assert [MAN in negative[0], BOY in negative[1]] == [True, True]


def test_a_coreference_that_may_be_true_is_dropped(tmp_path: Path) -> None:
    video = annotated("v_one_seg_0_10", event("walk", MAN), event("walk", BOY), event("sing", MAN))
    [(_, _, why)] = against(found_in(tmp_path, [video, OTHER]), "coref")
    assert why == f"every deed of another may be one of {MAN}"


def test_only_events_with_a_manner_have_it_replaced(made: Candidates) -> None:
    assert [label for label, _, _ in against(made, "action_manner")] == ["Ev1", "Ev3"]


def test_a_manner_of_what_is_done_twice_is_not_replaced(tmp_path: Path) -> None:
    video = annotated("v_one_seg_0_10", event("walk", MAN, manner="slowly"), event("walk", MAN, manner="fast"))
    whys = [why for _, _, why in against(found_in(tmp_path, [video, OTHER]), "action_manner")]
    assert len(whys) == 2 and all("once in the other manner" in why for why in whys)


def test_events_of_a_chronology_are_two_seconds_apart(made: Candidates) -> None:
    assert [label for label, _, _ in against(made, "chrono")] == ['["Ev1","Ev3"]']


def test_a_chronology_that_is_true_both_ways_is_dropped(tmp_path: Path) -> None:
    walk, jump = event("walk", MAN), event("jump", BOY)
    found = against(found_in(tmp_path, [annotated("v_one_seg_0_10", walk, jump, walk, jump), OTHER]), "chrono")
    assert found and all(why == "both orders may be true: an event happens twice" for _, _, why in found)


DROPPED: dict[str, tuple[dict[str, Any], str]] = {
    "no verb": (event("", MAN), "no_verb"),
    "no agent": (event("walk", ""), "no_agent"),
    "a verb of no action": (event("stand", MAN), "verb_left_out"),
    "a text of a megabyte": (event("walk", "x" * 2**20), "too_long"),
}


@pytest.mark.parametrize(("bad", "name"), DROPPED.values(), ids=DROPPED)
def test_an_event_that_cannot_be_described_is_dropped_by_name(tmp_path: Path, bad: dict[str, Any], name: str) -> None:
    found = found_in(tmp_path, [annotated("v_one_seg_0_10", bad, event("jump", BOY)), OTHER], verbs_left_out=["stand"])
    assert [(row["filter"], bool(row["why"])) for row in found.pool][:2] == [(name, True), ("", False)]
    assert not any(row["event"] == "Ev1" for row in found.candidates if row["video"] == "v_one_seg_0_10")


def test_a_draw_takes_as_many_as_wanted_and_stays_the_same(tmp_path: Path) -> None:
    everything = found_in(tmp_path, [VIDEO, OTHER])
    drawn = found_in(tmp_path, [OTHER, VIDEO], per_video=1)
    left = [row for row in drawn.candidates if not row["filter"]]
    assert len({(row["test"], row["video"]) for row in left}) == len(left)
    assert {row["sample_id"] for row in left} <= {row["sample_id"] for row in everything.candidates}


BROKEN = {
    "no list": ({"a": 1}, "expected a list of annotations"),
    "an entry without events": ([{"Ev9": {}}], "annotation 1: expected an object with Ev1"),
    "an entry of two videos": (
        [{"Ev1": {"vid_seg_int": "v_a"}, "Ev2": {"vid_seg_int": "v_b"}}],
        "its events must be of one video (vid_seg_int), found 'v_a, v_b'",
    ),
    "roles that are no object": (
        [{"Ev1": {"vid_seg_int": "v_a", "Verb": "walk", "Args": ["man"]}}],
        "annotation 1: Ev1: 'Args' should be an object",
    ),
}


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN)
def test_broken_annotations_are_refused_with_their_place(tmp_path: Path, content: Any, message: str) -> None:
    from reprise.construction.velociti.candidates import candidates

    given = files(tmp_path, content if isinstance(content, list) else [], split=["v_a"])
    if not isinstance(content, list):
        given["vsann_valid_lb.json"].write_text('{"a": 1}')
    with pytest.raises(UserError) as error:
        candidates(given, settings())
    assert message in str(error.value) and "vsann_valid_lb.json" in str(error.value)


def test_a_missing_file_is_named_with_the_setting(tmp_path: Path) -> None:
    from reprise.construction.velociti.candidates import candidates

    with pytest.raises(UserError, match=r"expected one file 'vseg_split_test_lb.json', found 0.*Correct `split:`"):
        candidates(files(tmp_path, [VIDEO]), settings(split="test"))


NAMES = {
    ("man in a suit", "the man"): True, ("man", "man in suit"): True, ("man in suit", "man with hat"): False,
    ("someone", "boy"): True, ("a Boy", "the boy"): True, ("red circle", "red square"): False,
}  # fmt: skip


@pytest.mark.parametrize(("names", "expected"), NAMES.items())
def test_who_may_be_whom(names: tuple[str, str], expected: bool) -> None:
    assert may_be(*names) is may_be(*names[::-1]) is expected


ROLES = {
    "AMnr (manner)": "ArgM (manner)", "ADir (direction)": "ArgM (direction)", "AScn (scene of the event)": "Scene of the Event",
    "ALoc": "ArgM (location)", "Arg1 (thing opening)": "Arg1 (thing opening)", "APrp (purpose)": "ArgM (purpose)",
}  # fmt: skip


@pytest.mark.parametrize(("role", "expected"), ROLES.items())
def test_roles_are_called_as_in_the_prompts(role: str, expected: str) -> None:
    assert role_name(role) == expected


PREDICATES = {
    ("In a warehouse, a man in a suit is walking slowly.", "man in suit"): "is walking slowly",
    ("The boy walks.", "the boy"): "walks",
    ("The man in the Black hat, laughing, sits.", "man in the black hat"): "laughing, sits",
    ("Somebody walks.", "the boy"): "",
    ("A cowboy walks.", "boy"): "",
}


@pytest.mark.parametrize(("given", "expected"), PREDICATES.items())
def test_what_a_caption_says_of_its_agent(given: tuple[str, str], expected: str) -> None:
    assert predicate(*given) == expected


def test_words_are_compared_whatever_their_form() -> None:
    assert stems("sliding left") & stems("slide") and stems("spinning") & stems("spin") and stems("runs") & stems("run")
    assert not stems("sit") & stems("sink")
    assert plain("The Man's hat.") == "the man's hat"
    assert in_order("A sits", "B runs.") == "First, A sits. Then, B runs."


HOSTILE = {
    "a role that is a list": (annotated("v_a", event("walk", MAN) | {"Args": {"Arg0": ["man"]}}), "Ev1: 'Arg0' should be a text, found list"),
    "a verb that is a number": (annotated("v_a", event("walk", MAN) | {"Verb": 5}), "Ev1: 'Verb' should be a text, found int"),
    "half a sign in a verb": (annotated("v_a", event("walk\ud800", "man")), "'Verb' holds control characters: 'walk[U+D800] "),
    "half a sign in a role": ({"Ev1": event("walk", "man") | {"vid_seg_int": "v_a", "Args": {"Arg\ud800": "man"}}}, "a role holds control characters"),
    "a NUL": (annotated("v_a", event("walk", "man\0")), "'Arg0 (agent)' holds control characters"),
    "a path for an id": (annotated("../../x", event("walk", MAN)), "'vid_seg_int' is '../../x', expected an id"),
    "an id of a megabyte": (annotated("/" * 2**20, event("walk", MAN)), "expected an id such as"),
}  # fmt: skip


@pytest.mark.parametrize(("bad", "words"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_annotations_are_named_with_their_place(tmp_path: Path, bad: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError) as error:
        found_in(tmp_path, [OTHER, bad])
    assert words in str(error.value) and "vsann_valid_lb.json: annotation 2" in str(error.value)
    assert len(str(error.value)) < 500


@pytest.mark.parametrize("text", ["[{", "[" * 100_000, "\0"], ids=["cut off", "deep", "NUL"])
def test_annotations_that_are_no_json_are_named(tmp_path: Path, text: str) -> None:
    found = files(tmp_path, [OTHER])
    found["vsann_valid_lb.json"].write_text(text)
    with pytest.raises(UserError, match=r"vsann_valid_lb.json: not valid JSON"):
        candidates(found, settings())
