"""Small annotations in VidSitu's layout, and a chain of VELOCITI's steps without files."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from reprise.benchmarks.prompts import load_prompts
from reprise.construction.settings import ReviewSettings, VelocitiSettings
from reprise.construction.velociti.candidates import Candidates, candidates
from reprise.construction.velociti.requests import requests
from reprise.construction.velociti.samples import Made, samples
from reprise.construction.velociti.tables import SCHEMAS
from reprise.core.schemas import RESPONSES, table_of
from reprise.fetch.settings import ReleaseToy

ROOT = Path(__file__).parents[3]
PROMPTS = load_prompts(ROOT / "resources/prompts/construction/velociti.yaml")
Writer = Callable[[str, str], str]
"""system and user text -> reply"""


def settings(**changes: Any) -> VelocitiSettings:
    needed: dict[str, Any] = {
        "kind": "velociti",
        "annotations": ReleaseToy(kind="toyworld"),
        "writer": "toy-writer",
        "prompts": "resources/prompts/construction/velociti.yaml",
        "review": ReviewSettings(verdicts="none/*.csv"),
    }
    return VelocitiSettings(**needed | changes)


def event(verb: str, agent: str, **roles: str) -> dict[str, Any]:
    """An event of VidSitu; `manner` and other roles by name."""
    names = {"manner": "AMnr (manner)", "direction": "ADir (direction)", "scene": "AScn (scene of the event)"}
    args = {"Arg0 (agent)": agent} | {names.get(role, role): text for role, text in roles.items()}
    verb_id = f"{verb}.01" if verb else ""
    return {"Verb": f"{verb} ({verb})" if verb else "", "VerbID": verb_id, "Args": {k: v for k, v in args.items() if v}}


def annotated(video: str, *events: dict[str, Any]) -> dict[str, Any]:
    return {f"Ev{place}": {"vid_seg_int": video, **one} for place, one in enumerate(events, 1)}


def files(folder: Path, annotations: list[dict[str, Any]], split: list[str] | None = None) -> dict[str, Path]:
    if split is None:
        split = [entry["Ev1"]["vid_seg_int"] for entry in annotations]
    content = {"vseg_split_valid_lb.json": split, "vsann_valid_lb.json": annotations}
    for name, value in content.items():
        (folder / name).write_text(json.dumps(value))
    return {name: folder / name for name in content}


def tables(found: Mapping[str, list[Any]]) -> dict[str, pl.DataFrame]:
    return {name: table_of(rows, SCHEMAS[name]) for name, rows in found.items()}


def replies(asked: list[dict[str, Any]], writer: Writer) -> pl.DataFrame:
    rows = [
        {name: "" for name, kind in RESPONSES.items() if kind == pl.String}
        | {"scores": [], "request_id": one["request_id"], "item_id": one["item_id"]}
        | {"text": writer(one["system"], one["prompt"])}
        for one in asked
    ]
    return pl.DataFrame(rows, schema=RESPONSES)


def written(found: Candidates, writer: Writer, how: VelocitiSettings) -> Made:
    """All rounds of a writer, and the samples."""
    given: list[pl.DataFrame] = []
    for _ in range(how.rounds):
        given.append(replies(requests(tables(found._asdict()), given, PROMPTS, how), writer))
    return samples(tables(found._asdict()), given, PROMPTS, how)


def found_in(folder: Path, annotations: list[dict[str, Any]], **changes: Any) -> Candidates:
    return candidates(files(folder, annotations), settings(**changes))
