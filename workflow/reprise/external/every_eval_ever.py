"""Write runs as records of Every Eval Ever (github.com/evaleval/every_eval_ever), by version 0.3.0 of its schema."""

import json
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from reprise.external.publication import Publication, PublishedNumber, PublishedRun

SCHEMA_VERSION = "0.3.0"
UNKNOWN = "unknown"


def build_records(publication: Publication, now: datetime) -> dict[str, str]:
    """Return the record of each run by its path, `data/<collection>/<developer>/<model>/<uuid>.json`."""
    return {
        f"data/{run.name}/{_get_developer(publication)}/{publication.model_id.rpartition('/')[2]}/"
        f"{_make_uuid(publication, run)}.json": json.dumps(_build_record(publication, run, now), indent=1) + "\n"
        for run in publication.runs
    }


def _get_developer(publication: Publication) -> str:
    return publication.repo.partition("/")[0] or UNKNOWN


def _make_uuid(publication: Publication, run: PublishedRun) -> UUID:
    """Return the same id whenever the same run is published."""
    identity = f"{publication.model_id} {run.scored.name} {run.limit} {run.key}"
    return UUID(bytes=sha256(identity.encode()).digest()[:16], version=4)


def _build_record(publication: Publication, run: PublishedRun, now: datetime) -> dict[str, Any]:
    """Return the record of one run as JSON content."""
    timestamp = str(int(now.timestamp()))
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{run.scored.name}/{publication.model_id}/{timestamp}",
        "evaluation_timestamp": run.date,
        "retrieved_timestamp": timestamp,
        "source_metadata": {
            "source_name": "Reprise",
            "source_type": "evaluation_run",
            "source_organization_name": publication.organization or UNKNOWN,
            "evaluator_relationship": _find_relationship(publication),
        },
        "eval_library": {"name": "reprise", "version": publication.version},
        "model_info": _describe_model(publication),
        "evaluation_results": [_build_result(run, number) for number in run.numbers],
    }


def _find_relationship(publication: Publication) -> str:
    """Return whether the model's developer or somebody else evaluates it; `other` if one of them is unknown."""
    if not publication.organization or not publication.repo:
        return "other"
    is_developer = publication.organization.casefold() == _get_developer(publication).casefold()
    return "first_party" if is_developer else "third_party"


def _describe_model(publication: Publication) -> dict[str, Any]:
    """Return the model and how it was run, in the terms of the schema."""
    details = {
        "deployment_type": publication.deployment,
        "model_availability": "open_weights" if publication.has_open_weights else UNKNOWN,
    }
    if publication.revision:
        details["revision"] = publication.revision
    return {
        "name": publication.label,
        "id": publication.model_id,
        "developer": _get_developer(publication),
        "inference_engine": {"name": publication.engine},
        "additional_details": details,
    }


def _build_result(run: PublishedRun, number: PublishedNumber) -> dict[str, Any]:
    """Return one number of a run with its uncertainty and its conditions."""
    uncertainty: dict[str, Any] = {"num_samples": number.scored}
    if number.low is not None and number.high is not None:
        uncertainty["confidence_interval"] = {
            "lower": number.low,
            "upper": number.high,
            "confidence_level": run.level,
        }
    details = {"run": run.scored.name, "group": number.group, "notes": " ".join(run.notes)}
    if run.limit:
        details["sample"] = str(run.limit)
    return {
        "evaluation_result_id": f"{run.scored.name}/{number.metric}/{number.group}",
        "evaluation_name": f"{run.sample_name}.{run.scored.run.protocol}",
        "source_data": _describe_data(run),
        "evaluation_timestamp": run.date,
        "metric_config": {
            "metric_id": f"{run.sample_name}.{number.metric}",
            "metric_name": run.number_name(number),
            "metric_unit": "percent" if run.max_value == 100 else "points",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0,
            "max_score": run.max_value,
            "additional_details": details,
        },
        "score_details": {"score": number.value, "uncertainty": uncertainty},
        "generation_config": {
            "additional_details": {
                "protocol": run.scored.run.protocol,
                "sampling": run.scored.run.sampling,
                "key": run.key,
            }
        },
    }


def _describe_data(run: PublishedRun) -> dict[str, Any]:
    """Return the source of a run's data: a data set of the hub, or another source, such as a toy world."""
    if not run.dataset:
        return {"dataset_name": run.title, "source_type": "other"}
    source: dict[str, Any] = {"dataset_name": run.title, "source_type": "hf_dataset", "hf_repo": run.dataset}
    return source | ({"additional_details": {"revision": run.revision}} if run.revision else {})
