"""Command `publish`: write a model's numbers for the hub and Every Eval Ever, and a zip of its runs to pass on."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from reprise.benchmarks.health import find_problems
from reprise.benchmarks.registry import load_scores
from reprise.commands.output import write_lines
from reprise.commands.published_zip import CONTENT_DESCRIPTIONS, get_content, write_zip
from reprise.commands.shared import format_snakemake_call, load_plan
from reprise.core.errors import UserError
from reprise.core.files import draft_folder, write_text
from reprise.core.paths import RESULTS, ScoredRun
from reprise.core.schemas import METRICS, VERDICTS, read_table
from reprise.core.settings import Settings
from reprise.core.version import VERSION
from reprise.external.every_eval_ever import build_records
from reprise.external.model_card import build_leaderboard_files, create_card
from reprise.external.publication import Deployment, Publication, PublishedNumber, PublishedRun
from reprise.fetch.settings import ReleaseHub
from reprise.models.adapters import ADAPTERS
from reprise.plan.runs import Plan
from reprise.plan.states import RunState, RunStates
from reprise.plan.suite import all_settings
from reprise.report.redaction import Redactor


class PublishOptions(NamedTuple):
    """Arguments of the command `publish`."""

    runs: Sequence[str]
    to: Path | None = None
    organization: str = ""
    repo: str = ""
    push: bool = False
    suite: str | None = None


def publish_runs(options: PublishOptions) -> None:
    """Write the files of a publication, print them, and open a pull request if the user wants it."""
    plan = load_plan(options.suite)
    settings = all_settings(plan)
    runs = _find_runs(plan, options.runs)
    states = RunStates(plan, settings)
    publication = _describe(plan, [states.compute_state(scored) for scored in runs], settings, options)
    folder = options.to or RESULTS / "publish" / publication.slug
    redactor = _make_redactor(plan, publication.slug)
    now = datetime.now(UTC)
    files = {"README.md": str(create_card(publication)), **build_leaderboard_files(publication)}
    files |= {f"every_eval_ever/{name}": text for name, text in build_records(publication, now).items()}
    archive = folder / f"{publication.slug}.zip"
    with draft_folder(folder) as draft:
        write_zip(plan, settings, publication, draft / archive.name, redactor)
        for name, text in files.items():
            write_text(draft / name, redactor.redact(text))
    write_lines(str(path) for path in (*(folder / name for name in files), archive))
    for run in publication.runs:
        content = f"  The zip contains {CONTENT_DESCRIPTIONS[get_content(plan, run)]}."
        write_lines([f"{run.scored.name}: {' '.join(run.notes) or 'no notes.'}", content])
    if options.push:
        from reprise.commands.push import open_pull_request

        write_lines([open_pull_request(publication, redactor)])


def _find_runs(plan: Plan, queries: Sequence[str]) -> list[ScoredRun]:
    """Return the runs of one model, rated by the first judge of their benchmark if their answers are judged."""
    run_by_name = {scored.name: scored.run for scored in plan.scored_runs()}
    runs = []
    for query in queries:
        run = run_by_name.get(query) or plan.find_run(query)
        scored = ScoredRun(run, plan.find_judge(run) if plan.is_judged(run.benchmark, run.protocol) else "")
        if query in run_by_name and query not in (run.name, scored.name):
            raise UserError(f"publish: {query}: publish the ratings of the suite's first judge: {scored.name}.")
        runs.append(scored)
    models = sorted({scored.run.model for scored in runs})
    if len(models) > 1:
        raise UserError(
            f"publish: the runs belong to {len(models)} models ({', '.join(models)}). Call the command once for each."
        )
    return list(dict.fromkeys(runs))


def _describe(
    plan: Plan, states: Sequence[RunState], settings: dict[str, Settings], options: PublishOptions
) -> Publication:
    """Return the publication of one model's runs."""
    slug = states[0].scored_run.run.model
    model = plan.config.models[slug]
    adapter = ADAPTERS[model.adapter]
    deployment: Deployment = "self_deployed"
    if adapter.is_paid(model.settings):
        deployment = "externally_managed"
    elif adapter.is_import or (adapter.is_remote and model.served_by is None):
        deployment = "unknown"
    return Publication(
        slug=slug,
        label=model.label,
        repo=options.repo or model.repo or "",
        revision=model.revision or "" if model.repo else "",
        engine=model.served_by.engine if model.served_by else model.adapter,
        deployment=deployment,
        has_open_weights=model.repo is not None,
        organization=options.organization,
        version=VERSION,
        runs=[_describe_run(plan, state, settings, options.suite) for state in states],
    )


