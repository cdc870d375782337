"""Generate releases at the papers' full item counts in the authors' layouts, and answers in many models' styles."""

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from zlib import crc32

import polars as pl
from reprise.benchmarks.mmbench_video import release as mmbench_video
from reprise.benchmarks.mmbench_video.taxonomy import L2_BY_LEAF
from reprise.benchmarks.temporalbench import taxonomy as temporalbench
from reprise.benchmarks.velociti import release as velociti
from reprise.benchmarks.vinoground import release as vinoground
from reprise.benchmarks.vinoground.taxonomy import MAJOR_CATEGORIES, MINOR_CATEGORIES
from reprise.core.schemas import RESPONSES

from bench.words import WORDS, sentence

# Videos and samples of each test, from Table 11 of VELOCITI.
VELOCITI = {
    "control": (850, 2635),
    "agent_random": (588, 873),
    "agent_bind": (615, 1459),
    "coref": (183, 339),
    "action_adv": (355, 438),
    "action_manner": (378, 458),
    "action_bind": (540, 1356),
    "chrono": (521, 1234),
}
VINOGROUND_PAIRS = 500
# Videos by data set, from Table 1 of TemporalBench, and the numbers of questions in its release.
TEMPORALBENCH = {
    "activitynet": 281,
    "egoexo4d": 307,
    "charades": 298,
    "movie_description": 326,
    "oops": 294,
    "coin": 385,
    "finegym": 288,
}
SHORT_QUESTIONS, LONG_QUESTIONS, LONG_VIDEOS = 9_867, 1_574, 400
MMBENCH_VIDEOS, MMBENCH_QUESTIONS = 609, 1_998


def edited(random: Random, caption: str) -> str:
    """Return the caption with one word replaced, as a negative caption."""
    words = caption.split()
    words[random.randrange(len(words) - 1)] = random.choice(WORDS)
    return " ".join(words)


# --- releases --------------------------------------------------------------------------------------------------------


def velociti_release(folder: Path) -> list[Path]:
    """Write a release of VELOCITI, and return its files."""
    random = Random(1)  # noqa: S311
    videos = [f"v_{number:011d}_seg_0_10" for number in range(900)]
    rows = []
    for test, (videos_of_test, samples) in VELOCITI.items():
        for sample in range(samples):
            caption = sentence(random, 14)
            video = videos[sample % videos_of_test]
            rows.append((test, video, f"Ev{1 + sample % 5}", caption, edited(random, caption)))
    return [_csv(folder / "velociti.csv", velociti.COLUMNS, rows)]


def vinoground_release(folder: Path) -> list[Path]:
    """Write a release of Vinoground, and return its files."""
    random = Random(2)  # noqa: S311
    rows = []
    for index in range(VINOGROUND_PAIRS):
        caption = sentence(random, 9)
        minor = MINOR_CATEGORIES[index % 4] if index % 3 else ""
        rows.append((index, MAJOR_CATEGORIES[index % 3], minor, caption, edited(random, caption)))
    return [_csv(folder / "vinoground.csv", vinoground.PAIR_FIELDS, rows)]


def temporalbench_release(folder: Path) -> list[Path]:
    """Write a release of TemporalBench, and return its files."""
    random = Random(3)  # noqa: S311
    videos = [(dataset, number) for dataset, count in TEMPORALBENCH.items() for number in range(count)]
    captions = {video: sentence(random, 42) for video in videos}
    short_questions = []
    for number in range(SHORT_QUESTIONS):
        video = videos[number % len(videos)]
        dataset, _ = video
        short_questions.append(_question(f"{number}", _short(*video), dataset, captions[video], random))
    long_datasets = temporalbench.LONG_DATASETS
    long_questions = []
    for number in range(LONG_QUESTIONS):
        dataset = long_datasets[number % LONG_VIDEOS % len(long_datasets)]
        name = f"long_video/{dataset}/{number % LONG_VIDEOS}.mp4"
        long_questions.append(_question(f"{number}", name, dataset, sentence(random, 160), random))
    prompt = "Describe the video in detail."
    captioning = [
        {"idx": f"{number}", "video_name": _short(*video), "question": prompt, "GT": captions[video]}
        for number, video in enumerate(videos)
    ]
    files = {"short_qa": short_questions, "long_qa": long_questions, "short_caption": captioning}
    paths = []
    for name, questions in files.items():
        paths.append(folder / f"temporalbench_{name}.json")
        paths[-1].write_text(json.dumps(questions), encoding="utf-8")
    return paths


def _short(dataset: str, number: int) -> str:
    """Return the file name of a short video."""
    return f"short_video/{dataset}/source{number}_start_1.0_end_9.0.mp4"


def _question(idx: str, video: str, dataset: str, caption: str, random: Random) -> dict[str, str]:
    """Return a question of TemporalBench with a caption and an edited one, in random order."""
    options = [caption, edited(random, caption)]
    random.shuffle(options)
    return {
        "idx": idx,
        "video_name": video,
        "question": f"Which caption best describes this video?\nA. {options[0]}\nB. {options[1]}\n"
        "Answer with the option's letter from the given choices directly.",
        "GT": "AB"[options.index(caption)],
        "source_dataset": dataset,
        "category": random.choice(list(temporalbench.CATEGORIES)),
    }


