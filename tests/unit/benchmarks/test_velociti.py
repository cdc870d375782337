"""VELOCITI: its reader, requests and metrics, against a sample worked out by hand and closed forms."""

import csv
import random
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.analysing import with_analysed_groups
from reprise.benchmarks.flaws import flaws_of
from reprise.benchmarks.prompts import load_prompts
from reprise.benchmarks.registry import load_analyses
from reprise.benchmarks.velociti.actions import verb_groups
from reprise.benchmarks.velociti.scores import CHANCE, SCORES
from reprise.benchmarks.velociti.subsets import LIST_COLUMNS, captions_digest
from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.core.errors import UserError
from reprise.core.schemas import VERDICTS
from reprise.stats.measures import Measure

from tests.unit.benchmarks.whole import Whole
from tests.unit.rows import verdict_row

velociti = Whole("velociti")

COLUMNS = ["test_name", "video_id", "event", "pos", "neg"]
LEVEL = 0.95
PROMPTS = load_prompts(Path("resources/prompts/velociti.yaml"))


def release(folder: Path, rows: Sequence[Sequence[str]], columns: Sequence[str] = COLUMNS) -> list[Path]:
    path = folder / "rows.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([columns, *rows])
    return [path]


def video(number: int) -> str:
    return f"v_abcdefghi{number:02d}_seg_{10 * number}_{10 * number + 10}"


def rows_of(test: str, count: int) -> list[list[str]]:
    return [[test, video(i % 7), "Ev1", f"{test} true {i}", f"{test} false {i}"] for i in range(count)]


# --- reading a release ---------------------------------------------------------------------------------------------


def test_ids_become_trims_of_their_source_video(tmp_path: Path) -> None:
    files = release(tmp_path, [["coref", "v_bt6-F11LZsQ_seg_25_35.mp4", '["Ev1","Ev3"]', "p", "n"]])
    clips, items = velociti.annotations(files, "ids", {})
    assert clips.row(0, named=True) == {
        "clip_id": "bt6-F11LZsQ.25-35", "unit": "bt6-F11LZsQ", "kind": "trim", "source_id": "bt6-F11LZsQ",
        "start_s": 25.0, "end_s": 35.0, "parts": [],
    }  # fmt: skip
    assert items["item_id"].to_list() == ["coref/v_bt6-F11LZsQ_seg_25_35/Ev1-Ev3/1"]


def test_released_files_are_taken_whole(tmp_path: Path) -> None:
    clips, _ = velociti.annotations(release(tmp_path, rows_of("chrono", 1)), "release", {})
    row = clips.row(0, named=True)
    assert (row["kind"], row["source_id"], row["start_s"]) == ("whole", video(0), None)


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        ([["control", " ", "Ev1", "p", "n"]], COLUMNS, "row 1: 'video_id' is empty"),
        ([["control", video(1), "Ev1", "p", "n"]] * 2, COLUMNS, "row 2: the same as row 1"),
        ([["control", video(1), "Ev1", "p"]], COLUMNS[:-1], "column 'neg' is missing. Found: test_name"),
        ([["control", video(1), "Ev1", "p", "n"]], ["test_name", "video_id", "pos", "pos", "neg"], "duplicate column 'pos'"),
        ([["control", "tt0111161", "Ev1", "p", "n"]], COLUMNS, "is not a VidSitu id"),
    ],
)  # fmt: skip
def test_a_broken_release_is_refused_by_file_and_row(
    tmp_path: Path, rows: list[list[str]], columns: list[str], message: str
) -> None:
    with pytest.raises(UserError, match=r"rows\.csv|VELOCITI release") as error:
        velociti.annotations(release(tmp_path, rows, columns), "ids", {})
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("change", "flaw", "asked", "missing"),
    [
        ({0: "agent_randm"}, "unknown test 'agent_randm'; it counts in no test. Did you mean 'agent_random'?", 2, 0),
        ({4: " "}, "'neg' is empty, so it is not asked and counts as missing", 2, 1),
        ({3: ""}, "'pos' is empty, so it is not asked and counts as missing", 2, 1),
        ({2: '["Ev1",'}, None, 3, 0),
        ({2: "[1]"}, None, 3, 0),
    ],
)
def test_a_flawed_row_stays_is_named_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, change: dict[int, str], flaw: str | None, asked: int, missing: int
) -> None:
    rows = rows_of("agent_random", 3)
    for place, text in change.items():
        rows[1][place] = text
    _, items = velociti.annotations(release(tmp_path, rows), "ids", {})
    assert items.height == 3
    assert flaws_of(items) == ([f"row 2: {flaw}"] if flaw else [])
    assert (f"rows.csv: row 2: {flaw}" in caplog.text) == (flaw is not None)
    requests = velociti.requests(items, "entail", PROMPTS["entail"])
    assert len(requests) == (4 if missing else 6)
    read = [verdict(str(one["item_id"]), str(one["role"]), "Yes", str(one["expected"]), 0.6) for one in requests]
    rows_measured = velociti.measured("entail", items, pl.DataFrame(read, schema=VERDICTS), LEVEL, "fixed")
    (found,) = [one for one in rows_measured if (one.metric, one.group) == ("strict", "agent_random")]
    assert (found.asked, found.missing, found.value) == (asked, missing, 0)


