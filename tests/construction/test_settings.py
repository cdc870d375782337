"""Test which steps a change of `construction:` or of annotators' answers reruns, and the error messages."""

import pytest
from reprise.plan.suite import all_settings

from tests.unit.config.conftest import MMBENCH_VIDEO, Project, add_rater_groups

SUITE = "config/suites/construction.yaml"
OTHER_WRITERS = "other_writers: [toy-other-writer]"


@pytest.fixture
def writable_project(project: Project) -> Project:
    """Return a project with writable folders for verdicts and annotations."""
    project.edit(SUITE, "resources/demo/reviews/velociti/", "reviews/")
    project.edit(SUITE, "path: resources/demo/vatex", "path: annotations")
    return project


def settings_texts(project: Project) -> dict[str, str]:
    """Return the settings by name, except those of writers' runs."""
    settings_by_name = all_settings(project.plan("construction"))
    return {
        name: settings.model_dump_json() for name, settings in settings_by_name.items() if not name.startswith("runs/")
    }


def changed_names_of(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


STATIC = "{model: toy-llava-ov, samplings: [still0, still1]}"
STEPS_AFTER_SOURCE = {"candidates", "requests", "samples", "review", "release", "statistics"}
EFFECTS: list[tuple[str | tuple[str, str], set[str]]] = [
    ("reviews/more.csv", {"review"}),
    ("annotations/more.json", {"source"}),
    (('.csv"}', '.csv", votes: 2}'), {"review"}),
    (("writer: toy-writer", "writer: always-first"), {"writer/toy-writer", "writer/always-first"}),
    ((OTHER_WRITERS, "other_writers: [toy-other-writer, always-first]"), {"writer/always-first", "requests", "samples", "statistics"}),
    ((STATIC, '{least: 2, model: toy-llava-ov, samplings: [still0, still1]}'), {"static"}),
    (("per_video: 2", "per_video: 3"), STEPS_AFTER_SOURCE),
]  # fmt: skip


@pytest.mark.parametrize(("change", "steps"), EFFECTS)
def test_a_change_reruns_the_affected_steps(
    writable_project: Project, change: str | tuple[str, str], steps: set[str]
) -> None:
    before = settings_texts(writable_project)
    if isinstance(change, str):
        writable_project.write(change, "[]" if "json" in change else "task_id,digest,reviewer,verdict\n")
    else:
        writable_project.edit(SUITE, *change)
    changed_names = changed_names_of(before, settings_texts(writable_project))
    assert {name.split("/", 2)[2] for name in changed_names} == steps
    assert len({name.split("/")[1] for name in changed_names}) == 1, "the change affects one benchmark"


def test_the_digest_of_an_encoder_folder_is_a_setting(writable_project: Project) -> None:
    location = "benchmarks.vinoground.construction.encoder.folder"
    writable_project.edit(SUITE, "pairs: 12", "pairs: 12\n      encoder: {kind: checkpoint, folder: checkpoints/mpnet}")
    message = writable_project.message("construction")
    assert f"{location}: no folder 'checkpoints/mpnet'." in message and "or write `encoder: {kind: words}`" in message
    writable_project.write("checkpoints/mpnet/config.json", "{}")
    message = writable_project.message("construction")
    assert f"{location}: 'checkpoints/mpnet' holds no weights" in message and "Found: config.json" in message
    writable_project.write("checkpoints/mpnet/model.safetensors", "one")
    before = settings_texts(writable_project)
    writable_project.write("checkpoints/mpnet/model.safetensors", "another")
    assert changed_names_of(before, settings_texts(writable_project)) == {"construction/vinoground/samples"}


def test_new_ratings_rerun_the_judge_metrics(project: Project) -> None:
    project.edit(SUITE, MMBENCH_VIDEO, add_rater_groups("unpacked/interior8/oracle"))
    before = settings_texts(project)
    assert {
        f"human_evaluation/mmbench_video/raters/{table}" for table in ("surveys", "rated", "ratings")
    } <= before.keys()
    project.write("raters1.csv", "task_id,digest,reviewer,verdict\n")
    assert changed_names_of(before, settings_texts(project)) == {
        "human_evaluation/mmbench_video/raters/ratings", "human_evaluation/mmbench_video/raters/statistics",
        "metrics/mmbench_video/unpacked",
    }  # fmt: skip
