"""Checks of a suite's constructions across files."""

from collections.abc import Collection, Iterator
from pathlib import Path

from reprise.benchmarks.prompts import load_prompts
from reprise.config.configuration import Configuration
from reprise.core.errors import UserError, choices, suggestion
from reprise.models.adapters import ADAPTERS

PROMPTS = {
    "velociti": ("caption", "action_adv", "action_manner"),
    "vinoground": ("pairs", "more"),
    "temporalbench": ("words", "events", "category"),
}
"""kind of construction -> the prompts that it asks its writer by"""


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
        yield from _writer_problems(found, unreadable, entry.construction.writer, f"{place}.writer")
        yield from _prompt_problems(root, entry.construction.kind, entry.construction.prompts, f"{place}.prompts")


def _writer_problems(
    found: Configuration, unreadable: Collection[str], writer: str, place: str
) -> Iterator[tuple[str, str]]:
    if writer in unreadable:
        return
    if writer not in found.models:
        yield place, f"unknown model '{writer}'.{choices(writer, [*found.models, *unreadable])}"
        return
    model = found.models[writer]
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
