"""Test the formats in which numbers are published: the hub's model card and leaderboards, and Every Eval Ever."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from huggingface_hub import EvalResult, ModelCard, ModelCardData, parse_eval_result_entries
from jsonschema import Draft7Validator
from reprise.core.paths import Run, ScoredRun
from reprise.external.every_eval_ever import SCHEMA_VERSION, build_records
from reprise.external.model_card import build_leaderboard_files, create_card, merge_into_card
from reprise.external.publication import Publication, PublishedNumber, PublishedRun

SCHEMA = json.loads((Path(__file__).parents[2] / "data/every_eval_ever/eval.schema.json").read_text())
NOW = datetime(2026, 11, 29, tzinfo=UTC)
RUN = PublishedRun(
    scored=ScoredRun(Run.parse("velociti/entail/fps1/mine")),
    title="VELOCITI",
    name="velociti",
    dataset="katha-ai-iiith/VELOCITI",
    revision="0" * 40,
    hub_task="",
    limit=None,
    numbers=[PublishedNumber("strict", "average", "Strict", 48.126, 46.0, 50.25, 2000)],
    max_value=100,
    level=0.95,
    date="2026-11-29",
    key="ab",
    notes=["2 failed answers count as wrong."],
)
SAMPLE = RUN._replace(limit=20, notes=["A sample of at most 20 videos or pairs of the benchmark (--limit)."])
RATED = RUN._replace(
    scored=ScoredRun(Run.parse("mmbench_video/unpacked/interior8/mine"), "qwen2-72b"),
    title="MMBench-Video (Demo)",
    name="mmbench_video-toyworld",
    dataset="",
    numbers=[PublishedNumber("mean", "overall", "Mean", 1.5, None, None, 80)],
    max_value=3,
    notes=[],
)


def make_publication(*runs: PublishedRun, repo: str = "me/mine", organization: str = "") -> Publication:
    return Publication(
        slug="mine",
        label="Mine",
        repo=repo,
        revision="",
        engine="transformers",
        deployment="self_deployed",
        has_open_weights=False,
        organization=organization,
        version="0.1.0",
        runs=runs,
    )


def test_the_hub_reads_the_numbers_of_a_card() -> None:
    card = ModelCard(str(create_card(make_publication(RUN, RATED))))
    assert card.data.model_name == "Mine"
    strict, mean = card.data.eval_results
    assert (strict.dataset_type, strict.dataset_name, strict.dataset_revision) == (RUN.dataset, "VELOCITI", "0" * 40)
    assert (strict.metric_value, strict.metric_name) == (48.13, "Strict (entail, fps1)")
    assert strict.metric_args["interval"] == "[46.00, 50.25]" and strict.metric_args["notes"] == RUN.notes[0]
    assert (mean.dataset_type, mean.metric_name) == (RATED.name, "Mean (unpacked, interior8, judge qwen2-72b)")
    assert "| Mine | VELOCITI | Strict (entail, fps1) | 48.13 | [46.00, 50.25] |" in card.text


def test_new_numbers_replace_those_of_the_same_run_and_keep_the_rest_of_a_card() -> None:
    other = EvalResult(task_type="x", dataset_type="cais/hle", dataset_name="HLE", metric_type="a", metric_value=1.0)
    data = ModelCardData(license="mit", model_name="Old name", eval_results=[other])
    card = ModelCard(f"---\n{data.to_yaml()}\n---\n# My model\n")
    merge_into_card(card, make_publication(RUN))
    merge_into_card(card, make_publication(RUN._replace(numbers=[RUN.numbers[0]._replace(value=50.0)])))
    merge_into_card(card, make_publication(SAMPLE))
    merged = ModelCard(str(card))
    assert [result.metric_value for result in merged.data.eval_results] == [1.0, 50.0, 48.13]
    assert (merged.data.license, merged.data.model_name, merged.text) == ("mit", "Old name", "# My model\n")


def test_a_number_of_a_sample_never_looks_like_that_of_the_benchmark() -> None:
    publication = make_publication(SAMPLE._replace(hub_task="strict"))
    (result,) = ModelCard(str(create_card(publication))).data.eval_results
    assert result.metric_name == "Strict (entail, fps1, sample of at most 20 videos or pairs)"
    assert result.metric_args["notes"].startswith("A sample of at most 20")
    assert build_leaderboard_files(publication) == {}, "a leaderboard would rank it"
    ((_, text),) = build_records(publication, NOW).items()
    (record,) = json.loads(text)["evaluation_results"]
    assert record["evaluation_name"] == "velociti.sample20.entail"
    assert record["metric_config"]["metric_id"] == "velociti.sample20.strict"


def test_a_leaderboard_gets_the_headline_of_a_registered_benchmark() -> None:
    assert build_leaderboard_files(make_publication(RUN, RATED)) == {}, "the hub does not list these data sets"
    text_number = PublishedNumber("text", "all", "Text", 10.0, None, None, 5)
    run = RUN._replace(hub_task="strict", numbers=[text_number, *RUN.numbers])
    ((name, text),) = build_leaderboard_files(make_publication(run)).items()
    assert name == ".eval_results/velociti.yaml"
    (entry,) = parse_eval_result_entries(yaml.safe_load(text))
    assert (entry.dataset_id, entry.task_id, entry.value, entry.date) == (RUN.dataset, "strict", 48.13, "2026-11-29")
    assert entry.notes == "Strict (entail, fps1). 2 failed answers count as wrong."


@pytest.mark.parametrize("repo", ["me/mine", ""])
def test_records_follow_the_schema_of_every_eval_ever(repo: str) -> None:
    assert SCHEMA["version"] == SCHEMA_VERSION
    records = build_records(make_publication(RUN, RATED, SAMPLE, repo=repo), NOW)
    assert len(records) == 3 and records == build_records(make_publication(RUN, RATED, SAMPLE, repo=repo), NOW)
    developer = "me" if repo else "unknown"
    assert [path.rpartition("/")[0] for path in records] == [
        f"data/velociti/{developer}/mine",
        f"data/mmbench_video-toyworld/{developer}/mine",
        f"data/velociti/{developer}/mine",
    ]
    for text in records.values():
        Draft7Validator(SCHEMA).validate(json.loads(text))
    strict, mean, _ = (json.loads(text)["evaluation_results"][0] for text in records.values())
    assert strict["source_data"]["hf_repo"] == RUN.dataset and mean["source_data"]["source_type"] == "other"
    assert strict["score_details"]["uncertainty"]["confidence_interval"]["lower"] == 46.0
    assert (mean["metric_config"]["max_score"], mean["metric_config"]["metric_unit"]) == (3, "points")


@pytest.mark.parametrize(
    ("organization", "repo", "relationship"),
    [("Me", "me/mine", "first_party"), ("Others", "me/mine", "third_party"), ("", "me/mine", "other"), ("Me", "", "other")],
)  # fmt: skip
def test_the_evaluator_is_compared_with_the_owner_of_the_model(organization: str, repo: str, relationship: str) -> None:
    (text,) = build_records(make_publication(RUN, repo=repo, organization=organization), NOW).values()
    source = json.loads(text)["source_metadata"]
    assert source["evaluator_relationship"] == relationship
    assert source["source_organization_name"] == (organization or "unknown")
