"""Models whose answers were made elsewhere: the settings of their files."""

from collections.abc import Collection, Iterator
from pathlib import Path

from reprise.config.configuration import Configuration
from reprise.core.errors import UserError, unknown
from reprise.core.files import inside
from reprise.external import FOLDER, has_importer, load_importer, load_rating_importer
from reprise.models.settings import ImportSettings


def import_settings(found: Configuration, slug: str) -> ImportSettings:
    """The settings of an imported model, which the configuration has checked."""
    return ImportSettings.model_validate(found.models[slug].settings)


def import_folder(slug: str, benchmark: str, folder: str) -> Path:
    """A folder of a model's files; a UserError if it is outside the model's own folder."""
    own = FOLDER / benchmark / slug
    if folder == ".":
        return own
    if inside(own, folder) is None:
        raise UserError(f"'{folder}' is not inside {own}.")
    return own / folder


def form_problems(benchmark: str, form: str) -> list[str]:
    """A form of question that the authors' files hold no answers to."""
    if not has_importer(benchmark):
        return [f"answers to '{benchmark}' cannot be imported: it has no file format."]
    forms = load_importer(benchmark).FORMS
    return [] if form in forms else [f"the authors' files hold no answers to form '{form}'. Forms: {', '.join(forms)}."]


def folder_problems(slug: str, found: Configuration, unreadable: Collection[str]) -> Iterator[tuple[str, str]]:
    """Key and reason of runs that no suite can have, and of folders outside the model's own."""
    settings = import_settings(found, slug)
    for key, runs, parts in (("runs", settings.runs, 3), ("ratings", settings.ratings, 4)):
        for run, folder in runs.items():
            try:
                _check_run(run.split("/"), parts, found, unreadable)
                import_folder(slug, run.split("/")[0], folder)
            except UserError as error:
                yield key, f"'{run}': {error}"


def _check_run(names: list[str], parts: int, found: Configuration, unreadable: Collection[str]) -> None:
    shape = "/".join(["<benchmark>", "<protocol>", "<sampling>", "<model>"][:parts])
    if len(names) != parts:
        raise UserError(f"a run is named {shape}.")
    benchmark, protocol, sampling, *rated = names
    if not has_importer(benchmark):
        raise UserError(f"answers to '{benchmark}' cannot be imported: it is not a benchmark, or has no file format.")
    spec = found.benchmarks.get(benchmark)  # none where the suite does not have the benchmark
    for what, name, allowed in (
        ("protocol", protocol, spec.protocols if spec else [protocol]),
        *(("model", name, [*found.models, *unreadable]) for name in rated),
    ):
        if name not in allowed:
            raise unknown(what, name, allowed, shape)
    for problem in found.main.sampling_problems(sampling):
        raise UserError(f"{shape}: {problem}")
    for problem in form_problems(benchmark, spec.protocols[protocol].form) if spec else ():
        raise UserError(problem)
    if rated and load_rating_importer(benchmark) is None:
        raise UserError(f"answers to '{benchmark}' are not rated by a judge.")
