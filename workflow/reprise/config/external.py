"""What the file of an imported model says: which runs lie where."""

from pathlib import Path

from pydantic import Field, ValidationError

from reprise.config.schema import Configuration, Model, Strict
from reprise.core.errors import UserError, unknown
from reprise.core.files import inside
from reprise.external import FOLDER, has_importer, load_importer, load_rating_importer
from reprise.models.adapters import ADAPTERS


class ImportSettings(Strict):
    """`settings:` of an imported model; folders are under `resources/imports/<benchmark>/<slug>/`."""

    runs: dict[str, str] = Field({})
    """<benchmark>/<protocol>/<sampling> -> folder of answers"""
    ratings: dict[str, str] = Field({})
    """<benchmark>/<protocol>/<sampling>/<model> -> folder of this judge's ratings of that run"""


def is_import(model: Model) -> bool:
    """Whether a model's answers lie in files."""
    return model.adapter in ADAPTERS and ADAPTERS[model.adapter].is_import


def import_settings(model: Model) -> ImportSettings:
    """The settings of an imported model, which the configuration has checked."""
    return ImportSettings.model_validate(model.settings)


def import_folder(slug: str, benchmark: str, folder: str) -> Path:
    """Where the files lie; a folder outside that of the model is the user's mistake."""
    own = FOLDER / benchmark / slug
    if folder == ".":
        return own
    if inside(own, folder) is None:
        raise UserError(f"'{folder}' is not inside {own}.")
    return own / folder


def import_problems(slug: str, model: Model, found: Configuration) -> list[str]:
    """Runs that no suite could have, and folders that lead out."""
    try:
        settings = import_settings(model)
    except ValidationError as error:
        return [
            f"settings.{'.'.join(map(str, one['loc']))}: {one['msg'].lower()}; an imported model has runs and ratings."
            for one in error.errors()
        ]
    if not settings.runs and not settings.ratings:
        return ["settings.runs: missing; say for each run in which folder its answers are."]
    problems = []
    for key, runs, parts in (("runs", settings.runs, 3), ("ratings", settings.ratings, 4)):
        for run, folder in runs.items():
            try:
                _check_run(run.split("/"), parts, found)
                import_folder(slug, run.split("/")[0], folder)
            except UserError as error:
                problems.append(f"settings.{key}: '{run}': {error}")
    return problems


def _check_run(names: list[str], parts: int, found: Configuration) -> None:
    shape = "/".join(["<benchmark>", "<protocol>", "<sampling>", "<model>"][:parts])
    if len(names) != parts:
        raise UserError(f"a run is named {shape}.")
    benchmark, protocol, sampling, *rated = names
    if not has_importer(benchmark):
        raise UserError(f"answers to '{benchmark}' cannot be imported: it is no benchmark, or has no file format.")
    spec = found.benchmarks.get(benchmark)
    for what, name, allowed in (
        ("protocol", protocol, list(spec.protocols) if spec else [protocol]),  # the suite may not have the benchmark
        ("sampling", sampling, list(found.main.samplings)),
        *(("model", name, list(found.models)) for name in rated),
    ):
        if name not in allowed:
            raise unknown(what, name, allowed, shape)
    forms = load_importer(benchmark).FORMS
    if spec and spec.protocols[protocol].form not in forms:
        raise UserError(
            f"the authors' files hold no answers to form '{spec.protocols[protocol].form}'. Forms: {', '.join(forms)}."
        )
    if rated and load_rating_importer(benchmark) is None:
        raise UserError(f"nobody rates answers to '{benchmark}'.")
