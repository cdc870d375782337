"""Checks of a suite's constructions across files."""

from collections.abc import Collection, Iterator
from glob import has_magic
from pathlib import Path

from reprise.benchmarks.prompts import load_prompts
from reprise.config.configuration import Configuration
from reprise.config.unfiltered import static_filters
from reprise.construction.settings import Constructing, MmbenchVideoSettings, StaticFilter
from reprise.core.errors import UserError, choices, suggestion
from reprise.models.adapters import ADAPTERS

PROMPTS = {
    "velociti": ("caption", "action_adv", "action_manner"),
    "vinoground": ("pairs", "more"),
    "temporalbench": ("words", "events", "category"),
}
"""kind of construction -> the prompts that it asks its writer by"""
RANDOM_FRAME = "random_one"


def construction_problems(found: Configuration, unreadable: Collection[str], root: Path) -> Iterator[tuple[str, str]]:
    """Key below `benchmarks`, and what is wrong there."""
    for name, entry in found.suite.benchmarks.items():
        place = f"{name}.construction"
        is_made = entry.release.kind == "constructed"
        if entry.construction is None:
            if is_made:
                yield place, "missing; `release: {kind: constructed}` says that the release is made as this says."
            continue
        if not is_made:
            yield f"{name}.release", "should be `{kind: constructed}`, since `construction:` says how it is made."
        if entry.construction.kind != name:
            yield f"{place}.kind", f"found '{entry.construction.kind}', but this is '{name}'."
        verdicts = entry.construction.review.verdicts
        if not has_magic(verdicts) and not (root / verdicts).is_file():
            instead = "or name a pattern such as 'reviews/*.csv', which may match none yet"
            yield f"{place}.review.verdicts", f"no file '{verdicts}'. Put it there, {instead}."
        if isinstance(entry.construction, Constructing):
            yield from _writer_problems(found, unreadable, entry.construction.writer, f"{place}.writer")
            yield from _prompt_problems(root, entry.construction.kind, entry.construction.prompts, f"{place}.prompts")
        if isinstance(entry.construction, MmbenchVideoSettings) and (others := entry.construction.other_sets):
            for one, file in others.files().items():
                if not (root / file).is_file():
                    yield f"{place}.other_sets.scoring.{one}", f"no file '{file}' with the questions of this set."
    for name, how in static_filters(found).items():
        yield from _static_problems(found, name, how, f"{name}.construction.static")


def _static_problems(found: Configuration, name: str, how: StaticFilter, place: str) -> Iterator[tuple[str, str]]:
    spec, entry = found.benchmarks.get(name), found.suite.benchmarks[name]
    asked = spec.protocols.get(how.protocol) if spec else None
    if spec and asked and asked.judge is None:
        judged = [one for one, protocol in spec.protocols.items() if protocol.judge is not None]
        yield f"{place}.protocol", f"'{how.protocol}' has no judge. Allowed: {', '.join(judged)}."
    if not (found.suite.judges if entry.judges is None else entry.judges):
        yield place, "nobody rates its answers. Name a judge in `judges:` of the suite or of the benchmark."
    for sampling in how.samplings:
        rule = found.main.samplings.get(sampling)
        if rule is not None and rule["rule"] != RANDOM_FRAME:
            drawn = [one for one, other in found.main.samplings.items() if other["rule"] == RANDOM_FRAME]
            yield f"{place}.samplings", f"'{sampling}' is no random frame. Allowed: {', '.join(drawn)}."


def _writer_problems(
    found: Configuration, unreadable: Collection[str], writer: str, place: str
) -> Iterator[tuple[str, str]]:
    if writer in unreadable:
        return
    if writer not in found.models:
        yield place, f"unknown model '{writer}'.{choices(writer, [*found.models, *unreadable])}"
        return
    model = found.models[writer]
    if found.is_import(writer):
        yield place, f"'{writer}' cannot write: its answers are imported. Name a model that is asked here."
        return
    asked = ADAPTERS[model.adapter].asked(model.settings)
    if "write" not in asked or ADAPTERS[model.adapter].frames == "needed":
        yield place, f"'{writer}' cannot write: adapter '{model.adapter}' gives {', '.join(asked)}."


def _prompt_problems(root: Path, kind: str, file: str, place: str) -> Iterator[tuple[str, str]]:
    there = [str(path.relative_to(root)) for path in (root / "resources/prompts").glob("**/*.yaml")]
    if not (root / file).is_file():
        yield place, f"no file '{file}'.{suggestion(file, there)}"
        return
    try:
        prompts = load_prompts(root / file)
    except UserError as error:
        yield place, str(error)
        return
    for name in PROMPTS[kind]:
        if name not in prompts:
            yield place, f"{file} has no prompt '{name}'. Needed: {', '.join(PROMPTS[kind])}."
