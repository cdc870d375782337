"""Test that our `authors` metrics equal the authors' scorers on the same answer files, unrounded.

The scorers below are new implementations of the authors' rules in plain Python, without code of the library. The library
imports the same files.
"""

import csv
import json
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.benchmarks.annotations import select_items
from reprise.benchmarks.registry import load_answers
from reprise.external import load_importer, load_rating_importer
from reprise.stages.import_answers import build_responses
from reprise.stages.import_ratings import build_replies
from reprise.stages.judge_requests import collect_answers
from reprise.stages.judgements import extract_judgements
from reprise.stages.verdicts import extract_verdicts

from tests.unit.benchmarks import releases
from tests.unit.benchmarks.whole import BenchmarkPipeline, write_rows

EXTRACTION_RULES = {"vinoground": "first_character", "temporalbench": "first_character", "velociti": "plain"}
Scores = dict[tuple[str, str], float | None]
ABSENT = object()
"""a response that is not in the file"""


def compute_own_scores(benchmark: str, form: str, items: pl.DataFrame, folder: Path, prompt: str = "") -> Scores:
    """Return the library's numbers for the files in a folder, by the authors' convention and extractor."""
    requests = releases.build_request_table(benchmark, form, items, prompt)
    importer = load_importer(benchmark).FORMS[form]
    imported = importer.read(importer.find(folder, None), items, requests)
    verdicts = extract_verdicts(
        requests, build_responses(requests, imported, 0, "key"), "authors", EXTRACTION_RULES[benchmark]
    )
    return compute_scores(benchmark, form, items, verdicts)


def compute_scores(benchmark: str, form: str, items: pl.DataFrame, verdicts: pl.DataFrame) -> Scores:
    measures = BenchmarkPipeline(benchmark).numbers(form, items, verdicts, "authors")
    return {key: measure.value for key, measure in measures.items()}


def assert_equal(found: Scores, expected: Mapping[tuple[str, str], float | None]) -> None:
    assert expected, "the scorer has numbers"
    for place, value in expected.items():
        assert found[place] == (None if value is None else pytest.approx(value, abs=1e-9, rel=0)), place


def write_jsonl(path: Path, answers: Sequence[tuple[str, object]]) -> None:
    lines = [json.dumps({"idx": idx, "response": response}) for idx, response in answers if response is not ABSENT]
    path.write_text("".join(f"{line}\n" for line in lines))


# --- Vinoground ----------------------------------------------------------------------------------------------------


def vinoground_scorer(pairs: releases.VinogroundRelease, folder: Path) -> Scores:
    """Score each pair by two look-ups for the text score, then two for the video score; an error ends the pair."""
    responses: dict[str, dict[str, Any]] = {}
    for kind in ("textscore", "videoscore"):
        lines = (folder / f"{kind}-response.jsonl").read_text().splitlines()
        responses[kind] = {
            entry["idx"]: entry["response"] for entry in map(json.loads, lines)
        }  # the last response counts

    def is_correct(kind: str, entry: Mapping[str, str]) -> bool:
        answer = responses[kind][entry["idx"]][0]
        return bool(answer[:1].lower() == entry["GT"].lower())

    total, correct = Counter[str](), Counter[tuple[str, str]]()
    for i, (_, major, minor) in enumerate(pairs.rows):
        categories = ["all", major, *(name for name in minor.split(";") if name)]
        total.update(categories)
        earned = []
        try:
            for score, kind, entries in (("text", "textscore", pairs.text), ("video", "videoscore", pairs.video)):
                if is_correct(kind, entries[2 * i]) and is_correct(kind, entries[2 * i + 1]):
                    earned.append(score)
        except (LookupError, TypeError, AttributeError):
            pass  # the pair keeps the points that it has earned
        else:
            earned += ["group"] if len(earned) == 2 else []
        correct.update(product(earned, categories))
    return {(score, c): 100 * correct[score, c] / total[c] for score in ("text", "video", "group") for c in total}