def test_a_row_that_is_there_twice_can_be_kept(tmp_path: Path) -> None:
    files = release(tmp_path, [["control", video(1), "Ev1", "p", "n"]] * 2)
    _, items = velociti.annotations(files, "ids", {"duplicate_rows": "keep"})
    assert items["item_id"].to_list() == [f"control/{video(1)}/Ev1/1", f"control/{video(1)}/Ev1/2"]


# --- subsets -------------------------------------------------------------------------------------------------------


def in_subset(items: pl.DataFrame) -> list[bool]:
    return ["subset" in groups for groups in items["groups"].to_list()]


def test_listed_rows_are_found_by_captions_in_either_order(tmp_path: Path) -> None:
    listed = tmp_path / "list.csv"
    with listed.open("w", newline="") as stream:
        digest = captions_digest("control false 2", "control  true 2")
        csv.writer(stream).writerows([LIST_COLUMNS, ["control", video(2), "Ev1", digest]])
    files = release(tmp_path, rows_of("control", 5))
    _, items = velociti.annotations(files, "ids", {"subset": {"file": str(listed)}})
    assert in_subset(items) == [False, False, True, False, False]


def test_a_listed_row_with_edited_captions_is_found_by_video_and_event_if_unique(tmp_path: Path) -> None:
    listed = tmp_path / "list.csv"
    with listed.open("w", newline="") as stream:
        csv.writer(stream).writerows([LIST_COLUMNS, ["control", video(3), "Ev1", "0" * 16]])
    files = release(tmp_path, rows_of("control", 5))
    _, items = velociti.annotations(files, "ids", {"subset": {"file": str(listed)}})
    assert in_subset(items) == [False, False, False, True, False]


def test_a_draw_does_not_depend_on_the_order_of_the_rows(tmp_path: Path) -> None:
    rows = rows_of("control", 30)
    draw = {"subset": {"per_test": 10, "seed": 3}}
    chosen = []
    for order in (rows, rows[::-1]):
        _, items = velociti.annotations(release(tmp_path, order), "ids", draw)
        texts = [texts[0]["text"] for texts in items["texts"].to_list()]
        chosen.append({text for text, is_in in zip(texts, in_subset(items), strict=True) if is_in})
    assert chosen[0] == chosen[1] and len(chosen[0]) == 10


def test_the_published_subset_has_the_counts_of_its_source() -> None:
    with Path("resources/subsets/velociti-150.csv").open() as stream:
        tests = [row["test_name"] for row in csv.DictReader(stream)]
    assert {test: tests.count(test) for test in TESTS} == {
        "agent_random": 150, "agent_bind": 150, "coref": 150, "action_adv": 150,
        "action_manner": 150, "action_bind": 151, "chrono": 142,
    }  # fmt: skip


# --- requests ------------------------------------------------------------------------------------------------------


def test_entailment_asks_about_each_caption_alone(tmp_path: Path) -> None:
    _, items = velociti.annotations(release(tmp_path, rows_of("control", 1)), "ids", {})
    positive, negative = velociti.requests(items, "entail", PROMPTS["entail.authors"])
    assert positive["prompt"] == (
        "Carefully watch the video and pay attention to the sequence of events, the details and actions of persons.\n"
        "Here is a caption that describes the video: control true 0\n"
        "Based on your observation, does the given video entail the caption? Just answer with either Yes or No. "
    )
    assert "control false 0" in str(negative["prompt"]) and "control true 0" not in str(negative["prompt"])
    assert (positive["expected"], negative["expected"]) == ("Yes", "No")


def test_multiple_choice_asks_in_both_orders(tmp_path: Path) -> None:
    _, items = velociti.annotations(release(tmp_path, rows_of("control", 1)), "ids", {})
    first, second = velociti.requests(items, "mc", PROMPTS["mc"])
    assert "A) control true 0\nB) control false 0" in str(first["prompt"]) and first["expected"] == "A"
    assert "A) control false 0\nB) control true 0" in str(second["prompt"]) and second["expected"] == "B"


def test_a_caption_cannot_act_as_a_template(tmp_path: Path) -> None:
    files = release(tmp_path, [["control", video(1), "Ev1", "a {caption} {frame_count}", "n"]])
    _, items = velociti.annotations(files, "ids", {})
    assert "video: a {caption} {frame_count}\n" in str(
        velociti.requests(items, "entail", PROMPTS["entail"])[0]["prompt"]
    )