def mmbench_video_release(folder: Path) -> list[Path]:
    """Write a release of MMBench-Video, and return its files."""
    random = Random(4)  # noqa: S311
    rows = []
    for number in range(MMBENCH_QUESTIONS):
        video = f"video{number % MMBENCH_VIDEOS}"
        leaves = random.sample(list(L2_BY_LEAF), random.choice((1, 1, 2)))
        question, answer = sentence(random, 11), sentence(random, 8)
        rows.append((number, video, "Science", question, answer, repr(leaves), f"./video/{video}.mp4"))
    return [_csv(folder / "MMBench-Video.tsv", mmbench_video.COLUMNS, rows, "\t")]


def _csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]], separator: str = ",") -> Path:
    """Write a csv file, and return its path."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter=separator)
        writer.writerows([header, *rows])
    return path


# --- answers ---------------------------------------------------------------------------------------------------------


def response(
    request: dict[str, object], model: int, key: str, text: str = "", scores: Sequence[float] = ()
) -> dict[str, object]:
    """Return a response; for each fourth model, 1 of 200 responses fails, as with an API."""
    is_failed = model % 4 == 3 and crc32(f"{request['request_id']} {key}".encode()) % 200 == 0
    return {
        **{name: request[name] for name in ("request_id", "item_id", "role")},
        "text": "" if is_failed else text,
        "scores": [] if is_failed else list(scores),
        "frames_shown": 8,
        "prompt_sha256": "0" * 64,
        "tokens_in": 100,
        "tokens_out": 5,
        "error": "Timeout" if is_failed else "",
        "key": key,
    }


# Styles of answers: option, its text and a random generator -> the answer of a model.
STYLES: list[Callable[[str, str, Random], str]] = [
    lambda option, text, draw: option,
    lambda option, text, draw: f"{option}.",
    lambda option, text, draw: f"({option})",
    lambda option, text, draw: f"{option}. {text}",
    lambda option, text, draw: text,
    lambda option, text, draw: f"The correct answer is {option}.",
    lambda option, text, draw: f"**Answer: {option}**",
    lambda option, text, draw: f"The video shows that {sentence(draw, 30)[:-1]}, therefore the answer is {option}.",
    lambda option, text, draw: "I'm sorry, but I cannot tell from the video which of them is right.",
    lambda option, text, draw: f"{sentence(draw, 12)} Both seem to fit.",
]
# The styles of twenty models when a letter is requested. Half of the models answer with the letter in different
# formats. The others answer in words or with the caption, and one of them reasons first.
LETTER_STYLES = (0, 0, 1, 0, 2, 0, 1, 0, 0, 2)
WORD_STYLES = (3, 0, 5, 3, 6, 1, 4, 3, 5, 7)


def choices(requests: Sequence[dict[str, object]], model: int, key: str) -> pl.DataFrame:
    """Generate choices, seven in ten right; models that do not keep to letters vary one answer in ten."""
    random = Random(1000 + model)  # noqa: S311
    keeps_to_letters, habit = model % 2 == 0, model // 2 % len(WORD_STYLES)
    rows = []
    for request in requests:
        options: list[str] = request["options"]  # type: ignore[assignment]
        texts: list[str] = request["option_texts"] or options  # type: ignore[assignment]
        index = options.index(str(request["expected"])) if random.random() < 0.7 else random.randrange(len(options))
        style = LETTER_STYLES[habit] if keeps_to_letters else WORD_STYLES[habit]
        if not keeps_to_letters and random.random() < 0.1:
            style = random.randrange(len(STYLES))
        rows.append(response(request, model, key, STYLES[style](options[index], texts[index], random)))
    return pl.DataFrame(rows, schema=RESPONSES)


def likelihoods(requests: Sequence[dict[str, object]], model: int, key: str) -> pl.DataFrame:
    """Generate p(Yes) and p(No) of each caption."""
    random = Random(2000 + model)  # noqa: S311
    rows = [response(request, model, key, scores=(random.random(), random.random())) for request in requests]
    return pl.DataFrame(rows, schema=RESPONSES)


def free_texts(requests: Sequence[dict[str, object]], model: int, key: str) -> pl.DataFrame:
    """Generate the expected text with every other word replaced, or an unrelated text."""
    random = Random(3000 + model)  # noqa: S311
    rows = []
    for request in requests:
        words = [word if random.random() < 0.5 else random.choice(WORDS) for word in str(request["expected"]).split()]
        text = " ".join(words) if random.random() < 0.9 else sentence(random, random.randrange(3, 60))
        rows.append(response(request, model, key, text))
    return pl.DataFrame(rows, schema=RESPONSES)


def ratings(requests: Sequence[dict[str, object]], model: int, key: str) -> pl.DataFrame:
    """Generate a judge's replies."""
    random = Random(4000 + model)  # noqa: S311
    unusual_replies = ("Score: 3", "2.", "two", "I would give 1 out of 3.", "", "**Rating:** 0")
    rows = [
        response(
            request, model, key, random.choice("0123") if random.random() < 0.9 else random.choice(unusual_replies)
        )
        for request in requests
    ]
    return pl.DataFrame(rows, schema=RESPONSES)
