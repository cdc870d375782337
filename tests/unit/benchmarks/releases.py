"""Write small releases of the four benchmarks in the layout of their authors' files, and build requests about them."""

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from tests.unit.benchmarks.whole import BenchmarkPipeline, write_rows
from tests.unit.rows import PAIR_COLUMNS, QUESTION_COLUMNS, request_table

DEFAULT_PROMPTS = {
    "vinoground": "paper",
    "temporalbench": "released",
    "velociti": "entail",
    "mmbench_video": "unpacked",
}
HALVES = ("pos", "neg")
Entry = dict[str, str]


def build_request_table(benchmark: str, form: str, items: pl.DataFrame, prompt: str = "") -> pl.DataFrame:
    return request_table(
        BenchmarkPipeline(benchmark).requests(items, form, prompt or DEFAULT_PROMPTS[benchmark]), "choose"
    )


def write_json(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path


# --- Vinoground ----------------------------------------------------------------------------------------------------


def pair_row(index: int, major: str = "action", minor: str = "", **changes: str) -> list[str]:
    values = dict(zip(PAIR_COLUMNS, [str(index), major, minor, "aaaaaaaaaaa", "0", "10", f"{index} eats then sleeps",
                                "bbbbbbbbbbb", "5", "12.5", f"{index} sleeps then eats"], strict=True))  # fmt: skip
    return list((values | changes).values())


def pair_entry(idx: str, answer: str, video: str = "", **changes: str) -> Entry:
    video = video or f"vinoground_videos/{idx}.mp4"
    return {"idx": idx, "video_name": video, "question": f"Which? {idx}", "GT": answer} | changes


def vinoground_release(
    folder: Path, rows: Sequence[Sequence[str]], columns: Sequence[str] = PAIR_COLUMNS, **questions: Sequence[Entry]
) -> list[Path]:
    """Write the table and the released questions `text` and `video`; return the files."""
    table = write_rows(folder / "vinoground.csv", columns, *rows)
    return [
        table,
        *(write_json(folder / f"vinoground_{kind}score.json", entries) for kind, entries in questions.items()),
    ]


class VinogroundRelease:
    """A release of `pair_count` pairs; answers A and B are equally frequent."""

    def __init__(self, folder: Path, pair_count: int) -> None:
        majors, minors = ("object", "action", "viewpoint"), ("", "interaction", "cyclical;spatial;", "contextual")
        self.rows = [(str(i), majors[i % 3], minors[i % 4]) for i in range(pair_count)]
        # Each half of a pair, and the position of its answer in the letters: AB for `text`, BA for `video`.
        halves = [(f"{i}_{half}", (i + n) % 2) for i in range(pair_count) for n, half in enumerate(HALVES)]
        self.text, self.video = (
            [pair_entry(idx, letters[position]) for idx, position in halves] for letters in ("AB", "BA")
        )
        rows = [(*row, f"{row[0]} rises", f"{row[0]} falls") for row in self.rows]
        columns = ("index", "major", "minor", "pos_cap", "neg_cap")
        files = vinoground_release(folder, rows, columns, text=self.text, video=self.video)
        self.items = BenchmarkPipeline("vinoground").annotations(files)[1]


# --- TemporalBench -------------------------------------------------------------------------------------------------

# The question format of the authors' README, with placeholders for the captions.
QUESTION = (
    "Which caption best describes this video?\nA. {} \nB. {}\n"
    "Answer with the option's letter from the given choices directly."
)


def clip_name(number: int, dataset: str = "Charades", length: str = "short") -> str:
    return f"{length}_video/{dataset}/EEVD{number // 3}_start_{number}.4_end_{number + 9}.0.mp4"


def caption(name: str, text: str = "A person walks.", question: str = "Describe.") -> Entry:
    return {"idx": name, "video_name": name, "question": question, "GT": text, "dataset": name.split("/")[1]}


def question(name: str, number: int, answer: str = "A", category: str = "Action Type") -> Entry:
    question_text = QUESTION.format(f"It does {number}.", f"It does not {number}.")
    category_field = {"category": category} if name.startswith("short") else {}
    return caption(name, answer, question_text) | {"idx": f"{name}_{number}"} | category_field


def temporalbench_release(
    folder: Path, short: Sequence[Entry] = (), long: Sequence[Entry] = (), captions: Sequence[Entry] = ()
) -> list[Path]:
    """Write the three files; a file without entries gets a default entry."""
    files = [folder / f"temporalbench_{suffix}.json" for suffix in ("short_qa", "long_qa", "short_caption")]
    defaults = question(clip_name(0), 0), question(clip_name(0, "COIN", "long"), 0), caption(clip_name(0))
    entries = zip(files, (short, long, captions), defaults, strict=True)
    return [write_json(path, file_entries or [default]) for path, file_entries, default in entries]


class TemporalBenchRelease:
    """A release with five questions about each short video and two about each long video, `video_count` of each."""

    def __init__(self, folder: Path, video_count: int) -> None:
        datasets, categories = ("Charades", "COIN", "FineGym"), ("Action Order", "Motion Magnitude", "Others")
        self.entries = {
            length: [
                question(clip_name(v, datasets[v % 3], length), q, "AB"[(v + q) % 2], categories[q % 3])
                for v in range(video_count)
                for q in range(count)
            ]
            for length, count in (("short", 5), ("long", 2))
        }
        self.items = BenchmarkPipeline("temporalbench").annotations(temporalbench_release(folder, **self.entries))[1]


# --- VELOCITI ------------------------------------------------------------------------------------------------------

TESTS = ("control", "agent_random", "chrono")
SAMPLE_COLUMNS = ("test_name", "video_id", "event", "pos", "neg")


def velociti_release(
    folder: Path, rows: Sequence[Sequence[str]], columns: Sequence[str] = SAMPLE_COLUMNS
) -> list[Path]:
    return [write_rows(folder / "rows.csv", columns, *rows)]


def read_velociti_samples(folder: Path, samples_per_test: int) -> tuple[pl.DataFrame, list[tuple[str, str, str]]]:
    """Return the items of a release, and the test, video and event of each sample.

    Each test has four samples per video: two per event, or in `chrono` all four about the same pair of events.
    """
    rows = [(test, f"v{n // 4}", '["Ev1", "Ev3"]' if test == "chrono" else f"Ev{n // 2 % 2 + 1}")
            for test in TESTS for n in range(samples_per_test)]  # fmt: skip
    lines = [(*row, f"{n} rises", f"{n} falls") for n, row in enumerate(rows)]
    return BenchmarkPipeline("velociti").annotations(velociti_release(folder, lines))[1], rows


def write_velociti_answers(
    folder: Path, rows: Sequence[tuple[str, ...]], columns: tuple[str, str], answers: Sequence[tuple[str, ...]]
) -> Path:
    """Write a model's answers to VELOCITI, a file for each test, and return their folder."""
    answers_folder = folder / "model"
    answers_folder.mkdir()
    for test in TESTS:
        lines = [(*row, *pair) for row, pair in zip(rows, answers, strict=True) if row[0] == test]
        write_rows(answers_folder / f"{test}.csv", ("test_name", "video_id", "event", *columns), *lines)
    return answers_folder


# --- MMBench-Video -------------------------------------------------------------------------------------------------

# leaf ability -> coarse ability
ABILITIES = {
    "OCR": "fp_s", "Counting": "fp_s", "Hallucination": "hl", "Physical Relation": "rr", "Causal Reasoning": "tr",
}  # fmt: skip


def question_row(index: str, video: str, dimensions: str, question: str = "What?", answer: str = "That.") -> list[str]:
    return [index, video, "News", question, answer, dimensions, f"./video/{video}.mp4"]


def mmbench_release(
    folder: Path, rows: Sequence[Sequence[str]], columns: Sequence[str] = QUESTION_COLUMNS
) -> list[Path]:
    return [write_rows(folder / "MMBench-Video.tsv", columns, *rows)]


def read_mmbench_questions(folder: Path, question_count: int) -> tuple[pl.DataFrame, list[list[str]]]:
    """Return the items of questions `Q0?`, `Q1?`, ..., two about each video, and the leaf abilities of each question."""
    names = list(ABILITIES)
    leaves = [names[i % 5 : i % 5 + 1 + i % 2] for i in range(question_count)]
    rows = [question_row(f"{i}", f"v{i // 2}", repr(leaves[i]), f"Q{i}?", f"truth {i}") for i in range(question_count)]
    return BenchmarkPipeline("mmbench_video").annotations(mmbench_release(folder, rows))[1], leaves
