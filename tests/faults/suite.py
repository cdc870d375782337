"""The reduced suite, which covers all stages with a few seconds of video."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import yaml
from construction.mmbench_video.making import COLLECTION, index_of
from construction.mmbench_video.making import COLUMNS as ANNOTATED
from construction.mmbench_video.making import VIDEO_COLUMNS as COLLECTED
from human_evaluation.surveys import OPTION_SEPARATOR
from human_evaluation.tasks import COLUMNS as VERDICT_COLUMNS

from tests.faults.plugged import REGISTRATION
from tests.faults.runs import REPORT, Reduced
from tests.unit.fetch.server import REVISION, make_repository, serve_paths
from tests.unit.rows import PAIR_COLUMNS
from tests.workflow.conftest import ROOT, Project, copy_project, make_video

CHECKPOINT = ROOT / "resources/demo/checkpoints/siglip"
NEWER_REVISION = "76543210fedcba9876543210fedcba9876543210"
# Each benchmark covers other stages: Vinoground queries models and annotators, TemporalBench's construction measures clips,
# MMBench-Video has a static filter and ratings, VELOCITI has a subset search.
SUITE = """\
title: Reduced
show_published: true
run: [pixels, hub-siglip, o3, gpt-4v, humans, wordmatch, toy-writer]
overview: [pixels]
temporal: [pixels]
shards: 1
missing_share_max: 0.0
benchmarks:
  vinoground:
    tables: config/tables/reduced_vinoground.yaml
    figures: config/figures/reduced_vinoground.yaml
    release: {kind: folder, path: release/vinoground}
    clips: ids
    route: {kind: folder, path: videos}
    annotators: {answering: {run: paper/all/humans, answers: people/vinoground/*.csv}}
  temporalbench:
    tables: config/tables/reduced_temporalbench.yaml
    release: {kind: constructed}
    construction:
      {kind: temporalbench, annotations: {kind: folder, path: clips}, files: ["*.csv"], datasets: [own], long_datasets: [own],
       writer: toy-writer, prompts: resources/prompts/construction/temporalbench.yaml, rounds: 2, word_negatives: 1,
       event_negatives: 1, review: {verdicts: "reviews/*.csv", undecided: keep}}
    clips: files
    route: {kind: folder, path: videos}
  mmbench_video:
    tables: config/tables/reduced_mmbench.yaml
    release: {kind: constructed}
    construction:
      {kind: mmbench_video, annotations: {kind: folder, path: annotators}, shortest_s: 1, static: {model: pixels, samplings: [still0]},
       other_sets: {folder: sets, count: 1, scoring: {msvd: 0 to 5}}, review: {verdicts: "reviews/*.csv", undecided: keep}}
    clips: release
    route: {kind: folder, path: videos}
    judges: [gpt-4v, wordmatch]
    annotators: {raters: {kind: rating, runs: [unpacked/none/o3], workers: 1, answers: people/mmbench_video/*.csv}}
  velociti:
    tables: config/tables/reduced_velociti.yaml
    release: {kind: folder, path: release/velociti}
    clips: ids
    route: {kind: folder, path: videos}
    subset_search: {sampling: none, per_test: 1, tolerance: 100}
"""
# All tables have the same name, because each further name adds three files with the tables of all benchmarks.
TABLE = """\
benchmark: {}
tables:
  table3:
    title: Scores
    caption: Scores.
    columns: [{}]
    sections:
      - rows:
          - {}
"""
TEXT_COLUMN = "{title: text, metrics: [text], group: all}"
OTHER_ROWS = """\
          - {label: SigLIP, model: hub-siglip, protocol: similarity, sampling: linspace4}
          - {label: People, model: humans, protocol: paper, sampling: all}
"""
VINOGROUND = (
    TABLE.format(
        "vinoground", f"{TEXT_COLUMN}, {{title: group, metrics: [group], group: all}}",
        "{label: Pixels, model: pixels, protocol: paper, sampling: linspace4}",
    )
    + OTHER_ROWS
    + f"overview: {{table: table3, protocol: paper, sampling: linspace4, columns: [{TEXT_COLUMN}]}}\n"
)  # fmt: skip
IMPORT = "{{label: Imported, model: o3, protocol: {}, sampling: none}}"
TABLES = {
    "vinoground": VINOGROUND,
    "temporalbench": TABLE.format("temporalbench", "{title: Samples, metrics: [samples], group: overall, decimals: 0}", "{label: Count, dataset: true}"),
    "mmbench": TABLE.format("mmbench_video", "{title: ALL, metrics: [mean], group: overall, decimals: 2}", IMPORT.format("unpacked")),
    "velociti": TABLE.format("velociti", "{title: AgRand, metrics: [strict], group: agent_random}", IMPORT.format("entail")),
}  # fmt: skip
FIGURES = """\
benchmark: vinoground
figures:
  fig1: {kind: points, title: Scores, caption: Scores., axis: score (%), of: [{table: table3, metrics: [text]}]}
"""
MODELS = {
    "pixels": "label: Pixels\nadapter: pixels\npartitions: 2\nsettings: {seed: 0}\n",
    "hub-siglip": f"label: SigLIP\nadapter: contrastive\nrepo: toy/siglip\nrevision: {REVISION}\n",
}
RESULTS = "results/reduced"
SURVEYS = {
    benchmark: f"{RESULTS}/human_evaluation/{benchmark}/{group}/surveys.csv"
    for benchmark, group in (("vinoground", "answering"), ("mmbench_video", "raters"))
}
PREVIEW = f"{RESULTS}/frames/preview/vinoground/0.pos.linspace4.png"
FIGURE = "results/figures/vinoground/fig1.png"
CONSTRUCTED_FILES = ("mmbench_video/annotation/questions.csv", "mmbench_video/sets/msvd.csv", "velociti/subset/o3.csv")
TARGETS = (
    "all", PREVIEW, "results/tables/judges.md", f"{RESULTS}/health.csv", FIGURE, REPORT, *SURVEYS.values(),
    *(f"{RESULTS}/construction/{name}" for name in CONSTRUCTED_FILES), f"{RESULTS}/human_evaluation/vinoground/answering/tasks-1.json",
)  # fmt: skip
IMPORTED = "resources/imports/{}/answers.{}"
QUESTIONS = (
    "0 1 2 3",
    "4 5 6 7",
    "8 9 a b",
)  # the answers of MMBench-Video's questions: characters of the replies of `pixels`
SCORES = ("0.25", "0.75")  # scores of VELOCITI's negatives: the first is below the positive's 0.75


def plug_adapters(project: Project, module: Path, registration: str) -> None:
    """Add the adapters of a module to the copy's library."""
    models = project.root / "workflow/reprise/models"
    shutil.copy2(module, models / "local")
    with (models / "adapters.py").open("a") as registry:
        registry.write(registration)


def write_pairs(project: Project, count: int) -> None:
    """Write a release of Vinoground with pairs of spans of two videos."""
    spans = ["aaaaaaaaaaa", "0", "2"], ["bbbbbbbbbbb", "1", "3"]
    rows = [[str(i), "action", "", *spans[0], f"{i} eats", *spans[1], f"{i} sleeps"] for i in range(count)]
    project.write_rows("release/vinoground/vinoground.csv", [PAIR_COLUMNS, *rows])


def write_clips(project: Project) -> None:
    """Write an annotated clip for TemporalBench, in words that the toy writer knows."""
    caption = "First, the green cross jumps low. Then, the green cross grows quickly."
    columns = ["dataset", "split", "video", "start", "end", "description", "caption"]
    project.write_rows("clips/clips.csv", [columns, ["own", "test", "b" * 11, "0", "3", "", caption]])


def write_questions(project: Project) -> None:
    """Write MMBench-Video's annotations, imported answers and ratings, and another video set."""
    video = "a" * 11
    project.write_rows(f"annotators/{COLLECTION}", [COLLECTED, [video, video, "News", "3", "0", "3"]])
    questions = [(f"What is question {number}?", answer) for number, answer in enumerate(QUESTIONS)]
    rows = [[video, question, answer, "OCR", "ann", "", ""] for question, answer in questions]
    project.write_rows("annotators/questions/ann.csv", [ANNOTATED, *rows])
    indices = [index_of(video, question, answer) for question, answer in questions]
    predictions = [[name, answer] for name, answer in zip(indices, QUESTIONS, strict=True)]
    project.write_rows(
        IMPORTED.format("mmbench_video/o3/unpacked/none", "tsv"), [["index", "prediction"], *predictions]
    )
    ratings = [[name, str(number + 1)] for number, name in enumerate(indices)]
    project.write_rows(IMPORTED.format("mmbench_video/gpt-4v/unpacked/none/o3", "tsv"), [["index", "score"], *ratings])
    project.write_rows("sets/msvd.csv", [["video", "question", "answer"], *(["1.mp4", "Who?", who] for who in "AB")])


def write_samples(project: Project) -> None:
    """Write a release of VELOCITI and imported scores of its captions."""
    columns = ["test_name", "video_id", "event"]
    events = [["agent_random", "v_aaaaaaaaaaa_seg_0_2", f"Ev{number}"] for number in range(1, len(SCORES) + 1)]
    rows = [[*event, f"{event[-1]} holds", f"{event[-1]} fails"] for event in events]
    project.write_rows("release/velociti/rows.csv", [[*columns, "pos", "neg"], *rows])
    scores = [[*event, "0.75", negative_score] for event, negative_score in zip(events, SCORES, strict=True)]
    project.write_rows(
        IMPORTED.format("velociti/o3/entail/none", "csv"), [[*columns, "pos_score", "neg_score"], *scores]
    )


def write_survey_answers(project: Reduced) -> None:
    """Write answers to the surveys that a copy creates: the first choice, except for each survey's first question."""
    survey_project = replace(project.copy(project.root.with_name("asking")), targets=tuple(SURVEYS.values()))
    survey_project.finish()
    for benchmark, survey in SURVEYS.items():
        rows = [
            [row["task_id"], row["digest"], "ann", row["choices"].split(OPTION_SEPARATOR)[not index]]
            for index, row in enumerate(survey_project.rows(survey))
        ]
        project.write_rows(f"people/{benchmark}/ann.csv", [VERDICT_COLUMNS, *rows])
    shutil.rmtree(survey_project.root)


def reduced_suite(root: Path) -> Reduced:
    """Write the suite without running it."""
    project = Reduced(copy_project(root).root, TARGETS)
    plug_adapters(project, Path(__file__).with_name("plugged.py"), REGISTRATION)
    for name, text in MODELS.items():
        project.write(f"config/models/{name}.yaml", text)
    project.write("config/suites/reduced.yaml", SUITE)
    for name, text in TABLES.items():
        project.write(f"config/tables/reduced_{name}.yaml", text)
    project.write("config/figures/reduced_vinoground.yaml", FIGURES)
    project.edit("config/config.yaml", "suite: demo", "suite: reduced")
    make_video(project.root / "videos/aaaaaaaaaaa.mp4", 3)
    make_video(project.root / "videos/bbbbbbbbbbb.mp4", 4, "testsrc")
    write_pairs(project, 2)
    write_clips(project)
    write_questions(project)
    write_samples(project)
    return project


def faulty_suite(project: Reduced, faults: Sequence[str]) -> Reduced:
    """Turn a copy into a suite whose models each fail in one way on some requests."""
    for name in faults:
        model = f"label: {name}\nadapter: faulty\nsettings: {{fault: {name}}}\n"
        project.write(f"config/models/faulty-{name}.yaml", model)
    slugs = [f"faulty-{name}" for name in faults]
    rows = [{"label": slug, "model": slug, "protocol": "paper", "sampling": "linspace4"} for slug in slugs]
    suite, tables = yaml.safe_load(SUITE), yaml.safe_load(VINOGROUND)
    suite["benchmarks"] = {"vinoground": suite["benchmarks"]["vinoground"] | {"annotators": {}}}
    del suite["overview"], suite["temporal"]
    tables["tables"]["table3"]["sections"] = [{"rows": rows}]
    project.write("config/suites/faulty.yaml", yaml.safe_dump(suite | {"run": slugs} | {"failed_share_max": 0.5}))
    project.write("config/tables/reduced_vinoground.yaml", yaml.safe_dump(tables))
    project.edit("config/config.yaml", "suite: reduced", "suite: faulty")
    write_pairs(project, 12)
    return replace(project, targets=("all",))


@contextmanager
def hub_of_weights() -> Iterator[str]:
    """Serve the tiny checkpoint as a hub repository with two revisions, and yield the server's URL."""
    files = {path.name: path.read_bytes() for path in sorted(CHECKPOINT.iterdir())}
    first_files, newer_files = (
        make_repository("model", "toy/siglip", files, revision=revision) for revision in (REVISION, NEWER_REVISION)
    )
    with serve_paths(first_files | newer_files) as (url, _):
        yield url
