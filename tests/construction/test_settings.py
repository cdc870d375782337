"""Which steps a change of `construction:` or of annotators' answers reruns, and messages about errors."""

import pytest
from reprise.plan.suite import all_settings

from tests.unit.config.conftest import MMBENCH_VIDEO, Project, with_raters

SUITE = "config/suites/construction.yaml"
OTHERS = "other_writers: [toy-other-writer]"


@pytest.fixture
def own(project: Project) -> Project:
    """Return a project with writable folders for verdicts and annotations."""
    project.edit(SUITE, "resources/demo/reviews/velociti/", "reviews/")
    project.edit(SUITE, "path: resources/demo/vatex", "path: annotations")
    return project


def texts(project: Project) -> dict[str, str]:
    """Return the settings by name, without those of later stages about a writer."""
    found = all_settings(project.plan("construction"))
    return {name: one.model_dump_json() for name, one in found.items() if not name.startswith("runs/")}


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


STATIC = "{model: toy-llava-ov, samplings: [still0, still1]}"
DRAWN = {"candidates", "requests", "samples", "review", "release", "statistics"}
EFFECTS: list[tuple[str | tuple[str, str], set[str]]] = [
    ("reviews/more.csv", {"review"}),
    ("annotations/more.json", {"source"}),
    (('.csv"}', '.csv", votes: 2}'), {"review"}),
    (("writer: toy-writer", "writer: always-first"), {"writer/toy-writer", "writer/always-first"}),
    ((OTHERS, "other_writers: [toy-other-writer, always-first]"), {"writer/always-first", "requests", "samples", "statistics"}),
    ((STATIC, '{least: 2, model: toy-llava-ov, samplings: [still0, still1]}'), {"static"}),
    (("per_video: 2", "per_video: 3"), DRAWN),
]  # fmt: skip


@pytest.mark.parametrize(("change", "steps"), EFFECTS)
def test_a_change_reruns_the_affected_steps(own: Project, change: str | tuple[str, str], steps: set[str]) -> None:
    before = texts(own)
    if isinstance(change, str):
        own.write(change, "[]" if "json" in change else "task_id,digest,reviewer,verdict\n")
    else:
        own.edit(SUITE, *change)
    found = changed(before, texts(own))
    assert {name.split("/", 2)[2] for name in found} == steps
    assert len({name.split("/")[1] for name in found}) == 1, "of one benchmark"


def test_an_encoder_is_named_by_the_digest_of_its_folder(own: Project) -> None:
    where = "benchmarks.vinoground.construction.encoder.folder"
    own.edit(SUITE, "pairs: 12", "pairs: 12\n      encoder: {kind: checkpoint, folder: checkpoints/mpnet}")
    message = own.message("construction")
    assert f"{where}: no folder 'checkpoints/mpnet'." in message and "or write `encoder: {kind: words}`" in message
    own.write("checkpoints/mpnet/config.json", "{}")
    message = own.message("construction")
    assert f"{where}: 'checkpoints/mpnet' holds no weights" in message and "Found: config.json" in message
    own.write("checkpoints/mpnet/model.safetensors", "one")
    before = texts(own)
    own.write("checkpoints/mpnet/model.safetensors", "another")
    assert changed(before, texts(own)) == {"construction/vinoground/samples"}


def test_new_ratings_rerun_the_judge_metrics(project: Project) -> None:
    project.edit(SUITE, MMBENCH_VIDEO, with_raters("unpacked/interior8/oracle"))
    before = texts(project)
    assert {f"human_evaluation/mmbench_video/raters/{one}" for one in ("surveys", "rated", "ratings")} <= before.keys()
    project.write("raters1.csv", "task_id,digest,reviewer,verdict\n")
    assert changed(before, texts(project)) == {
        "human_evaluation/mmbench_video/raters/ratings", "human_evaluation/mmbench_video/raters/statistics",
        "metrics/mmbench_video/unpacked",
    }  # fmt: skip
