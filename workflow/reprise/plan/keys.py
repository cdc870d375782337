"""Writes the key files of a suite: each holds one job's settings and the digest of its code."""

import json
from collections.abc import Mapping
from pathlib import Path

from reprise.core.code_digest import CodeDigests
from reprise.core.files import canonical_json, is_other, write_text
from reprise.core.settings import Settings
from reprise.core.store import append_line
from reprise.models.keys import RunKey
from reprise.plan.changes import remember
from reprise.plan.rules.annotations import Annotations
from reprise.plan.rules.construction import Construction
from reprise.plan.rules.figures import Figures
from reprise.plan.rules.inference import Inference
from reprise.plan.rules.media import Media
from reprise.plan.rules.people import People
from reprise.plan.rules.report import Report
from reprise.plan.rules.scores import Scores
from reprise.plan.rules.tables import Tables
from reprise.plan.rules.time import Time
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan
from reprise.plan.site import Site


class Rules:
    """An object for each file of rules: the keys of its stages, and what the rules ask."""

    def __init__(self, plan: Plan, site: Site | None = None) -> None:
        self.annotations = Annotations(plan)
        self.media = Media(plan)
        self.inference = Inference(plan, site)
        self.construction = Construction(plan)
        self.people = People(plan)
        self.scores = Scores(plan)
        self.tables = Tables(plan)
        self.figures = Figures(plan)
        self.time = Time(plan)
        self.report = Report(plan)


def write_keys(plan: Plan) -> None:
    """Write every key file whose content has changed."""
    code = CodeDigests(record=plan.results.folder / "keys" / "code.jsonl")
    keys = collect_keys(plan, code)
    changed = {path: text for path, text in key_texts(keys).items() if is_other(path, text)}
    # What a key stands for, for `adopt` to compare and for people who trace old answers.
    of_runs = [key for path in changed if isinstance(key := keys[path], RunKey)]
    if of_runs:
        known = (canonical_json([key.key, key.answers.model_dump(mode="json")]) for key in of_runs)
        append_line(plan.store.root / "keys.jsonl", *known)
    for path, text in changed.items():
        remember(plan.results, path)
        write_text(path, text)
    code.keep()


def changed_keys(plan: Plan) -> list[Path]:
    """The key files that `write_keys` would write."""
    return [path for path, text in key_texts(collect_keys(plan)).items() if is_other(path, text)]


def key_texts(keys: Mapping[Path, Settings]) -> dict[Path, str]:
    """The content that every key file has once it is written."""
    return {path: _text(key) for path, key in keys.items()}


def _text(key: Settings) -> str:
    return json.dumps(key.model_dump(mode="json"), indent=1, sort_keys=True) + "\n"


def collect_keys(plan: Plan, code: CodeDigests | None = None) -> dict[Path, Settings]:
    """Every key file of a suite and its content; `code` is this library's."""
    runs = RunKeys(plan, code or CodeDigests())
    return {path: key for rules in vars(Rules(plan)).values() for path, key in rules.keys(runs)}
