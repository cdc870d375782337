"""Write a model's numbers in the formats of the Hugging Face hub.

`model-index` in the metadata of a model card takes any data set. `.eval_results/<file>.yaml` feeds leaderboards, and
takes only data sets that the hub lists as benchmarks, with the task of their `eval.yaml`.
"""

from collections.abc import Sequence

import yaml
from huggingface_hub import EvalResult, EvalResultEntry, ModelCard, ModelCardData, eval_result_entries_to_yaml

from reprise.core.notation import format_interval, format_value, round_value
from reprise.external.publication import Publication, PublishedRun

TASK_TYPE = "video-text-to-text"  # The hub's name of the task.
DECIMALS = 2


def build_eval_results(publication: Publication) -> list[EvalResult]:
    """Return the main numbers of all runs as entries of `model-index`."""
    return [
        EvalResult(
            task_type=TASK_TYPE,
            dataset_type=run.dataset or run.name,
            dataset_name=run.title,
            dataset_revision=run.revision or None,
            metric_type=number.metric,
            metric_value=round_value(number.value, DECIMALS),
            metric_name=run.number_name(number),
            metric_args={
                "run": run.scored.name,
                "group": number.group,
                "interval": format_interval(number.low, number.high, DECIMALS),
                "scored": number.scored,
                "notes": " ".join(run.notes),
                "evaluated_by": f"Reprise {publication.version}",
            },
        )
        for run in publication.runs
        for number in run.numbers
    ]


def create_card(publication: Publication) -> ModelCard:
    """Return a model card with nothing but the numbers."""
    data = ModelCardData(model_name=publication.label, eval_results=build_eval_results(publication))
    header, alignment = "| model | data set | metric | value | interval |", "|---|---|---|--:|---|"
    lines = [f"# {publication.label}", "", header, alignment]
    for run in publication.runs:
        for number in run.numbers:
            value = format_value(number.value, DECIMALS)
            interval = format_interval(number.low, number.high, DECIMALS)
            cells = (publication.label, run.title, run.number_name(number), value, interval)
            lines.append(f"| {' | '.join(cells)} |")
    notes = [f"{run.scored.name}: {' '.join(run.notes)}" for run in publication.runs if run.notes]
    text = "\n".join(
        [*lines, "", *(f"- {note}" for note in notes), "", f"Evaluated with Reprise {publication.version}."]
    )
    return ModelCard(f"---\n{data.to_yaml()}\n---\n\n{text}\n")


def merge_into_card(card: ModelCard, publication: Publication) -> None:
    """Add the numbers to the `model-index` of a card; numbers of the same metric and run are replaced."""
    new_results = build_eval_results(publication)
    replaced = {(result.dataset_type, result.metric_name) for result in new_results}
    kept_results = [
        result for result in card.data.eval_results or [] if (result.dataset_type, result.metric_name) not in replaced
    ]
    card.data.eval_results = [*kept_results, *new_results]
    card.data.model_name = card.data.model_name or publication.label


def build_leaderboard_files(publication: Publication) -> dict[str, str]:
    """Return path -> text of the files in `.eval_results/`.

    A run of a sample has none, because a leaderboard would rank it among runs of the whole benchmark.
    """
    runs_by_benchmark: dict[str, list[PublishedRun]] = {}
    for run in publication.runs:
        if run.dataset and run.hub_task and not run.limit:
            runs_by_benchmark.setdefault(run.scored.run.benchmark, []).append(run)
    return {
        f".eval_results/{benchmark}.yaml": yaml.safe_dump(
            eval_result_entries_to_yaml(_list_entries(runs)), sort_keys=False
        )
        for benchmark, runs in runs_by_benchmark.items()
    }


def _list_entries(runs: Sequence[PublishedRun]) -> list[EvalResultEntry]:
    """Return an entry with the headline number of each run, which is the last of its numbers."""
    return [
        EvalResultEntry(
            dataset_id=run.dataset,
            task_id=run.hub_task,
            value=round_value(run.numbers[-1].value, DECIMALS),
            dataset_revision=run.revision or None,
            date=run.date,
            notes=" ".join([f"{run.number_name(run.numbers[-1])}.", *run.notes]),
        )
        for run in runs
    ]
