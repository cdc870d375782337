"""TemporalBench: its reader, requests and metrics, against samples worked out by hand and closed forms."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.flaws import flaws_of
from reprise.benchmarks.prompts import load_prompts
from reprise.benchmarks.temporalbench import option_sets
from reprise.benchmarks.temporalbench.scores import CAPTION_METRICS
from reprise.benchmarks.temporalbench.taxonomy import CATEGORIES, DATASETS, LONG_DATASETS
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.core.schemas import RESPONSES, VERDICTS
from reprise.core.store import Store
from reprise.plan.runs import Plan
from reprise.stages.verdicts import verdicts, with_similarity
from reprise.stats.measures import Measure
from synthetic.toyworld import temporalbench as toy

from tests.unit.benchmarks.whole import Whole
from tests.unit.rows import request_table, response_row, verdict_row

tb = Whole("temporalbench")

LEVEL = 0.95
PROMPTS = load_prompts(Path("resources/prompts/temporalbench.yaml"))
# As the authors' README shows it, but for the captions.
QUESTION = (
    "Which caption best describes this video?\nA. {} \nB. {}\n"
    "Answer with the option's letter from the given choices directly."
)

Entry = dict[str, str]


def video(number: int, dataset: str = "Charades", length: str = "short") -> str:
    return f"{length}_video/{dataset}/EEVD{number // 3}_start_{number}.4_end_{number + 9}.0.mp4"


def question(name: str, place: int, answer: str = "A", category: str = "Action Type", **more: str) -> Entry:
    texts = (f"It does {place}.", f"It does not {place}.")
    return {
        "idx": f"{name}_{place}", "video_name": name, "question": QUESTION.format(*texts), "GT": answer,
        "dataset": name.split("/")[1], "category": category, **more,
    }  # fmt: skip


def caption(name: str, text: str = "A person walks.") -> Entry:
    return {"idx": name, "video_name": name, "question": "Describe.", "GT": text, "dataset": name.split("/")[1]}


def release(
    folder: Path, short: Sequence[Entry] = (), long: Sequence[Entry] = (), captions: Sequence[Entry] = ()
) -> list[Path]:
    """The three files; one default entry where a test gives none."""
    content = {
        "temporalbench_short_qa.json": short or [question(video(0), 0)],
        "temporalbench_long_qa.json": long or [question(video(0, "COIN", "long"), 0)],
        "temporalbench_short_caption.json": captions or [caption(video(0))],
    }
    for name, entries in content.items():
        (folder / name).write_text(json.dumps(entries))
    return [folder / name for name in content]


def items_of(folder: Path, task: str, **entries: Sequence[Entry]) -> pl.DataFrame:
    items = tb.annotations(release(folder, **entries), "release", {})[1]
    return items.filter(pl.col("task") == task)


# --- reading a release -------------------------------------------------------------------------------------------


def test_released_files_are_taken_whole_and_share_a_unit_by_source(tmp_path: Path) -> None:
    short = [question(video(number), 0) for number in (0, 1, 3)]
    clips, items = tb.annotations(release(tmp_path, short), "release", {})
    row = clips.row(1, named=True)
    assert row == {
        "clip_id": "Charades/EEVD0.short-1.4-10.0", "unit": "Charades/EEVD0", "kind": "whole",
        "source_id": "short_video/Charades/EEVD0_start_1.4_end_10.0.mp4", "start_s": None, "end_s": None, "parts": [],
    }  # fmt: skip
    assert clips["unit"].to_list() == ["Charades/EEVD0", "Charades/EEVD0", "Charades/EEVD1", "COIN/EEVD0"]
    assert items.filter(pl.col("task") == "caption")["clip_id"][0] == clips["clip_id"][0], "one video, one clip"


def test_ids_become_spans_of_their_source_video(tmp_path: Path) -> None:
    clips, _ = tb.annotations(release(tmp_path), "ids", {})
    assert clips.select("kind", "source_id", "start_s", "end_s").rows() == [
        ("trim", "EEVD0", 0.4, 9.0),
        ("segment", "EEVD0", 0.4, 9.0),
    ]


def test_a_question_gives_its_captions_answer_and_groups(tmp_path: Path) -> None:
    entry = question(video(0), 0, "b", "Motion Direction/Orientation")
    item = items_of(tmp_path, "short", short=[entry]).row(0, named=True)
    assert {text["name"]: text["text"] for text in item["texts"]} == {
        "question": entry["question"], "A": "It does 0.", "B": "It does not 0.",
    }  # fmt: skip
    assert item["answer"] == "B"
    assert item["groups"] == ["short", "charades", "motion_direction"]


@pytest.mark.parametrize(
    ("short", "message"),
    [
        ([{"idx": "1", "video_name": "v.mp4", "question": "q", "GT": "A", "category": "Others"}], "column 'dataset' is missing"),
        ([{"idx": "1", "video_name": "v.mp4", "question": "q", "GT": "A", "dataset": "Oops"}], "column 'category' is missing"),
        ([question(video(0), 0), question(video(0), 0) | {"GT": "B"}], "entry 2: idx"),
        ([question(video(0), 0), question("short_video/Oops/", 1)], "entry 2: video_name 'short_video/Oops/' names no video"),
    ],
)  # fmt: skip
def test_a_broken_release_is_refused_by_file_and_entry(tmp_path: Path, short: list[Entry], message: str) -> None:
    with pytest.raises(UserError, match=r"temporalbench_short_qa\.json") as error:
        tb.annotations(release(tmp_path, short), "release", {})
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("change", "message", "group"),
    [
        ({"GT": "C"}, "ground truth 'C' is neither A nor B", "charades"),
        ({"GT": ""}, "ground truth '' is neither A nor B", "charades"),
        ({"category": "Telepathy"}, "category 'Telepathy' is not one of Action Order", "charades"),
        ({"dataset": "Vimeo"}, "data set 'Vimeo' is not one of activitynet", "action_type"),
    ],
)
def test_a_flawed_entry_stays_is_named_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, change: Entry, message: str, group: str
) -> None:
    entries = [question(video(0), 0), question(video(0), 1) | change]
    clips, items = tb.annotations(release(tmp_path, entries), "release", {})
    assert f"entry 2 ({video(0)}_1): {message}" in caplog.text
    (flaw,) = flaws_of(items)
    assert flaw.startswith(f"{video(0)}_1: {message}")
    numbers = {(metric, name): value for metric, name, value in tb.statistics(items, clips)}
    assert (numbers["flawed", "overall"], numbers["questions", "overall"], numbers["questions", group]) == (1, 2, 2)
    short = items.filter(pl.col("task") == "short")
    right = tb.requests(short, "short", PROMPTS["released"])[1]["expected"]
    assert right == ("" if "GT" in change else "A")


def test_statistics_of_the_data(tmp_path: Path) -> None:
    short = [question(video(0), 0), question(video(0), 1), question(video(1), 0), question(video(0, "COIN"), 0, "B")]
    clips, items = tb.annotations(release(tmp_path, short), "release", {})
    numbers = {(metric, group): value for metric, group, value in tb.statistics(items, clips)}
    assert [numbers["samples", group] for group in ("charades", "coin", "overall")] == [2, 1, 3]
    assert [numbers["words", group] for group in ("charades", "coin", "overall")] == [3, 4, 3.5]
    assert numbers["chance.short.mba", "charades"] == 100 * (1 / 4 + 1 / 2) / 2
    assert numbers["chance.long.mba", "overall"] == 50


# --- asking ------------------------------------------------------------------------------------------------------


def test_the_released_question_is_sent_as_it_is(tmp_path: Path) -> None:
    entry = question(video(0), 0) | {
        "question": "{caption}\nA. x {frame_count}\nB. y\nAnswer with the option's letter."
    }
    asked = tb.requests(items_of(tmp_path, "short", short=[entry]), "short", PROMPTS["released"])[0]
    assert asked["prompt"] == entry["question"]
    assert (asked["options"], asked["option_texts"], asked["expected"]) == (["A", "B"], ["x {frame_count}", "y"], "A")


# --- centralized options -----------------------------------------------------------------------------------------

C = "He cuts the ginger three times with his left hand"
N1, N2, N3 = C.replace("three", "two"), C.replace("left", "right"), C.replace("cuts", "grates")


def test_negatives_of_a_negative_carry_both_edits() -> None:
    assert option_sets.captions_of(C, [N1, N2, N3]) == {
        "c": C, "n1_c": N1, "n2_c": N2, "n3_c": N3,
        "n2_n1_c": "He cuts the ginger two times with his right hand",
        "n3_n1_c": "He grates the ginger two times with his left hand",
    }  # fmt: skip


@pytest.mark.parametrize(
    "negatives",
    [
        [N1, N2],  # two are too few
        [N1, C.replace("three", "four"), N2],  # two alter the same word, so no negative has two partners but the last
        [C.replace("three", "two"), C.replace("three times", "once"), C.replace("three", "no")],
    ],
)
def test_negatives_that_touch_are_not_joined(negatives: list[str]) -> None:
    found = option_sets.captions_of(C, negatives)
    assert found is None or found["n1_c"] == N2


def test_centralized_requests_and_shares(tmp_path: Path) -> None:
    entries = [
        question(video(0), place) | {"question": QUESTION.format(C, negative)}
        for place, negative in enumerate((N1, N2, N3))
    ]
    items = items_of(tmp_path, "central", short=entries)
    for form, others in (
        ("centralized", {N2, N3}),
        ("decentralized", {C.replace("three", "two").replace("left", "right")}),
    ):
        asked = tb.requests(items, form, PROMPTS["four"])[0]
        shown = dict(zip(asked["options"], asked["option_texts"], strict=True))
        assert shown[asked["expected"]] == C
        assert {C, N1} | others <= set(shown.values())
        assert all(f"\n{letter}. {text}\n" in asked["prompt"] for letter, text in shown.items())
        letter_of = {text: letter for letter, text in shown.items()}
        for chosen, expected in ((C, (100, 0)), (N1, (0, 100)), (shown[letter_of[C]], (100, 0)), ("", (0, 0))):
            answer = verdict(items["item_id"][0], letter_of.get(chosen, ""), asked["expected"])
            found = tb.measures(form, items, frame([answer]), LEVEL)
            assert tuple(one.value for one in found) == expected


def test_the_right_caption_stands_under_every_letter() -> None:
    places = [option_sets.lettered(f"central/{number}", "centralized") for number in range(400)]
    for letter in option_sets.LETTERS:
        assert 70 < sum(place[letter] == "c" for place in places) < 130


# --- metrics -----------------------------------------------------------------------------------------------------


def verdict(item: str, value: str, expected: str, status: str = "", score: float | None = None) -> dict[str, object]:
    right, failed = bool(value) and value == expected, status == "failed"
    return verdict_row(
        f"{item}#short", value, score=score, right=right, unparsed=not value and not failed, failed=failed
    )


def frame(rows: Sequence[dict[str, object]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=VERDICTS)


def read(items: pl.DataFrame, form: str, answers: dict[str, str | None], reader: str) -> pl.DataFrame:
    """What a reader makes of raw answers by idx; None is a failed one, and one that is not there was never asked."""
    asked = tb.requests(items, form, PROMPTS["released"])
    responses = [
        response_row(str(row["request_id"]), text or "", error="" if text is not None else "out_of_memory")
        for row in asked
        if (idx := str(row["item_id"]).partition("/")[2]) in answers
        for text in [answers[idx]]
    ]
    reading = "text" if form == "caption" else "first_character"
    tables = request_table(asked, "choose"), pl.DataFrame(responses, schema=RESPONSES)
    return verdicts(*tables, reader, reading)


def number(found: Sequence[Measure], metric: str, group: str = "overall") -> Measure:
    return next(one for one in found if (one.metric, one.group) == (metric, group))


# Two videos of Charades, one of COIN. By first character: right, right; right, wrong, failed; wrong, empty.
V0, V1, V2 = video(0), video(1), video(0, "COIN")
WORKED: list[tuple[Entry, str | None]] = [
    (question(V0, 0, "A"), "A person does 0."),
    (question(V0, 1, "B", "Event Order"), "b"),
    (question(V1, 0, "A"), "Answer: B"),  # its first character is A
    (question(V1, 1, "B"), "(B)"),
    (question(V1, 2, "A", "Event Order"), None),
    (question(V2, 0, "A"), "**B**"),
    (question(V2, 1, "A", "Others"), ""),
]


def test_failed_answers_count_as_wrong_and_the_robust_reader_reads(tmp_path: Path) -> None:
    """`Answer: B`, `(B)` and `**B**` as a person reads them; `A person does 0.` is neither a letter nor a caption."""
    items = items_of(tmp_path, "short", short=[entry for entry, _ in WORKED])
    answers = read(items, "short", {entry["idx"]: text for entry, text in WORKED}, "robust")
    found = tb.measures("short", items, answers, LEVEL)
    ba = number(found, "ba")
    assert number(found, "ba", "oops").value is None, "no question of a data set is no accuracy, never 0"
    assert (ba.asked, ba.failed) == (7, 1)
    assert number(found, "mba").asked == 3
    by_item = {"charades": 100 * 2 / 5, "coin": 0.0}
    for group, value in by_item.items():
        assert number(found, "ba", group).value == pytest.approx(value)


def test_missing_is_counted_in_questions_for_ba_and_in_videos_for_mba(tmp_path: Path) -> None:
    items = items_of(tmp_path, "short", short=[question(V0, 0), question(V1, 0), question(V1, 1)])
    answers = read(items, "short", {f"{V0}_0": "A"}, "robust")
    found = tb.measured("short", items, answers, LEVEL, "fixed")
    missing = {one.metric: one.missing for one in found if one.group == "overall"}
    assert missing == {"ba": 2, "mba": 1}


def test_long_videos_are_also_given_for_the_four_sets_of_the_paper(tmp_path: Path) -> None:
    names = [video(0, "COIN", "long"), video(0, "EgoExo4D", "long")]
    items = items_of(tmp_path, "long", long=[question(name, 0) for name in names])
    found = tb.measures("long", items, read(items, "long", dict.fromkeys([f"{n}_0" for n in names[:1]], "A") | {f"{names[1]}_0": "B"}, "robust"), LEVEL)  # fmt: skip
    assert (number(found, "mba").value, number(found, "mba", "long_four").value) == (50, 100)


def test_captions_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference itself, an empty answer and a failed one; likeness is 1 for the same text and 1/2 otherwise."""

    def likeness(left: Sequence[str], right: Sequence[str], *_: object) -> list[float]:
        return [1.0 if one == other else 0.5 for one, other in zip(left, right, strict=True)]

    monkeypatch.setattr("reprise.models.local.embeddings.similarities", likeness)
    texts = ["A person opens the door slowly.", "A dog jumps over it twice.", "The cup falls down."]
    entries = [caption(video(i), text) for i, text in enumerate(texts)]
    items = items_of(tmp_path, "caption", captions=entries)
    answers = dict(zip([entry["idx"] for entry in entries], [texts[0], "", None], strict=True))
    table = request_table(tb.requests(items, "caption", PROMPTS["released"]), "write")
    read_rows = with_similarity(read(items, "caption", answers, "robust"), table, "0.1.0", Store(tmp_path))
    assert read_rows["score"].to_list() == [1.0, 0.5, None]
    fixed = tb.measures("caption", items, read_rows, LEVEL)
    authors = tb.measures("caption", items, read_rows, LEVEL, convention="authors")
    assert {one.metric for one in fixed} == set(CAPTION_METRICS)
    assert number(fixed, "similarity").value == pytest.approx(100 / 3)
    assert number(authors, "similarity").value == pytest.approx(100 * 1.5 / 2), "an empty answer is compared too"
    assert number(fixed, "rouge").value == pytest.approx(100 / 3)
    assert number(authors, "rouge").value == pytest.approx(100 / 2)
    counts = number(fixed, "similarity")
    assert (counts.asked, counts.failed, counts.unparsed) == (3, 1, 1)