# --- metrics -------------------------------------------------------------------------------------------------------

Reply = tuple[float | None, str]  # score, status


def items_of(counts: dict[str, int], tmp_path: Path) -> pl.DataFrame:
    rows = [row for test, count in counts.items() for row in rows_of(test, count)]
    return velociti.annotations(release(tmp_path, rows), "ids", {})[1]


def verdict(
    item: str, role: str, value: str, expected: str, score: float | None, status: str = ""
) -> dict[str, object]:
    known = {"right": value == expected, "unparsed": status == "unparsed", "failed": status == "failed"}
    return verdict_row(f"{item}#{role}", value, score=score, **known)


def entail_verdicts(items: pl.DataFrame, scores: Sequence[tuple[float | None, float | None]]) -> pl.DataFrame:
    """None is a failed answer; exactly 0.5 is no answer."""
    rows = []
    for item, pair in zip(items["item_id"], scores, strict=True):
        for role, expected, score in zip(("pos", "neg"), ("Yes", "No"), pair, strict=True):
            status = "failed" if score is None else "unparsed" if score == 0.5 else ""
            value = "" if status else "Yes" if (score or 0.0) > 0.5 else "No"
            rows.append(verdict(item, role, value, expected, score, status))
    return pl.DataFrame(rows, schema=VERDICTS)


def number(found: Sequence[Measure], metric: str, group: str) -> Measure:
    return next(one for one in found if (one.metric, one.group) == (metric, group))


def test_entailment_by_hand(tmp_path: Path) -> None:
    """Five samples: right; Yes to both; No to both but ordered; a tie at one half; a failed negative."""
    items = items_of({"control": 5}, tmp_path)
    scores = [(0.9, 0.1), (0.8, 0.7), (0.4, 0.2), (0.5, 0.1), (0.6, None)]
    verdicts = entail_verdicts(items, scores)
    found = velociti.measures("entail", items, verdicts, LEVEL)
    assert number(found, "strict", "control").value == pytest.approx(100 * 1 / 5)
    assert number(found, "classic", "control").value == pytest.approx(100 * 4 / 5)
    assert number(found, "positive", "control").value == pytest.approx(100 * 3 / 5)
    assert number(found, "negative", "control").value == pytest.approx(100 * 1 / 3)
    counts = number(found, "strict", "control")
    assert (counts.asked, counts.scored, counts.failed, counts.unparsed) == (5, 3, 1, 1)
    assert number(found, "strict", "average").value is None, "no sample of the seven tests is no average, never 0"


def test_the_average_counts_each_test_once_and_control_never(tmp_path: Path) -> None:
    counts = {test: 10 * (place + 1) for place, test in enumerate(TESTS)}
    items = items_of({"control": 10} | counts, tmp_path)
    scores = [(0.9, 0.1) if item.split("/")[0] == "coref" else (0.9, 0.9) for item in items["item_id"]]
    found = velociti.measures("entail", items, entail_verdicts(items, scores), LEVEL)
    assert number(found, "strict", "coref").value == 100
    assert number(found, "strict", "average").value == pytest.approx(100 / 7)


@pytest.mark.parametrize(
    ("caption", "groups"),
    [
        ("In a warehouse, a man in a suit is walking slowly into the room.", ["verbs_movement"]),
        ("First, a woman lies down. Then, she is crying.", ["verbs_physiological", "verbs_states"]),
        ("The red star stops; a boy carries a box.", ["verbs_manipulation", "verbs_states"]),
        ("A man in a walk-in closet.", []),
        ("", []),
    ],
)
def test_a_caption_is_in_the_groups_of_its_verbs(caption: str, groups: list[str]) -> None:
    assert verb_groups(caption) == groups


def test_kinds_of_action_are_measured_over_the_samples_of_the_seven_tests(tmp_path: Path) -> None:
    captions = [
        ("chrono", "He runs.", 1.0),
        ("coref", "He is running.", 0.0),
        ("coref", "It glows.", 0.0),
        (CONTROL, "He runs.", 1.0),
    ]
    rows = [[test, video(i), "Ev1", caption, "x"] for i, (test, caption, _) in enumerate(captions)]
    _, items = velociti.annotations(release(tmp_path, rows), "ids", {})
    verdicts = entail_verdicts(items, [(score, 1 - score) for _, _, score in captions])
    analyses = load_analyses("velociti")
    assert analyses is not None
    found = velociti.measures("entail", with_analysed_groups(items, None, analyses), verdicts, LEVEL, "fixed")
    assert (number(found, "strict", "verbs_movement").value, number(found, "strict", "verbs_movement").asked) == (
        50.0,
        2,
    )
    assert number(found, "strict", "verbs_states").value == 0.0
    assert not [one for one in found if one.group == "verbs_perception"], "no sample tells of it"


