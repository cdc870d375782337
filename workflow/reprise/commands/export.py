"""`export`: a run's answers in its authors' file formats, for their scorers and for `import`."""

from pathlib import Path

from reprise.benchmarks.rows import chosen_items
from reprise.config import load
from reprise.core.errors import UserError
from reprise.core.schemas import ITEMS, REQUESTS, RESPONSES, read_table
from reprise.external import has_importer, load_importer
from reprise.media.sampling import frames_shown
from reprise.plan.runs import Plan


def export_run(name: str, folder: Path) -> None:
    """Write the files and print their names; a question whose clip is missing is written as one that failed."""
    plan = Plan(load(Path()))
    run = plan.find_run(name)
    protocol = plan.config.benchmarks[run.benchmark].protocols[run.protocol]
    if not has_importer(run.benchmark) or protocol.form not in load_importer(run.benchmark).FORMS:
        raise UserError(f"export: the authors of {run.benchmark} have no files of answers to form '{protocol.form}'.")
    responses = plan.results.responses(run)
    if not responses.is_file():
        raise UserError(f"export: {responses} is not there. Make it first: snakemake {responses}")
    items = read_table(plan.results.items(run.benchmark), ITEMS)
    requests = read_table(plan.results.requests(run.benchmark, run.protocol), REQUESTS)
    answers = read_table(responses, RESPONSES).select("request_id", "text", "scores", "error")
    answered = requests.join(answers, on="request_id", how="left", maintain_order="left")
    answered = answered.with_columns(answered["error"].fill_null("missing"))
    frames = frames_shown(plan.config.main.samplings[run.sampling])
    label = run.model if frames is None else f"{run.model}-frame{frames}"
    for path in load_importer(run.benchmark).write(folder, label, chosen_items(items, protocol.items), answered):
        print(path)