# --- by similarity -----------------------------------------------------------------------------------------------


def by_similarity(items: pl.DataFrame, scores: dict[str, tuple[float, float] | None]) -> pl.DataFrame:
    """Similarities of captions A and B by idx, through the readers; None is a failed clip."""
    asked = tb.requests(items, "short_similarity", PROMPTS["caption"])
    responses = []
    for row in asked:
        pair = scores[str(row["item_id"]).partition("/")[2]]
        score = [] if pair is None else [pair["AB".index(str(row["role"]))]]
        known = {"scores": score, "frames_shown": 8, "tokens_out": 0, "error": "" if score else "not_finite"}
        responses.append(response_row(str(row["request_id"]), **known))
    tables = request_table(asked, "similarity"), pl.DataFrame(responses, schema=RESPONSES)
    return verdicts(*tables, "robust", "plain")


def test_similarity_asks_for_each_caption_of_a_question(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    blank = {**question(V0, 1), "question": "Which one?"}
    items = items_of(tmp_path, "short", short=[question(V0, 0, "B"), blank])
    asked = tb.requests(items, "short_similarity", PROMPTS["caption"])
    found = [(row["request_id"], row["prompt"], row["expected"]) for row in asked]
    assert found == [(f"short/{V0}_0#A", "It does 0.", ""), (f"short/{V0}_0#B", "It does not 0.", "match")], (
        "a question that shows no captions is not asked"
    )
    assert f"short/{V0}_1: its text shows no captions A and B" in caplog.text


def test_similarity_by_hand(tmp_path: Path) -> None:
    """Two videos. Right and right; right by B, as close as the other, failed: BA 3 of 5, MBA 1 of 2."""
    short = [question(V0, 0), question(V0, 1), question(V1, 0, "B"), question(V1, 1), question(V1, 2)]
    items = items_of(tmp_path, "short", short=short)
    scores = {
        f"{V0}_0": (0.3, 0.1), f"{V0}_1": (-0.1, -0.2), f"{V1}_0": (0.2, 0.4), f"{V1}_1": (0.2, 0.2), f"{V1}_2": None,
    }  # fmt: skip
    read_rows = by_similarity(items, scores)
    found = tb.measures("short_similarity", items, read_rows, LEVEL)
    ba, mba = number(found, "ba"), number(found, "mba")
    assert (ba.value, ba.asked, ba.failed, ba.unparsed) == (60, 5, 1, 0)
    assert (mba.value, mba.asked, mba.failed) == (50, 2, 1)
    authors = tb.measures("short_similarity", items, read_rows, LEVEL, convention="authors")
    assert number(authors, "ba").value == 75
    outcomes = tb.outcomes("short_similarity", items, read_rows)
    assert outcomes["ba"]["right"].to_list() == [True, True, True, False, False]
    assert outcomes["mba"]["right"].to_list() == [True, False]


@pytest.mark.parametrize(
    ("form", "strategy", "ba", "mba"),
    [("short", "oracle", 100, 100), ("short", "A", 50, 0), ("similar", "oracle", 100, 100), ("similar", "alike", 0, 0)],
)
def test_closed_forms_of_sure_answers(tmp_path: Path, form: str, strategy: str, ba: float, mba: float) -> None:
    entries = [question(video(i), place, "AB"[place]) for i in range(20) for place in range(2)]
    items = items_of(tmp_path, "short", short=entries)
    truth = {entry["idx"]: entry["GT"] for entry in entries}
    if form == "short":
        answers = read(
            items, "short", {idx: one if strategy == "oracle" else "A" for idx, one in truth.items()}, "robust"
        )
        found = tb.measures("short", items, answers, LEVEL)
    else:
        sure = {"A": (1.0, 0.0), "B": (0.0, 1.0)} if strategy == "oracle" else dict.fromkeys("AB", (1.0, 1.0))
        answers = by_similarity(items, {idx: sure[one] for idx, one in truth.items()})
        found = tb.measures("short_similarity", items, answers, LEVEL)
    assert (number(found, "ba").value, number(found, "mba").value) == (ba, mba)


@pytest.mark.parametrize(
    ("form", "videos", "mba"),
    [
        ("short", 300, 100 * (1 / 2 + 1 / 4 + 1 / 8 + 1 / 16) / 4),
        ("short_similarity", 400, 100 * (1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 4),
    ],
)
def test_random_answers_reach_the_counted_chance_within_their_interval(
    tmp_path: Path, form: str, videos: int, mba: float
) -> None:
    """The right caption of a video has one similarity, so a video with m questions is all right with 1 / (m + 1)."""
    places = [(i, place) for i in range(videos) for place in range(1 + i % 4)]
    text = QUESTION.format("It does.", "It does not {}.")
    entries = [{**question(video(3 * i), place, "AB"[form == "short" and place % 2]), "question": text.format(place)}
               for i, place in places]  # fmt: skip
    clips, items = tb.annotations(release(tmp_path, entries), "release", {})
    short, draw = items.filter(pl.col("task") == "short"), random.Random(5)
    if form == "short":
        read_rows = frame([verdict(r["item_id"], draw.choice("AB"), r["answer"]) for r in short.iter_rows(named=True)])
    else:
        positive = {name: draw.random() for name in short["clip_id"].unique(maintain_order=True)}
        names = zip(short["item_id"].str.strip_prefix("short/"), short["clip_id"], strict=True)
        read_rows = by_similarity(short, {idx: (positive[clip], draw.random()) for idx, clip in names})
    chance = {metric: value for metric, group, value in tb.statistics(items, clips) if group == "overall"}
    assert chance[f"chance.{form}.mba"] == pytest.approx(mba)
    found = tb.measures(form, short, read_rows, 0.99)
    for metric, expected in (("ba", 50), ("mba", mba)):
        one = number(found, metric)
        assert one.low is not None and one.high is not None and one.low < expected < one.high


# --- tables and the toy release ----------------------------------------------------------------------------------


def test_chance_is_counted_where_the_data_are_here() -> None:
    demo, paper = (Plan(load(Path(), {"suite": name})) for name in ("demo", "paper"))
    shown = [demo.shows_data("temporalbench", demo.table("temporalbench", f"table{n}")) for n in (2, 3, 7)]
    assert shown == [True, False, True]
    assert not demo.shows_data("velociti", demo.table("velociti", "table2"))
    assert not paper.shows_data("temporalbench", paper.table("temporalbench", "table2"))


@pytest.fixture(scope="module")
def toy_release(tmp_path_factory: pytest.TempPathFactory) -> tuple[pl.DataFrame, pl.DataFrame]:
    folder = tmp_path_factory.mktemp("toy")
    toy.write_release(folder)
    return tb.annotations(sorted(folder.iterdir()), "ids", {})


def test_the_toy_release_has_every_category_and_data_set(toy_release: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    clips, items = toy_release
    numbers = {(metric, group): value for metric, group, value in tb.statistics(items, clips)}
    assert numbers["flawed", "overall"] == 0
    assert all(numbers["questions", group] >= 10 for group in (*DATASETS, *CATEGORIES.values()))
    assert {row["group"] for row in ({"group": g} for g in LONG_DATASETS)} <= {
        group for metric, group in numbers if metric == "chance.long.mba"
    }
    assert set(items["task"]) == {"short", "long", "caption", "central"}
    assert set(clips["kind"]) == {"trim", "segment"}


def test_toy_captions_are_true_and_their_negatives_false() -> None:
    """Both clauses of a caption must be deeds of the clip, in their order."""

    def deeds(script: object) -> list[tuple[int, str]]:
        return [(event.slot, toy._clause(event.deed)) for event in script.events]  # type: ignore[attr-defined]

    def is_true(text: str, script: object) -> bool:
        first, second = text.removeprefix("First, ").removesuffix(".").split(". Then, ")
        slots = {clause: slot for slot, clause in deeds(script)}
        return first in slots and second in slots and slots[first] < slots[second]

    dice = toy.Dice(toy.EVALUATION_SEED, 3_000_000)
    for source in toy.evaluation_sources():
        for clip in toy._clips(source, "Oops", dice):
            assert is_true(clip.positive, clip.script)
            assert not any(is_true(negative.text, clip.script) for negative in clip.negatives)
