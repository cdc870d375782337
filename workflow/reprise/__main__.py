"""The console command `reprise` (or `python -m reprise`); a subcommand's module is imported only when it runs."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from reprise.commands import command_line
from reprise.core.errors import run_command
from reprise.core.paths import RUN_NAME

RunName = Annotated[str, Argument(metavar="RUN", help=RUN_NAME)]
Judge = Annotated[str | None, Option(metavar="MODEL", help="ratings by this judge instead of the suite's first one")]
RUNS, FAILURES, TABLES = "Runs", "Failures", "Tables"
VIDEOS, CONFIGURATION = "Videos and the store", "Configuration"

app = command_line("Commands besides snakemake, to run in the folder of the Snakefile.")


@app.command(rich_help_panel=RUNS)
def adopt(
    run: RunName,
    why: Annotated[str, Option(help="the reason, repeated in the provenance")],
    judge: Annotated[str | None, Option(metavar="MODEL", help="carry over this judge's replies to the run")] = None,
    sample: Annotated[int, Option(help="number of answers to ask again first")] = 20,
) -> None:
    """Keep a run's answers after a change that cannot alter them."""
    from reprise.commands.adopt import adopt_run

    adopt_run(run, why, sample, judge)


@app.command(rich_help_panel=RUNS)
def compare(
    first: Annotated[str, Argument(metavar="RUN", help=RUN_NAME)],
    second: Annotated[str, Argument(metavar="OTHER_RUN", help="another run of the same questions")],
) -> None:
    """Compare two runs on the samples that both were asked."""
    from reprise.commands.compare import compare_runs

    compare_runs(first, second)


@app.command(rich_help_panel=RUNS)
def export(
    run: RunName,
    to: Annotated[Path, Option(metavar="DIR", help="folder to write to")],
) -> None:
    """Write a run's answers in its authors' file formats."""
    from reprise.commands.export import export_run

    export_run(run, to)


@app.command(rich_help_panel=FAILURES)
def status(
    suite: Annotated[str | None, Option(help="suite to look at instead of the configured one")] = None,
) -> None:
    """List what failed, why, and what the next run tries again: sources, clips, answers."""
    from reprise.commands.status import show_status

    show_status(suite)


@app.command(rich_help_panel=FAILURES)
def retry(
    words: Annotated[
        list[str] | None,
        Argument(
            metavar="RUN_OR_REASON",
            help=f"such as private, or {RUN_NAME}, in which * stands for anything; everything when omitted",
        ),
    ] = None,
) -> None:
    """Make the next run try again what failed: sources, clips, answers."""
    from reprise.commands.retry import retry_failures

    retry_failures(words or [])


@app.command(rich_help_panel=TABLES)
def incomplete(
    tables: Annotated[
        list[str] | None, Argument(metavar="TABLE", help="<benchmark>/table<N>; all when omitted")
    ] = None,
    suite: Annotated[str | None, Option(help="suite to look at instead of the configured one")] = None,
) -> None:
    """List the cells of finished tables that show no number."""
    from reprise.commands.incomplete import list_incomplete

    list_incomplete(tables or [], suite)


@app.command(rich_help_panel=TABLES)
def static(
    runs: Annotated[list[str], Argument(metavar="RUN", help=f"{RUN_NAME}, one for each seed")],
    judge: Judge = None,
    least: Annotated[float, Option(help="mean rating from which a question counts as static")] = 2.5,
) -> None:
    """List the questions that one random frame answers."""
    from reprise.commands.static_questions import list_static

    list_static(runs, judge, least)


@app.command(rich_help_panel=VIDEOS)
def subtitles(
    benchmark: Annotated[str, Argument(metavar="BENCHMARK", help="such as mmbench_video")],
) -> None:
    """Copy downloaded subtitles to the folder that their release is read from."""
    from reprise.commands.subtitles import copy_subtitles

    copy_subtitles(benchmark)


@app.command(rich_help_panel=VIDEOS)
def store(
    prune: Annotated[
        bool, Option("--prune", help="delete videos and clips that no clone's ledgers in results/ name")
    ] = False,
    repair: Annotated[bool, Option("--repair", help="drop damaged lines of journals; they are asked again")] = False,
    forget: Annotated[
        Path | None, Option(metavar="FOLDER", help="a clone that is gone: --prune no longer spares what it names")
    ] = None,
) -> None:
    """Show the store's size, or delete what is not used."""
    from reprise.commands.store import forget_clone, prune_store, repair_store, show_store

    if forget is not None:
        forget_clone(forget)
    if repair:
        repair_store()
    if prune:
        prune_store()
    if not (forget or repair or prune):
        show_store()


@app.command(rich_help_panel=CONFIGURATION)
def pin(
    names: Annotated[list[str] | None, Argument(metavar="NAME", help="models or suites; all when omitted")] = None,
    unchecked: Annotated[bool, Option("--unchecked", help="pin without a look at what the repositories hold")] = False,
) -> None:
    """Replace `revision: unpinned` by the current commit, if the repository is what its reader expects."""
    from reprise.commands.pin import pin_files

    pin_files(Path(), names or [], unchecked=unchecked)


@app.command(rich_help_panel=CONFIGURATION)
def check(
    model: Annotated[str, Argument(metavar="MODEL", help="such as toy-llava-ov")],
    questions: Annotated[int, Option(help="how many questions to ask in each of four ways", min=4)] = 36,
) -> None:
    """Ask a model a few questions: does it see the clips, does it answer, how long does that take."""
    from reprise.commands.check import check_model

    check_model(model, questions)


def main() -> None:
    """The console command."""
    run_command(app)


if __name__ == "__main__":
    main()