def score_vinoground(folder: Path, text: Sequence[object], video: Sequence[object]) -> tuple[Scores, Scores]:
    """Return our numbers and the scorer's; responses are in the order of the questions, repeated ones at the end."""
    pairs = releases.VinogroundRelease(folder, len(text) // 2)
    for kind, entries, responses in (("textscore", pairs.text, text), ("videoscore", pairs.video, video)):
        ids = [entry["idx"] for entry in entries]
        first = [
            (idx, response[0] if isinstance(response, tuple) else response)
            for idx, response in zip(ids, responses, strict=True)
        ]
        repeated = [
            (idx, response[1]) for idx, response in zip(ids, responses, strict=True) if isinstance(response, tuple)
        ]
        write_jsonl(folder / f"{kind}-response.jsonl", [*first, *repeated])
    return compute_own_scores("vinoground", "questions", pairs.items, folder), vinoground_scorer(pairs, folder)


@pytest.mark.parametrize(("text", "video", "expected"), [
    (("A", "B"), ("B", "A"), (100, 100, 100)),
    (("Answer: B", "B"), ("B", "A"), (100, 100, 100)),  # the first character is A
    (("(A)", "B"), ("B", "A"), (0, 100, 0)),
    ((["A"], ["B"]), (["B and more"], "A"), (100, 100, 100)),
    (("A", ABSENT), ("B", "A"), (0, 0, 0)),  # without a text answer, the pair loses its video score too
    (("B", ABSENT), ("B", "A"), (0, 100, 0)),  # the scorer skips the second answer after a wrong first one
    (("A", "B"), ("B", ABSENT), (100, 0, 0)),  # without a video answer, the pair keeps its text score
    (("", "B"), ("B", "A"), (0, 0, 0)),  # an empty answer counts as absent
    (([""], "B"), ("B", "A"), (0, 100, 0)),  # a list with an empty text is wrong
    (({"A": 1}, "B"), ("B", "A"), (0, 0, 0)),
    ((("B", "A"), "B"), ("B", "A"), (100, 100, 100)),  # of two lines for one question, the last counts
    (((None, "A"), "B"), ("B", "A"), (100, 100, 100)),
])  # fmt: skip
def test_vinoground_by_hand(
    tmp_path: Path, text: tuple[object, ...], video: tuple[object, ...], expected: tuple[float, float, float]
) -> None:
    scores, scorer = score_vinoground(tmp_path, text, video)
    assert_equal(scores, scorer)
    assert [scores[score, "all"] for score in ("text", "video", "group")] == list(map(float, expected))


UNUSUAL_RESPONSES: tuple[object, ...] = (
    "", "A person eats", "Answer: B", "(B)", "The second", " A", "**B**", [""], [], ["A"], ["B"], ["(A)"], ["A", "B"],
    None, 3, True, {"text": "A"}, [None], ABSENT, ABSENT,
)  # fmt: skip


def draw_responses(
    random_generator: random.Random, truths: Sequence[str], unusual_responses: Sequence[object]
) -> list[object]:
    """Return mostly correct responses, some wrong ones, and some unusual ones."""
    flip = {"A": "B", "B": "A"}
    makers = [
        lambda truth: truth,
        lambda truth: truth.lower() + " is it",
        lambda truth: flip[truth],
        lambda _: random_generator.choice(unusual_responses),
    ]
    return [random_generator.choices(makers, (6, 2, 1, 2))[0](truth) for truth in truths]


@pytest.mark.parametrize("seed", range(12))
def test_vinoground_on_random_mixtures(tmp_path: Path, seed: int) -> None:
    random_generator = random.Random(seed)
    pairs = releases.VinogroundRelease(tmp_path, 12)
    text, video = (
        draw_responses(random_generator, [entry["GT"] for entry in entries], UNUSUAL_RESPONSES)
        for entries in (pairs.text, pairs.video)
    )
    scores, scorer = score_vinoground(tmp_path, text, video)
    assert_equal(scores, scorer)


# --- TemporalBench -------------------------------------------------------------------------------------------------


def temporalbench_scorer(entries: Sequence[Mapping[str, str]], path: Path) -> Scores:
    """Score every line; a video is correct if none of its lines is wrong; absent responses do not count."""
    questions = {entry["idx"]: entry for entry in entries}
    answers_by_group: dict[str, list[tuple[str, bool]]] = {}
    for line in path.read_text().splitlines():
        answer = json.loads(line)
        question = questions[answer["idx"]]
        is_correct = question["GT"].lower() == answer["response"][0].lower()
        for group in ("overall", question["dataset"].lower(), question.get("category", "").lower().replace(" ", "_")):
            answers_by_group.setdefault(group, []).append((question["video_name"], is_correct))
    scores: Scores = {}
    for group, answers in answers_by_group.items():
        if group:
            correct_by_video: dict[str, bool] = {}
            for video, is_correct in answers:
                correct_by_video[video] = correct_by_video.get(video, True) and is_correct
            scores["ba", group] = 100 * sum(is_correct for _, is_correct in answers) / len(answers)
            scores["mba", group] = 100 * sum(correct_by_video.values()) / len(correct_by_video)
    return scores


def score_temporalbench(
    folder: Path, form: str, responses: Sequence[object], video_count: int
) -> tuple[Scores, Scores]:
    questions = releases.TemporalBenchRelease(folder, video_count)
    entries = questions.entries[form]
    path = folder / f"temporalbench_{form}_qa" / "model-frame8.jsonl"
    path.parent.mkdir()
    write_jsonl(path, [(entry["idx"], response) for entry, response in zip(entries, responses, strict=True)])
    items = select_items(questions.items, form)
    return compute_own_scores("temporalbench", form, items, folder), temporalbench_scorer(entries, path)


@pytest.mark.parametrize(
    ("response", "error", "ba"), [("", IndexError, 80), (None, TypeError, 100), ([], IndexError, 100)]
)
def test_temporalbench_counts_answers_on_which_the_authors_script_fails(
    tmp_path: Path, response: object, error: type[Exception], ba: float
) -> None:
    """Here an empty answer is wrong, and a value that is not a text counts as an absent answer."""
    answers = [response, "B", "A", "B", "A"]
    with pytest.raises(error):
        score_temporalbench(tmp_path, "short", answers, 1)
    questions = BenchmarkPipeline("temporalbench").annotations(sorted(tmp_path.glob("*.json")))[1]
    scores = compute_own_scores("temporalbench", "short", select_items(questions, "short"), tmp_path)
    assert scores["ba", "overall"] == ba


@pytest.mark.parametrize("form", ["short", "long"])
@pytest.mark.parametrize("seed", range(6))
def test_temporalbench_on_random_mixtures(tmp_path: Path, form: str, seed: int) -> None:
    random_generator = random.Random(seed)
    unusual_responses = [text for text in UNUSUAL_RESPONSES if isinstance(text, str) and text] + [
        ["A"],
        ["(B)"],
        ["A man"],
        [""],
        ABSENT,
        ABSENT,
    ]
    truths = [entry["GT"] for entry in releases.TemporalBenchRelease(tmp_path, 9).entries[form]]
    assert_equal(*score_temporalbench(tmp_path, form, draw_responses(random_generator, truths, unusual_responses), 9))


# --- VELOCITI ------------------------------------------------------------------------------------------------------


def read_csv(path: Path, columns: tuple[str, str]) -> list[tuple[str, str]]:
    with path.open(newline="") as stream:
        return [(row[columns[0]], row[columns[1]]) for row in csv.DictReader(stream)]


def compute_percent(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


def velociti_scorer(columns: tuple[str, str], folder: Path) -> Scores:
    """Score one folder of answers.

    Of scores, every row counts, and a blank is neither above nor below 0.5. Of texts, a row counts if both answers are
    exactly Yes or No, or begin with a bare A or B.
    """
    scores: Scores = {}
    for test in releases.TESTS:
        rows = read_csv(folder / f"{test}.csv", columns)
        if columns == ("gt_A", "gt_B"):
            pairs = [pair for pair in ((a.split()[0], b.split()[0]) for a, b in rows) if set(pair) <= {"A", "B"}]
            for metric, correct_pair in (("mc_a", ("A", None)), ("mc_b", (None, "B")), ("mc_both", ("A", "B"))):
                earned = sum(
                    all(letter in (None, answer) for letter, answer in zip(correct_pair, pair, strict=True))
                    for pair in pairs
                )
                scores[metric, test] = compute_percent(earned, len(pairs))
            continue
        if columns == ("pos_score", "neg_score"):
            numbers = [(float(pos or "nan"), float(neg or "nan")) for pos, neg in rows]
            scores["classic", test] = compute_percent(sum(pos > neg for pos, neg in numbers), len(numbers))
            is_correct_by_row = [(pos > 0.5, neg < 0.5) for pos, neg in numbers]
        else:
            is_correct_by_row = [(pos == "Yes", neg == "No") for pos, neg in rows if {pos, neg} <= {"Yes", "No"}]
        positive, strict = sum(pos for pos, _ in is_correct_by_row), sum(pos and neg for pos, neg in is_correct_by_row)
        scores["strict", test] = compute_percent(strict, len(is_correct_by_row))
        scores["positive", test], scores["negative", test] = (
            compute_percent(positive, len(is_correct_by_row)),
            compute_percent(strict, positive),
        )
    return scores


# Kind of file -> form, prompt, columns, unusual answers, plain answers.
VELOCITI_FILES: dict[str, tuple[str, str, tuple[str, str], tuple[str, ...], tuple[str, ...]]] = {
    "scores": ("entail", "", ("pos_score", "neg_score"),
               ("0.9", "0.51", "0.5", "0.49999999", "1e-9", "0.1", "1.0", "0.0", ""), ("0.7", "0.2")),
    "predictions": ("entail", "", ("pos_pred", "neg_pred"),
                    ("Yes", "No", "error", "blocked", "Yes.", "no", "Not sure", ""), ("Yes", "No")),
    "choices": ("mc", "mc", ("gt_A", "gt_B"),
                ("A", "B", "A)", "A.", "(B)", "Answer: B", "A person eats", " B", "neither", "C"), ("A", "B")),
}  # fmt: skip


@pytest.mark.parametrize("kind", VELOCITI_FILES)
@pytest.mark.parametrize("seed", range(6))
def test_velociti_on_random_mixtures(tmp_path: Path, kind: str, seed: int) -> None:
    form, prompt, columns, unusual_responses, plain_responses = VELOCITI_FILES[kind]
    random_generator = random.Random(seed)
    items, rows = releases.read_velociti_samples(tmp_path, 16)
    answers = [
        tuple(
            random_generator.choice(unusual_responses if random_generator.random() < 0.4 else plain_responses)
            for _ in range(2)
        )
        for _ in rows
    ]
    answers_folder = releases.write_velociti_answers(tmp_path, rows, columns, answers)
    assert_equal(
        compute_own_scores("velociti", form, items, answers_folder, prompt), velociti_scorer(columns, answers_folder)
    )


# --- MMBench-Video -------------------------------------------------------------------------------------------------

HALF_BY_ABILITY = {"fp_s": "perception", "hl": "perception", "rr": "reasoning", "tr": "reasoning"}


def mmbench_scorer(leaves: Sequence[Sequence[str]], replies: Sequence[str]) -> Scores:
    """Rate a reply that is not a bare whole number as -1: 0 in ALL, and excluded from VALID."""
    replied_ratings = [
        int(reply) if reply.isdecimal() and (reply == "0" or reply[0] != "0") else -1 for reply in replies
    ]
    ratings_by_group: dict[str, list[int]] = {}
    for names, rating in zip(leaves, replied_ratings, strict=True):
        coarse = {releases.ABILITIES[name] for name in names}
        for group in (*coarse, *{HALF_BY_ABILITY[ability] for ability in coarse}, "overall"):
            ratings_by_group.setdefault(group, []).append(rating)
    scores: Scores = {}
    for group, group_ratings in ratings_by_group.items():
        valid = [rating for rating in group_ratings if rating >= 0]
        scores["mean", group] = math.fsum(valid) / len(group_ratings)
        scores["valid", group] = math.fsum(valid) / len(valid) if valid else None
    return scores


@pytest.mark.parametrize("form", ["unpacked", "packed"])
@pytest.mark.parametrize("seed", range(6))
def test_mmbench_video_on_random_mixtures(tmp_path: Path, form: str, seed: int) -> None:
    """Predictions and a judge's replies are both imported; a blank prediction has no rating."""
    random_generator = random.Random(seed)
    items, leaves = releases.read_mmbench_questions(tmp_path, 14)
    failure_text = "Failed to obtain answer via API."
    predictions = [
        random_generator.choice(["an answer", "truth", "5", failure_text if form == "unpacked" else "", ""])
        for _ in leaves
    ]
    replies = [
        random_generator.choice(["0", "1", "2", "3", "3", "5", "-1", "3.", "Score: 3", "two", "", "03"]) for _ in leaves
    ]
    replies = [reply if text else "-1" for reply, text in zip(replies, predictions, strict=True)]
    folder = tmp_path / "model"
    folder.mkdir()
    write_rows(folder / "model.tsv", ("index", "prediction"), *enumerate(predictions))
    write_rows(folder / "model_judge_score.tsv", ("index", "score"), *enumerate(replies))
    requests = releases.build_request_table("mmbench_video", form, items, form)
    importer, rating_importer = load_importer("mmbench_video").FORMS[form], load_rating_importer("mmbench_video")
    assert rating_importer is not None
    imported = importer.read(importer.find(folder, None), items, requests)
    table = build_responses(requests, imported, 0, "key")
    answers = collect_answers(load_answers("mmbench_video")[form], items, requests, table, "key")
    judged = build_replies(
        answers, rating_importer.read_ratings(rating_importer.find_rating_files(folder), items), "judge"
    )
    scores = compute_scores("mmbench_video", form, items, extract_judgements(answers, judged, "authors", "judge"))
    assert_equal(scores, mmbench_scorer(leaves, replies))
