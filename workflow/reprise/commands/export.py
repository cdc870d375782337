"""`export`: a run's answers in its authors' file formats, for their scorers and for `import`."""

from collections.abc import Mapping
from pathlib import Path

from reprise.benchmarks.rows import chosen_items
from reprise.commands.plans import plan_of
from reprise.core.errors import UserError
from reprise.core.schemas import ITEMS, REQUESTS, RESPONSES, read_table
from reprise.external import AnswerFiles, has_importer, load_importer
from reprise.media.sampling import frames_shown


def export_run(name: str, folder: Path, suite: str | None = None) -> None:
    """Write the files and print their names; a question whose clip is missing is written as one that failed."""
    plan = plan_of(suite)
    run = plan.find_run(name)
    protocol = plan.config.benchmarks[run.benchmark].protocols[run.protocol]
    formats = load_importer(run.benchmark).FORMS if has_importer(run.benchmark) else {}
    write = formats[protocol.form].write if protocol.form in formats else None
    if write is None:
        raise UserError(
            f"export: the authors of {run.benchmark} have no file format of answers to form '{protocol.form}'."
            f"{_others(formats)}"
        )
    responses = plan.results.responses(run)
    if not responses.is_file():
        raise UserError(f"export: {responses} not found. Make it first: snakemake {responses}")
    items = read_table(plan.results.items(run.benchmark), ITEMS)
    requests = read_table(plan.results.requests(run.benchmark, run.protocol), REQUESTS)
    answers = read_table(responses, RESPONSES).select("request_id", "text", "scores", "error")
    answered = requests.join(answers, on="request_id", how="left", maintain_order="left")
    answered = answered.with_columns(answered["error"].fill_null("missing"))
    frames = frames_shown(plan.config.main.samplings[run.sampling])
    label = run.model if frames is None else f"{run.model}-frame{frames}"
    for path in write(folder, label, chosen_items(items, protocol.items), answered):
        print(path)


def _others(formats: Mapping[str, AnswerFiles]) -> str:
    """The forms whose answers can be exported."""
    known = [form for form, files in formats.items() if files.write is not None]
    return f" Forms that have one: {', '.join(known)}." if known else ""
