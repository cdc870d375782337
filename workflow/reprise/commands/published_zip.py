"""Write the zip of `reprise publish`: the pages, items, answers, numbers and provenance of a model's runs."""

import json
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from reprise.commands.answers import answers
from reprise.config.suite import PublishedContent
from reprise.core.errors import UserError
from reprise.core.files import atomic_path
from reprise.core.lineage import Lineages
from reprise.core.paths import settings_name
from reprise.core.schemas import METRICS, read_table
from reprise.core.settings import Settings
from reprise.external.publication import Publication, PublishedRun
from reprise.plan.runs import Plan
from reprise.report.bundle import RedactedFolder, select_runs, write_bundle
from reprise.report.inputs import list_inputs
from reprise.report.keys import ReportKey
from reprise.report.redaction import Redactor

CONTENT_DESCRIPTIONS: dict[PublishedContent, str] = {
    "answers": "ids, answers and verdicts, without texts and videos of the benchmark",
    "texts": "answers, verdicts, texts and prompts, without videos",
    "clips": "answers, verdicts, texts, prompts and videos",
}
# Columns of the answers that contain texts of the benchmark.
TEXT_COLUMNS = ("prompt", "options", "expected")
ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # A fixed time gives the same bytes for the same runs.


def get_content(plan: Plan, run: PublishedRun) -> PublishedContent:
    """Return what the suite allows users to pass on of a run's benchmark (`publish:`)."""
    return plan.config.suite.benchmarks[run.scored.run.benchmark].publish


def write_zip(
    plan: Plan, settings: dict[str, Settings], publication: Publication, path: Path, redactor: Redactor
) -> None:
    """Write the zip of a publication.

    Args:
        plan: The plan of the suite.
        settings: Settings of all jobs of the suite, by name.
        publication: The model and its runs.
        path: File to write.
        redactor: Removes private names from all texts.

    Raises:
        UserError: A result that the zip contains is missing.
    """
    report_key = settings[settings_name("report")]
    assert isinstance(report_key, ReportKey)
    key = select_runs(report_key, {run.scored.name for run in publication.runs})
    # The pages of runs need neither tables, figures nor the list of missing videos.
    unused = plan.results.folder / "sources" / "missing.md"
    benchmarks = tuple(benchmark.model_copy(update={"tables": (), "figures": ()}) for benchmark in key.benchmarks)
    inputs = list_inputs(key.model_copy(update={"benchmarks": benchmarks}), plan.results)
    missing_file = next((file for file in inputs if not file.is_file() and file != unused), None)
    if missing_file is not None:
        raise UserError(f"publish: {missing_file} not found. Make it first: snakemake {missing_file}")
    contents = {run.scored.run.benchmark: get_content(plan, run) for run in publication.runs}
    with TemporaryDirectory() as temporary:
        root = Path(temporary)
        descriptions = _describe_contents(plan, publication)
        folder = write_bundle(key, plan.results, plan.store, root, settings, contents, descriptions, redactor)
        for run in publication.runs:
            _write_run_files(plan, run, folder, contents[run.scored.run.benchmark])
        lines = [("model", f"{publication.label} ({publication.model_id})"), *descriptions]
        folder.write("README.txt", "".join(f"{name}: {text}\n" for name, text in lines))
        with atomic_path(path) as target, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(file for file in root.rglob("*") if file.is_file()):
                name = f"{publication.slug}/{file.relative_to(root).as_posix()}"
                member = zipfile.ZipInfo(name, ZIP_TIME)
                # The upper 16 bits are the permissions of the unpacked file.
                member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                archive.writestr(member, file.read_bytes())


def _describe_contents(plan: Plan, publication: Publication) -> list[tuple[str, str]]:
    """Return name and description of each file, note and licence for the README of the zip."""
    descriptions = [
        ("index.html", "the runs of this folder, with links to their pages and items"),
        ("items.html", "every item with its answers"),
        ("answers/", "the answers of a run, one JSON object on each line"),
        ("numbers/", "all numbers of a run, in both conventions"),
        ("provenance/", "the jobs that led to the numbers, with their settings and the digests of their inputs"),
    ]
    for run in publication.runs:
        descriptions += [(run.scored.name, note) for note in run.notes]
        terms = plan.config.suite.benchmarks[run.scored.run.benchmark].redistribution
        descriptions.append((run.title, f"{CONTENT_DESCRIPTIONS[get_content(plan, run)]}. {terms}".strip()))
    return list(dict.fromkeys(descriptions))


def _write_run_files(plan: Plan, run: PublishedRun, folder: RedactedFolder, content: PublishedContent) -> None:
    """Write the answers, the numbers and the provenance of a run."""
    name = run.scored.name.replace("/", ".")
    frame = answers(run.scored.run.name, plan.config.name)
    if content == "answers":
        frame = frame.drop(TEXT_COLUMNS)
    folder.write(f"answers/{name}.jsonl", frame.write_ndjson())
    metrics = read_table(plan.results.metrics(run.scored), METRICS)
    folder.write(f"numbers/{name}.csv", metrics.write_csv())
    steps = [
        {"file": step.path.as_posix(), **{name: value for name, value in step.provenance._asdict().items() if value}}
        for step in Lineages().trace(plan.results.metrics(run.scored))
    ]
    folder.write(f"provenance/{name}.json", json.dumps(steps, indent=1, ensure_ascii=False, default=dict) + "\n")
