"""On the same answer files, our `authors` metrics equal the authors' scorers, unrounded.

The scorers are written here anew, from their rules, in plain Python and without a line of the library. The library's
numbers come through the import of the files.
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

from tests.unit.benchmarks import releases as r
from tests.unit.benchmarks.whole import Whole, write_rows

READING = {"vinoground": "first_character", "temporalbench": "first_character", "velociti": "plain"}
Scores = dict[tuple[str, str], float | None]
ABSENT = object()
"""a response that the file does not have"""


def ours(benchmark: str, form: str, items: pl.DataFrame, folder: Path, prompt: str = "") -> Scores:
    """The pipeline's numbers of the files in a folder, by the authors' convention and extractor."""
    requests = r.requests_of(benchmark, form, items, prompt)
    files = load_importer(benchmark).FORMS[form]
    imported = files.read(files.find(folder, None), items, requests)
    read = extract_verdicts(requests, build_responses(requests, imported, 0, "key"), "authors", READING[benchmark])
    return scores(benchmark, form, items, read)


def scores(benchmark: str, form: str, items: pl.DataFrame, read: pl.DataFrame) -> Scores:
    found = Whole(benchmark).numbers(form, items, read, "authors")
    return {place: one.value for place, one in found.items()}


def assert_equal(found: Scores, expected: Mapping[tuple[str, str], float | None]) -> None:
    assert expected, "the scorer has numbers"
    for place, value in expected.items():
        assert found[place] == (None if value is None else pytest.approx(value, abs=1e-9, rel=0)), place


def write_jsonl(path: Path, answers: Sequence[tuple[str, object]]) -> None:
    lines = [json.dumps({"idx": idx, "response": response}) for idx, response in answers if response is not ABSENT]
    path.write_text("".join(f"{line}\n" for line in lines))


# --- Vinoground ----------------------------------------------------------------------------------------------------


def vinoground_scorer(pairs: r.Pairs, folder: Path) -> Scores:
    """Pair by pair: two look-ups for the text score, then two for the video score; any error ends the pair there."""
    said: dict[str, dict[str, Any]] = {}
    for kind in ("textscore", "videoscore"):
        lines = (folder / f"{kind}-response.jsonl").read_text().splitlines()
        said[kind] = {entry["idx"]: entry["response"] for entry in map(json.loads, lines)}  # the last one stays

    def is_right(kind: str, entry: Mapping[str, str]) -> bool:
        answer = said[kind][entry["idx"]][0]
        return bool(answer[:1].lower() == entry["GT"].lower())

    total, right = Counter[str](), Counter[tuple[str, str]]()
    for i, (_, major, minor) in enumerate(pairs.rows):
        categories = ["all", major, *(name for name in minor.split(";") if name)]
        total.update(categories)
        won = []
        try:
            for score, kind, entries in (("text", "textscore", pairs.text), ("video", "videoscore", pairs.video)):
                if is_right(kind, entries[2 * i]) and is_right(kind, entries[2 * i + 1]):
                    won.append(score)
        except (LookupError, TypeError, AttributeError):
            pass  # its points so far stay, the rest of the pair is lost
        else:
            won += ["group"] if len(won) == 2 else []
        right.update(product(won, categories))
    return {(score, c): 100 * right[score, c] / total[c] for score in ("text", "video", "group") for c in total}


def vinoground_both(folder: Path, text: Sequence[object], video: Sequence[object]) -> tuple[Scores, Scores]:
    """Ours and the scorer's numbers of responses in the order of the questions; repeats go to the end of the file."""
    pairs = r.Pairs(folder, len(text) // 2)
    for kind, entries, said in (("textscore", pairs.text, text), ("videoscore", pairs.video, video)):
        idx = [entry["idx"] for entry in entries]
        first = [(one, a[0] if isinstance(a, tuple) else a) for one, a in zip(idx, said, strict=True)]
        again = [(one, a[1]) for one, a in zip(idx, said, strict=True) if isinstance(a, tuple)]
        write_jsonl(folder / f"{kind}-response.jsonl", [*first, *again])
    return ours("vinoground", "questions", pairs.items, folder), vinoground_scorer(pairs, folder)


@pytest.mark.parametrize(("text", "video", "expected"), [
    (("A", "B"), ("B", "A"), (100, 100, 100)),
    (("Answer: B", "B"), ("B", "A"), (100, 100, 100)),  # starts with A
    (("(A)", "B"), ("B", "A"), (0, 100, 0)),
    ((["A"], ["B"]), (["B and more"], "A"), (100, 100, 100)),
    (("A", ABSENT), ("B", "A"), (0, 0, 0)),  # a lacking text answer takes the video score with it
    (("B", ABSENT), ("B", "A"), (0, 100, 0)),  # the second is not looked up after a wrong first one
    (("A", "B"), ("B", ABSENT), (100, 0, 0)),  # but not the other way round
    (("", "B"), ("B", "A"), (0, 0, 0)),  # empty is lacking
    (([""], "B"), ("B", "A"), (0, 100, 0)),  # a list with an empty text is wrong
    (({"A": 1}, "B"), ("B", "A"), (0, 0, 0)),
    ((("B", "A"), "B"), ("B", "A"), (100, 100, 100)),  # two lines for one question: the last one counts
    (((None, "A"), "B"), ("B", "A"), (100, 100, 100)),
])  # fmt: skip
def test_vinoground_by_hand(
    tmp_path: Path, text: tuple[object, ...], video: tuple[object, ...], expected: tuple[float, float, float]
) -> None:
    found, scorer = vinoground_both(tmp_path, text, video)
    assert_equal(found, scorer)
    assert [found[score, "all"] for score in ("text", "video", "group")] == list(map(float, expected))


ODD: tuple[object, ...] = (
    "", "A person eats", "Answer: B", "(B)", "The second", " A", "**B**", [""], [], ["A"], ["B"], ["(A)"], ["A", "B"],
    None, 3, True, {"text": "A"}, [None], ABSENT, ABSENT,
)  # fmt: skip


def mixture(draw: random.Random, truths: Sequence[str], odd: Sequence[object]) -> list[object]:
    """Mostly right answers, some wrong ones, some odd ones."""
    flip = {"A": "B", "B": "A"}
    choices = [lambda t: t, lambda t: t.lower() + " is it", lambda t: flip[t], lambda _: draw.choice(odd)]
    return [draw.choices(choices, (6, 2, 1, 2))[0](truth) for truth in truths]


@pytest.mark.parametrize("seed", range(12))
def test_vinoground_on_random_mixtures(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    pairs = r.Pairs(tmp_path, 12)
    text, video = (mixture(draw, [e["GT"] for e in entries], ODD) for entries in (pairs.text, pairs.video))
    found, scorer = vinoground_both(tmp_path, text, video)
    assert_equal(found, scorer)


# --- TemporalBench -------------------------------------------------------------------------------------------------


def temporalbench_scorer(entries: Sequence[Mapping[str, str]], path: Path) -> Scores:
    """Every line counts; a video is right if none of its lines is wrong; what is not there does not count."""
    questions = {entry["idx"]: entry for entry in entries}
    found: dict[str, list[tuple[str, bool]]] = {}
    for line in path.read_text().splitlines():
        answer = json.loads(line)
        question = questions[answer["idx"]]
        is_right = question["GT"].lower() == answer["response"][0].lower()
        for group in ("overall", question["dataset"].lower(), question.get("category", "").lower().replace(" ", "_")):
            found.setdefault(group, []).append((question["video_name"], is_right))
    scores: Scores = {}
    for group, answers in found.items():
        if group:
            videos = {video: all(right for one, right in answers if one == video) for video, _ in answers}
            scores["ba", group] = 100 * sum(right for _, right in answers) / len(answers)
            scores["mba", group] = 100 * sum(videos.values()) / len(videos)
    return scores


def temporalbench_both(folder: Path, form: str, said: Sequence[object], videos: int) -> tuple[Scores, Scores]:
    questions = r.Questions(folder, videos)
    entries = questions.entries[form]
    path = folder / f"temporalbench_{form}_qa" / "model-frame8.jsonl"
    path.parent.mkdir()
    write_jsonl(path, [(entry["idx"], one) for entry, one in zip(entries, said, strict=True)])
    items = select_items(questions.items, form)
    return ours("temporalbench", form, items, folder), temporalbench_scorer(entries, path)


@pytest.mark.parametrize(("said", "error", "ba"), [("", IndexError, 80), (None, TypeError, 100), ([], IndexError, 100)])
def test_temporalbench_if_the_authors_script_fails(
    tmp_path: Path, said: object, error: type[Exception], ba: float
) -> None:
    """An empty answer is wrong here; what is no text at all counts like an answer that is not there."""
    answers = [said, "B", "A", "B", "A"]
    with pytest.raises(error):
        temporalbench_both(tmp_path, "short", answers, 1)
    questions = Whole("temporalbench").annotations(sorted(tmp_path.glob("*.json")))[1]
    found = ours("temporalbench", "short", select_items(questions, "short"), tmp_path)
    assert found["ba", "overall"] == ba


@pytest.mark.parametrize("form", ["short", "long"])
@pytest.mark.parametrize("seed", range(6))
def test_temporalbench_on_random_mixtures(tmp_path: Path, form: str, seed: int) -> None:
    draw = random.Random(seed)
    odd = [one for one in ODD if isinstance(one, str) and one] + [["A"], ["(B)"], ["A man"], [""], ABSENT, ABSENT]
    truths = [entry["GT"] for entry in r.Questions(tmp_path, 9).entries[form]]
    assert_equal(*temporalbench_both(tmp_path, form, mixture(draw, truths, odd), 9))


# --- VELOCITI ------------------------------------------------------------------------------------------------------


def read_csv(path: Path, columns: tuple[str, str]) -> list[tuple[str, str]]:
    with path.open(newline="") as stream:
        return [(row[columns[0]], row[columns[1]]) for row in csv.DictReader(stream)]


def percent(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


def velociti_scorer(columns: tuple[str, str], folder: Path) -> Scores:
    """Of scores every row counts, and a blank is neither above nor below anything.

    Of words those rows count whose two answers are Yes or No to the letter, or begin with a bare A or B.
    """
    found: Scores = {}
    for test in r.TESTS:
        rows = read_csv(folder / f"{test}.csv", columns)
        if columns == ("gt_A", "gt_B"):
            pairs = [pair for pair in ((a.split()[0], b.split()[0]) for a, b in rows) if set(pair) <= {"A", "B"}]
            for metric, right in (("mc_a", ("A", None)), ("mc_b", (None, "B")), ("mc_both", ("A", "B"))):
                won = sum(all(want in (None, one) for want, one in zip(right, pair, strict=True)) for pair in pairs)
                found[metric, test] = percent(won, len(pairs))
            continue
        if columns == ("pos_score", "neg_score"):
            numbers = [(float(pos or "nan"), float(neg or "nan")) for pos, neg in rows]
            found["classic", test] = percent(sum(pos > neg for pos, neg in numbers), len(numbers))
            said = [(pos > 0.5, neg < 0.5) for pos, neg in numbers]
        else:
            said = [(pos == "Yes", neg == "No") for pos, neg in rows if {pos, neg} <= {"Yes", "No"}]
        yes, strict = sum(pos for pos, _ in said), sum(pos and neg for pos, neg in said)
        found["strict", test] = percent(strict, len(said))
        found["positive", test], found["negative", test] = percent(yes, len(said)), percent(strict, yes)
    return found


# Kind -> form, prompt, columns, odd answers and plain ones.
KINDS: dict[str, tuple[str, str, tuple[str, str], tuple[str, ...], tuple[str, ...]]] = {
    "scores": ("entail", "", ("pos_score", "neg_score"),
               ("0.9", "0.51", "0.5", "0.49999999", "1e-9", "0.1", "1.0", "0.0", ""), ("0.7", "0.2")),
    "predictions": ("entail", "", ("pos_pred", "neg_pred"),
                    ("Yes", "No", "error", "blocked", "Yes.", "no", "Not sure", ""), ("Yes", "No")),
    "choices": ("mc", "mc", ("gt_A", "gt_B"),
                ("A", "B", "A)", "A.", "(B)", "Answer: B", "A person eats", " B", "neither", "C"), ("A", "B")),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_velociti_on_random_mixtures(tmp_path: Path, kind: str, seed: int) -> None:
    form, prompt, columns, odd, plain = KINDS[kind]
    draw = random.Random(seed)
    items, rows = r.samples(tmp_path, 16)
    said = [tuple(draw.choice(odd if draw.random() < 0.4 else plain) for _ in range(2)) for _ in rows]
    made = r.write_csvs(tmp_path, rows, columns, said)
    assert_equal(ours("velociti", form, items, made, prompt), velociti_scorer(columns, made))


# --- MMBench-Video -------------------------------------------------------------------------------------------------

HALF = {"fp_s": "perception", "hl": "perception", "rr": "reasoning", "tr": "reasoning"}


def mmbench_scorer(leaves: Sequence[Sequence[str]], replies: Sequence[str]) -> Scores:
    """A reply that is no bare whole number is -1: nothing in ALL, left out of VALID."""
    rated = [int(reply) if reply.isdecimal() and (reply == "0" or reply[0] != "0") else -1 for reply in replies]
    by_group: dict[str, list[int]] = {}
    for names, rating in zip(leaves, rated, strict=True):
        coarse = {r.ABILITIES[name] for name in names}
        for group in (*coarse, *{HALF[one] for one in coarse}, "overall"):
            by_group.setdefault(group, []).append(rating)
    found: Scores = {}
    for group, ratings in by_group.items():
        valid = [rating for rating in ratings if rating >= 0]
        found["mean", group] = math.fsum(valid) / len(ratings)
        found["valid", group] = math.fsum(valid) / len(valid) if valid else None
    return found


@pytest.mark.parametrize("form", ["unpacked", "packed"])
@pytest.mark.parametrize("seed", range(6))
def test_mmbench_video_on_random_mixtures(tmp_path: Path, form: str, seed: int) -> None:
    """Predictions and a judge's replies to them, both imported; a blank prediction was never rated."""
    draw = random.Random(seed)
    items, leaves = r.free_questions(tmp_path, 14)
    failed = "Failed to obtain answer via API."
    said = [draw.choice(["an answer", "truth", "5", failed if form == "unpacked" else "", ""]) for _ in leaves]
    rated = [draw.choice(["0", "1", "2", "3", "3", "5", "-1", "3.", "Score: 3", "two", "", "03"]) for _ in leaves]
    rated = [reply if text else "-1" for reply, text in zip(rated, said, strict=True)]
    folder = tmp_path / "model"
    folder.mkdir()
    write_rows(folder / "model.tsv", ("index", "prediction"), *enumerate(said))
    write_rows(folder / "model_judge_score.tsv", ("index", "score"), *enumerate(rated))
    requests = r.requests_of("mmbench_video", form, items, form)
    files, ratings = load_importer("mmbench_video").FORMS[form], load_rating_importer("mmbench_video")
    assert ratings is not None
    imported = files.read(files.find(folder, None), items, requests)
    table = build_responses(requests, imported, 0, "key")
    answers = collect_answers(load_answers("mmbench_video")[form], items, requests, table, "key")
    judged = build_replies(answers, ratings.read_ratings(ratings.find_rating_files(folder), items), "judge")
    found = scores("mmbench_video", form, items, extract_judgements(answers, judged, "authors", "judge"))
    assert_equal(found, mmbench_scorer(leaves, rated))