def _describe_run(plan: Plan, state: RunState, settings: dict[str, Settings], suite: str | None) -> PublishedRun:
    """Return a run with its main numbers, or raise a UserError if it is incomplete or looks broken."""
    scored, config = state.scored_run, plan.config
    run, metrics_path = scored.run, plan.results.metrics(scored)
    if state.name != "done":
        raise UserError(
            f"publish: {scored.name} is {state.name}, so its numbers are not published. `reprise why {scored.name}` "
            f"gives the reason; {format_snakemake_call(suite, metrics_path)} computes it."
        )
    rows = read_table(metrics_path, METRICS).filter(convention="fixed").to_dicts()
    problems = [] if config.models[run.model].reference else find_problems(rows)
    if problems:
        raise UserError(
            f"publish: {scored.name} looks broken, so its numbers are not published: {'; '.join(problems)}. "
            f"`reprise item {run.name}` shows its answers (docs/reference/health.md)."
        )
    benchmark, release = config.benchmarks[run.benchmark], config.suite.benchmarks[run.benchmark].release
    hub = release if isinstance(release, ReleaseHub) else None
    answered = datetime.fromtimestamp(plan.results.responses(run).stat().st_mtime, UTC)
    return PublishedRun(
        scored=scored,
        title=benchmark.title if hub else f"{benchmark.title} ({config.suite.title})",
        name=run.benchmark if hub else f"{run.benchmark}-{release.kind}",
        dataset=hub.repo if hub else "",
        revision=(hub.revision or "") if hub else "",
        hub_task=config.suite.benchmarks[run.benchmark].hub_task,
        limit=config.limit,
        numbers=_select_numbers(plan, scored, rows),
        max_value=_find_max_value(plan, scored),
        level=config.main.confidence,
        date=answered.date().isoformat(),
        key=rows[0]["key"],
        notes=list(_list_notes(plan, state)),
    )


def _select_numbers(plan: Plan, scored: ScoredRun, rows: Sequence[dict[str, Any]]) -> list[PublishedNumber]:
    """Return the numbers of the overview, or the accuracies of the largest group if the run has none of them."""
    tables = plan.config.tables[scored.run.benchmark]
    columns = tables.overview.columns if tables.overview else ()
    # (metric, group) of each number in the overview -> title
    titles = {
        (metric, column.group): tables.abbreviations.get(column.title, column.title)
        for column in columns
        for metric in column.metrics or ()
    }
    measured = [row for row in rows if row["value"] is not None]
    selected = [row for key in titles for row in measured if (row["metric"], row["group"]) == key]
    if not selected:
        # Metrics with a chance level are accuracies.
        accuracies = [row for row in measured if row["metric"] in load_scores(scored.run.benchmark).CHANCE]
        max_requested = max((row["requested"] for row in accuracies), default=0)
        selected = [row for row in accuracies if row["requested"] == max_requested]
    if not selected:
        raise UserError(f"publish: {scored.name} has no accuracy and no rating, and other numbers are not published.")
    return [
        PublishedNumber(
            metric=row["metric"],
            group=row["group"],
            title=titles.get((row["metric"], row["group"]), f"{row['metric']}, {row['group']}".replace("_", " ")),
            **{name: row[name] for name in ("value", "low", "high", "scored")},
        )
        for row in selected
    ]


def _find_max_value(plan: Plan, scored: ScoredRun) -> float:
    """Return the best rating if a judge rates the answers, or else 100 percent."""
    if scored.judge and read_table(plan.results.verdicts(scored.run, scored.judge), VERDICTS)["score"].count():
        return plan.config.benchmarks[scored.run.benchmark].protocols[scored.run.protocol].max_rating
    return 100


def _list_notes(plan: Plan, state: RunState) -> Iterator[str]:
    """Yield what a reader of the numbers must know: the sample, missing and failed answers, and the suite's notice."""
    suite, counts = plan.config.suite, state.counts
    model = plan.config.models[state.scored_run.run.model]
    if plan.config.limit:
        yield f"A sample of at most {plan.config.limit} videos or pairs of the benchmark (--limit)."
    if counts.missing:
        yield f"{counts.missing} requests without a clip are left out."
    if counts.failed:
        yield f"{counts.failed} failed answers count as wrong."
    if counts.unparsed:
        yield f"{counts.unparsed} answers could not be parsed and count as wrong."
    if plan.config.is_import(state.scored_run.run.model):
        yield "The answers were imported from another evaluation."
    if model.reference:
        yield "A baseline."
    if suite.notice:
        yield suite.notice


def _make_redactor(plan: Plan, slug: str) -> Redactor:
    """Return the redactor of local paths, the address of the model's server, and secrets."""
    model_settings = plan.config.models[slug].settings
    secrets = ["HF_TOKEN", *([model_settings["key"]] if model_settings.get("key") else [])]
    servers = [str(model_settings["url"])] if model_settings.get("url") else []
    return Redactor([Path(), plan.store.root, Path.home()], servers, secrets)
