"""Count for each item how many models answer it right."""

from collections.abc import Mapping, Sequence
from typing import Any

from reprise.report.keys import ReportedRun
from reprise.report.runs import NO_SIGN, RATING, get_item_signs

MIN_MODELS = 3  # The two columns of the list show the answers of two models.


def count_right_models(
    runs: Sequence[ReportedRun], columns: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, dict[str, list[int]]]]:
    """Return for each item by metric the models that are right and those that have a result; baselines do not count.

    The counts of several models with the same protocol and sampling have the name `<protocol>/<sampling>`. An item
    counts by its own answers, also if the metric counts pairs or videos. Of a rating, the best one counts as right.
    """
    columns_by_setting: dict[str, dict[str, Mapping[str, Any]]] = {}
    for run in runs:
        if not run.reference:
            answers = run.scored.run
            models = columns_by_setting.setdefault(f"{answers.protocol}/{answers.sampling}", {})
            models.setdefault(answers.model, columns[run.scored.name])  # the first judge of a run
    return {
        setting: {
            metric: _count_right([model for model in models.values() if metric in _list_metrics(model)], metric)
            for metric in sorted({metric for model in models.values() for metric in _list_metrics(model)})
        }
        for setting, models in columns_by_setting.items()
        if len(models) >= MIN_MODELS
    }


def _list_metrics(columns: Mapping[str, Any]) -> list[str]:
    return [RATING] if RATING in columns else list(columns["fixed"])


def _count_right(models: Sequence[Mapping[str, Any]], metric: str) -> dict[str, list[int]]:
    best_signs = [str(model["max_rating"]) if metric == RATING else "1" for model in models]
    signs_by_item = list(zip(*(get_item_signs(model, metric) for model in models), strict=True))
    return {
        "right": [sum(map(str.__eq__, signs, best_signs)) for signs in signs_by_item],
        "models": [sum(sign != NO_SIGN for sign in signs) for signs in signs_by_item],
    }
