"""What is said of mistakes in a suite's `construction:`, and what a change of it makes again."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.plan.keys import collect_keys, key_texts
from reprise.plan.runs import Plan
from reprise.plan.suite import Suite

from tests.unit.config.conftest import Project

SUITE, MAIN = "config/suites/construction.yaml", "config/config.yaml"
SETS = "{folder: resources/demo/sets, count: 5, scoring: {toy-own: 0 to 3, toy-five: 0 to 5, toy-letters: accuracy}}"
PROMPTS = "resources/prompts/construction/velociti.yaml"
MISTAKES = [
    (SUITE, "release: {kind: constructed}", "release: {kind: toyworld}", "benchmarks.velociti.release: should be `{kind: constructed}`, since `construction:` says how it is made."),
    (SUITE, "writer: toy-writer", "writer: toy-writr", "benchmarks.velociti.construction.writer: unknown model 'toy-writr'. Did you mean 'toy-writer'?"),
    (SUITE, "writer: toy-writer", "writer: toy-siglip", "benchmarks.velociti.construction.writer: 'toy-siglip' cannot write: adapter 'contrastive' gives similarity."),
    (SUITE, "kind: velociti", "kind: velocity", "benchmarks.velociti.construction.kind: should be 'velociti', 'vinoground', 'temporalbench', 'mmbench_video', found 'velocity'. Did you mean 'velociti'?"),
    (SUITE, "per_video: 2", "per_vid: 2", "benchmarks.velociti.construction.per_vid: unknown key. Did you mean 'per_video'?"),
    (SUITE, "per_video: 2", "per_video: 0", "benchmarks.velociti.construction.per_video: should be greater than or equal to 1, found 0."),
    (SUITE, f"prompts: {PROMPTS}", "prompts: resources/prompts/construction/velocit.yaml", f"benchmarks.velociti.construction.prompts: no file 'resources/prompts/construction/velocit.yaml'. Did you mean '{PROMPTS}'?"),
    (SUITE, f"prompts: {PROMPTS}", "prompts: resources/prompts/velociti.yaml", "resources/prompts/velociti.yaml has no prompt 'action_adv'. Needed: caption, action_adv, action_manner."),
    (SUITE, "annotations: {kind: toyworld}", "annotations: {kind: rehearsal}", "benchmarks.velociti.construction.annotations.kind: should be 'toyworld', 'folder', 'huggingface', found 'rehearsal'."),
    (SUITE, '.csv"}', '.csv", undecided: maybe}', "benchmarks.velociti.construction.review.undecided: should be 'keep' or 'drop', found 'maybe'."),
    (SUITE, "static: {model: toy-llava-ov, samplings: [still0, still1]}", "static: {model: toy-lava-ov}", "benchmarks.mmbench_video.construction.static: unknown model 'toy-lava-ov'. Did you mean 'toy-llava-ov'?"),
    (SUITE, "static: {model: toy-llava-ov, samplings: [still0, still1]}", "static: {model: oracle, protocol: unpackd}", "benchmarks.mmbench_video.construction.static: unknown protocol 'unpackd'. Did you mean 'unpacked'?"),
    (SUITE, "static: {model: toy-llava-ov, samplings: [still0, still1]}", "static: {model: oracle, protocol: mmstar}", "benchmarks.mmbench_video.construction.static.protocol: 'mmstar' has no judge. Allowed: unpacked, "),
    (SUITE, "static: {model: toy-llava-ov, samplings: [still0, still1]}", "static: {model: oracle, samplings: [interior1]}", "benchmarks.mmbench_video.construction.static.samplings: 'interior1' is no random frame. Allowed: random1, still0, still1, still2, still3."),
    (SUITE, "static: {model: toy-llava-ov, samplings: [still0, still1]}", "static: {model: oracle, least: 4}", "benchmarks.mmbench_video.construction.static.least: should be less than or equal to 3, found 4."),
    (SUITE, "pairs: 12", "pairs: 12\n      encoder: {kind: mpnet}", "benchmarks.vinoground.construction.encoder.kind: should be 'words', 'minilm', 'checkpoint', found 'mpnet'."),
    (SUITE, "pairs: 12", "pairs: 12\n      encoder: {kind: checkpoint, folder: x, tokens: 0}", "benchmarks.vinoground.construction.encoder.tokens: should be greater than or equal to 3, found 0."),
    (SUITE, "judges: [wordmatch]", "judges: []", "benchmarks.mmbench_video.construction.static: nobody rates its answers. Name a judge in `judges:` of the suite or of the benchmark."),
    (SUITE, "sets, count: 5, scoring: {toy-own", "sets, scoring: {msvd: 0 to 5, toy-own", "benchmarks.mmbench_video.construction.other_sets.scoring.msvd: no file 'resources/demo/sets/msvd.csv' with the questions of this set."),
    (SUITE, "scoring: {toy-own: 0 to 3", "scoring: {msvd: 0 to 9", "benchmarks.mmbench_video.construction.other_sets.scoring.msvd: should be '0 to 3', '0 to 5' or 'accuracy', found '0 to 9'."),
    (SUITE, "writer: toy-writer", "writer: toy-script", "benchmarks.velociti.construction.writer: 'toy-script' cannot write: its answers are imported. Name a model that is asked here."),
    (SUITE, "per_video: 2", "coreference: 'x {first} {third}'", "benchmarks.velociti.construction.coreference: should have {first} and {second} and nothing else in braces, found 'x {first} {third}'."),
    (SUITE, "per_video: 2", "coreference: no places", "benchmarks.velociti.construction.coreference: should have {first} and {second} and"),
    (SUITE, "per_video: 2", "files: [/etc/passwd]", "benchmarks.velociti.construction.files: '/etc/passwd' should be a pattern of files in the folder of `annotations:`, as '*.csv'."),
    (SUITE, "per_video: 2", "files: ['../*.csv']", "benchmarks.velociti.construction.files: '../*.csv' should be a pattern"),
    (SUITE, "per_video: 2", "files: []", "benchmarks.velociti.construction.files: '' should be a pattern"),
    (SUITE, '.csv"}', '.csv", videos: "{nope}/x"}', "benchmarks.velociti.construction.review.videos: should have {video} and nothing else in braces, found '{nope}/x'."),
    (SUITE, '"resources/demo/reviews/velociti/*.csv"', "resources/demo/reviews/velociti", "benchmarks.velociti.construction.review.verdicts: no file 'resources/demo/reviews/velociti'. Put it there, or name a pattern such as 'reviews/*.csv', which may match none yet."),
    ("config/models/toy-writer.yaml", "says: slides left", "say: slides left", "settings.verbs.sliding left.say: unknown key. Did you mean 'says'?"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "said"), MISTAKES, ids=[f"{new}"[:60] for _, _, new, _ in MISTAKES])
def test_a_mistake_is_one_message(project: Project, file: str, old: str, new: str, said: str) -> None:
    project.edit(file, old, new)
    message = project.message("construction")
    assert said in message and file in message


def test_a_constructed_release_needs_to_say_how(project: Project) -> None:
    project.edit("config/suites/demo.yaml", "release: {kind: toyworld}", "release: {kind: constructed}")
    assert "benchmarks.velociti.construction: missing; `release: {kind: constructed}` says" in project.message()


def test_a_writer_that_does_not_run_is_named_with_the_cure(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.edit(SUITE, "run: [local]", "run: [local]\nskip: [toy-writer]")
    monkeypatch.chdir(project.root)
    with pytest.raises(UserError, match=r"construction.writer: 'toy-writer' does not run here. Name it in `run:`"):
        collect_keys(Plan(load(project.root, {"suite": "construction"})))


def plan_of(project: Project) -> Plan:
    return Plan(load(project.root, {"suite": "construction"}))


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(project.root)
    project.edit(SUITE, "resources/demo/reviews/velociti/", "reviews/")
    project.edit(SUITE, "path: resources/demo/vatex", "path: annotations")
    return project


def texts(plan: Plan) -> dict[str, str]:
    return {
        str(path.relative_to("results/construction/keys")): text for path, text in key_texts(collect_keys(plan)).items()
    }


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


EFFECTS = {
    "a verdict": ("verdict", {"review"}),
    "the votes": (('.csv"}', '.csv", votes: 2}'), {"review"}),
    "the writer": (("writer: toy-writer", "writer: always-first"), {"writer"}),
    "an annotation": ("annotation", {"source"}),
    "a mean from which a question is static": (
        ("{model: toy-llava-ov", "{least: 2, model: toy-llava-ov"),
        {"static"},
    ),
    "the draw": (
        ("per_video: 2", "per_video: 3"),
        {"candidates", "requests", "samples", "review", "release", "statistics"},
    ),
}


@pytest.mark.parametrize(("change", "steps"), EFFECTS.values(), ids=EFFECTS)
def test_a_change_makes_again_what_it_shapes(here: Project, change: str | tuple[str, str], steps: set[str]) -> None:
    before = texts(plan_of(here))
    if change == "annotation":
        here.write("annotations/more.json", "[]")
    elif isinstance(change, str):
        here.write("reviews/more.csv", "task_id,digest,reviewer,verdict\n")
    else:
        here.edit(SUITE, *change)
    benchmark = "mmbench_video" if steps == {"static"} else "vinoground" if change == "annotation" else "velociti"
    assert changed(before, texts(plan_of(here))) == {f"construction/{benchmark}/{step}.json" for step in steps}


def test_an_encoder_is_named_by_the_digest_of_its_folder(here: Project) -> None:
    where = "benchmarks.vinoground.construction.encoder.folder"
    here.edit(SUITE, "pairs: 12", "pairs: 12\n      encoder: {kind: checkpoint, folder: checkpoints/mpnet}")
    with pytest.raises(
        UserError, match=rf"{where}: no folder 'checkpoints/mpnet'. .* or write `encoder: {{kind: words}}`"
    ):
        texts(plan_of(here))
    here.write("checkpoints/mpnet/config.json", "{}")
    with pytest.raises(UserError, match=rf"{where}: 'checkpoints/mpnet' holds no weights .*Found: config.json"):
        texts(plan_of(here))
    here.write("checkpoints/mpnet/model.safetensors", "one")
    before = texts(plan_of(here))
    here.write("checkpoints/mpnet/model.safetensors", "another")
    assert changed(before, texts(plan_of(here))) == {"construction/vinoground/samples.json"}


def test_another_suite_knows_nothing_of_it(here: Project) -> None:
    keys = collect_keys(Plan(load(here.root, {"suite": "demo"})))
    assert not [path for path in keys if "construction" in str(path)]
    assert "results/construction/keys/release/velociti.json" not in {str(path) for path in collect_keys(plan_of(here))}


def test_the_rules_ask_for_the_rounds_before_and_for_the_writer(here: Project) -> None:
    suite = Suite(plan_of(here))
    one, two = (SimpleNamespace(benchmark="velociti", round=number) for number in ("1", "2"))
    folder = Path("results/construction/construction/velociti")
    assert suite.construction.rounds_before(one) == []
    assert suite.construction.rounds_before(two) == [folder / "replies/1.parquet"]
    assert suite.construction.every_round(one) == [folder / f"replies/{number}.parquet" for number in (1, 2)]
    assert (
        suite.inference.model(one).adapter == "templates"
        and suite.inference.weights(one) == suite.inference.environment(one) == []
    )
    assert (suite.construction.here(), suite.annotations.released()) == (
        "mmbench_video|temporalbench|velociti|vinoground",
        "(?!)",
    )
    assert suite.inference.retry(one) == []
    retry = Path("results/construction/keys/retries/velociti/construction/round1/toy-writer.json")
    here.write(str(retry), "{}")
    assert suite.inference.retry(one) == [retry]
    assert suite.construction.verdicts(one) == []


def test_clips_are_measured_where_a_benchmark_is_made_of_them(here: Project) -> None:
    suite = Suite(plan_of(here))
    one, other = (SimpleNamespace(benchmark=name) for name in ("temporalbench", "velociti"))
    folder = Path("results/construction/construction/temporalbench")
    assert suite.construction.measured() == "temporalbench"
    assert suite.construction.facts(one) == [folder / "facts.parquet"] and suite.construction.facts(other) == []
    assert suite.construction.ledgers(one) == [folder / f"clips/{shard}.parquet" for shard in range(2)]
    steps = texts(plan_of(here))
    assert "construction/temporalbench/clips.json" in steps and "construction/velociti/clips.json" not in steps


def test_a_benchmark_that_is_filtered_is_there_before_the_filter_too(here: Project) -> None:
    plan, folder = plan_of(here), Path("results/construction")
    suite = Suite(plan)
    one = SimpleNamespace(benchmark="mmbench_video")
    assert suite.construction.filtered() == "mmbench_video"
    assert suite.construction.released(one) == [folder / "construction/mmbench_video/static.parquet"]
    before = folder / "verdicts/mmbench_video-unfiltered/unpacked"
    assert suite.construction.ratings(one) == [before / f"still{n}/toy-llava-ov/wordmatch.parquet" for n in range(2)]
    assert {run.name for run in plan.runs() if "unfiltered" in run.benchmark} == {
        f"mmbench_video-unfiltered/unpacked/still{n}/toy-llava-ov" for n in range(2)
    }
    assert not plan.config.tables["mmbench_video-unfiltered"].tables
    assert suite.construction.checks_by_hand(one) == [] and suite.construction.every_round(one) == []


def test_a_judge_whose_ratings_are_imported_need_not_know_what_is_not_filtered_yet(here: Project) -> None:
    here.edit(SUITE, "judges: [wordmatch]", "judges: [gpt-4v, wordmatch]")
    here.edit(SUITE, "run: [local]", "run: [local, gpt-4v]")
    plan = plan_of(here)
    assert "judges/mmbench_video-unfiltered/unpacked/gpt-4v.json" in texts(plan)
    found = Suite(plan).construction.ratings(SimpleNamespace(benchmark="mmbench_video"))
    assert {path.name for path in found} == {"wordmatch.parquet"}


def test_a_report_with_published_numbers_asks_for_none_of_what_is_not_filtered_yet(here: Project) -> None:
    here.edit(SUITE, "show_published: false", "show_published: true")
    published = {path.stem for path in Suite(plan_of(here)).report.inputs(None) if path.parent.name == "published"}
    assert published == {"velociti", "vinoground", "temporalbench", "mmbench_video"}


def test_a_filter_by_people_is_made_anew_when_they_say_more(here: Project) -> None:
    here.edit(
        SUITE,
        "{model: toy-llava-ov, samplings: [still0, still1]}",
        '{model: toy-llava-ov, samplings: [still0, still1], verdicts: "checks/*.csv"}',
    )
    before = texts(plan_of(here))
    here.write("checks/ann.csv", "task_id,digest,reviewer,verdict\n")
    assert changed(before, texts(plan_of(here))) == {"construction/mmbench_video/static.json"}


def test_without_a_filter_there_is_one_benchmark(here: Project) -> None:
    here.edit(SUITE, "      static: {model: toy-llava-ov, samplings: [still0, still1]}\n", "")
    plan = plan_of(here)
    assert "mmbench_video-unfiltered" not in plan.config.benchmarks
    released = Suite(plan).construction.released(SimpleNamespace(benchmark="mmbench_video"))
    assert [path.name for path in released] == ["reviewed.parquet"]


def test_a_draw_is_made_anew_when_a_set_changes(here: Project) -> None:
    here.edit(SUITE, SETS, "{folder: full, scoring: {msvd: 0 to 5}}")
    here.write("full/msvd.csv", "video,question,answer\n")
    suite, before = Suite(plan_of(here)), texts(plan_of(here))
    one = SimpleNamespace(benchmark="mmbench_video", set="msvd")
    assert suite.construction.sets() == "msvd" and suite.construction.set_file(one) == ["full/msvd.csv"]
    here.write("full/msvd.csv", "video,question,answer\na.mp4,Who?,Me.\n")
    assert changed(before, texts(plan_of(here))) == {"construction/mmbench_video/draw.json"}
    [drawn] = suite.construction.drawn(one)
    assert str(drawn) == "results/construction/construction/mmbench_video/sets/msvd.csv"
    assert suite.construction.drawn(SimpleNamespace(benchmark="velociti")) == []