def test_answers_in_words_have_no_classic_metric(tmp_path: Path) -> None:
    items = items_of({"control": 2}, tmp_path)
    verdicts = entail_verdicts(items, [(0.9, 0.1), (0.9, 0.9)]).with_columns(score=pl.lit(None, pl.Float64))
    found = velociti.measures("entail", items, verdicts, LEVEL)
    assert {one.metric for one in found} == {"strict", "positive", "negative"}
    assert number(found, "strict", "control").value == 50


def test_multiple_choice_by_hand(tmp_path: Path) -> None:
    """Four samples: right in both orders; always A; always B; A twice wrong."""
    items = items_of({"chrono": 4}, tmp_path)
    answers = [("A", "B"), ("A", "A"), ("B", "B"), ("B", "A")]
    rows = [
        verdict(item, role, value, expected, None)
        for item, pair in zip(items["item_id"], answers, strict=True)
        for role, expected, value in zip(("a", "b"), ("A", "B"), pair, strict=True)
    ]
    found = velociti.measures("mc", items, pl.DataFrame(rows, schema=VERDICTS), LEVEL)
    values = {one.metric: one.value for one in found if one.group == "chrono"}
    assert values == {"mc_a": 50, "mc_b": 50, "mc_bias": 0, "mc_both": 25}


def similarity_verdicts(items: pl.DataFrame, scores: Sequence[tuple[float | None, float | None]]) -> pl.DataFrame:
    """None is a failed answer."""
    rows = [
        verdict(item, role, "" if score is None else "match", expected, score, "failed" if score is None else "")
        for item, pair in zip(items["item_id"], scores, strict=True)
        for role, expected, score in zip(("pos", "neg"), ("match", ""), pair, strict=True)
    ]
    return pl.DataFrame(rows, schema=VERDICTS)


def test_similarity_by_hand(tmp_path: Path) -> None:
    """Four samples: closer, further, as close, failed. Only the first is right; cosines may be negative."""
    items = items_of({"chrono": 4}, tmp_path)
    read = similarity_verdicts(items, [(-0.1, -0.3), (0.2, 0.4), (0.5, 0.5), (0.9, None)])
    found = velociti.measures("similarity", items, read, LEVEL)
    one = number(found, "classic", "chrono")
    assert (one.value, one.asked, one.scored, one.failed, one.unparsed) == (25, 4, 3, 1, 0)
    assert {measured.metric for measured in found} == SCORES["similarity"].metrics == {"classic"}
    authors = velociti.measures("similarity", items, read, LEVEL, convention="authors")
    assert number(authors, "classic", "chrono").value == pytest.approx(100 / 3)
    right = velociti.outcomes("similarity", items, read)["classic"]["right"].to_list()
    assert right == [True, False, False, False]


FORMS = {"entail": entail_verdicts, "similarity": similarity_verdicts}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("pair", "expected"), [((1.0, 0.0), 100), ((1.0, 1.0), 0)])
def test_closed_forms_of_sure_answers(tmp_path: Path, form: str, pair: tuple[float, float], expected: float) -> None:
    """The oracle, and a model that always says Yes or the same."""
    items = items_of(dict.fromkeys((CONTROL, *TESTS), 20), tmp_path)
    found = velociti.measures(form, items, FORMS[form](items, [pair] * items.height), LEVEL)
    assert {one.value for one in found if one.metric in ("strict", "classic")} == {expected}


@pytest.mark.parametrize(("form", "metrics"), [("entail", ("strict", "classic")), ("similarity", ("classic",))])
def test_random_scores_reach_chance_within_their_interval(tmp_path: Path, form: str, metrics: tuple[str, ...]) -> None:
    items, draw = items_of(dict.fromkeys(TESTS, 200), tmp_path), random.Random(1)
    read = FORMS[form](items, [(draw.random(), draw.random()) for _ in range(items.height)])
    found = velociti.measures(form, items, read, 0.99)
    for metric in metrics:
        one, chance = number(found, metric, "average"), CHANCE[metric]
        assert None not in (one.low, one.high, chance) and one.low < chance < one.high  # type: ignore[operator]


def test_statistics_count_videos_samples_and_subset(tmp_path: Path) -> None:
    files = release(tmp_path, rows_of("coref", 10))
    clips, items = velociti.annotations(files, "ids", {"subset": {"per_test": 4, "seed": 0}})
    found = {(metric, group): value for metric, group, value in velociti.statistics(items, clips)}
    assert (found["videos", "coref"], found["samples", "coref"], found["subset", "coref"]) == (7, 10, 4)
