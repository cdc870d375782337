"""Checks of models whose answers were made elsewhere: the runs that their files name, and the folders."""

from reprise.config.imported import form_problems, import_folder, import_settings
from reprise.config.known import Known
from reprise.config.problems import Notes
from reprise.core.errors import UserError, unknown
from reprise.external import has_importer, load_rating_importer


def check_imports(known: Known, slug: str, suite: Notes) -> None:
    """Note runs that no suite can have, and folders outside the model's own."""
    settings, place = import_settings(known.found, slug), slug if slug in known.found.external else "settings"
    for key, runs, parts in (("runs", settings.runs, 3), ("ratings", settings.ratings, 4)):
        notes = suite.of(known.found.file_of(slug)).at(f"{place}.{key}")
        for run, folder in runs.items():
            try:
                _check_run(known, run.split("/"), parts)
                import_folder(slug, run.split("/")[0], folder)
            except UserError as error:
                notes.say(f"'{run}': {error}")


def _check_run(known: Known, names: list[str], parts: int) -> None:
    shape = "/".join(["<benchmark>", "<protocol>", "<sampling>", "<model>"][:parts])
    if len(names) != parts:
        raise UserError(f"a run is named {shape}.")
    benchmark, protocol, sampling, *rated = names
    if not has_importer(benchmark):
        raise UserError(f"answers to '{benchmark}' cannot be imported: it is not a benchmark, or has no file format.")
    spec = known.found.benchmarks.get(benchmark)  # none where the suite does not have the benchmark
    for what, name, allowed in (
        ("protocol", protocol, spec.protocols if spec else [protocol]),
        *(("model", name, [*known.found.models, *known.unreadable]) for name in rated),
    ):
        if name not in allowed:
            raise unknown(what, name, allowed, shape)
    for problem in known.sampling(sampling):
        raise UserError(f"{shape}: {problem}")
    for problem in form_problems(benchmark, spec.protocols[protocol].form) if spec else ():
        raise UserError(problem)
    if rated and load_rating_importer(benchmark) is None:
        raise UserError(f"answers to '{benchmark}' are not rated by a judge.")
