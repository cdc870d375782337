"""The console command `reprise` (or `python -m reprise`); a subcommand's module is imported only when it runs."""

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from reprise.commands import command_line, completion
from reprise.core.errors import run_command
from reprise.core.paths import RUN_NAME

RUN = f"{RUN_NAME}, or as many of these parts as tell it from others"
RunName = Annotated[str, Argument(metavar="RUN", help=RUN, autocompletion=completion.runs)]
Suite = Annotated[
    str | None,
    Option(metavar="NAME", help="suite to look at instead of the configured one", autocompletion=completion.suites),
]
RESULTS, RUNS, GAPS = "Results", "Runs", "What is missing or failed"
VIDEOS, CONFIGURATION = "Videos and the store", "Configuration"

app = command_line(
    "Answers about results, and what snakemake does not do. Run it in the working directory of snakemake.",
    with_completion=True,
)


@app.command(rich_help_panel=RESULTS)
def show(
    table: Annotated[
        str,
        Argument(
            metavar="TABLE",
            help="<benchmark>/table<N>; or table<N> of every benchmark, every table of a <benchmark>, or overview",
            autocompletion=completion.tables,
        ),
    ],
    suite: Suite = None,
) -> None:
    """Show a table here, in the terminal."""
    from reprise.commands.show import show_tables

    show_tables(table, suite)


@app.command(rich_help_panel=RESULTS)
def trace(
    table: Annotated[str, Argument(metavar="TABLE", help="<benchmark>/table<N>", autocompletion=completion.tables)],
    row: Annotated[
        str, Option(metavar="LABEL", help="its row's label, with its frames or run where that is not enough")
    ],
    column: Annotated[str, Option(metavar="TITLE", help="its column's header")],
    suite: Suite = None,
) -> None:
    """Show what one cell of a table was made from."""
    from reprise.commands.show import trace_cell

    trace_cell(table, row, column, suite)


@app.command(rich_help_panel=RESULTS)
def item(
    run: RunName,
    name: Annotated[
        str | None, Argument(metavar="ITEM", help="id of an item; when omitted, those answered wrong are listed")
    ] = None,
    suite: Suite = None,
) -> None:
    """Show an item of a run, from its frames to its verdict."""
    from reprise.commands.item import show_item

    show_item(run, name, suite)


@app.command(rich_help_panel=RESULTS)
def compare(
    first: RunName,
    second: Annotated[
        str,
        Argument(
            metavar="OTHER_RUN",
            help="another run of the same questions; of another clone: <folder>:<run>",
            autocompletion=completion.runs,
        ),
    ],
    suite: Suite = None,
) -> None:
    """Compare two runs on the samples that both were asked."""
    from reprise.commands.compare import compare_runs

    compare_runs(first, second, suite)


@app.command(rich_help_panel=RESULTS)
def static(
    runs: Annotated[
        list[str], Argument(metavar="RUN", help=f"{RUN}; one for each seed", autocompletion=completion.runs)
    ],
    judge: Annotated[
        str | None,
        Option(
            metavar="MODEL",
            help="ratings by this judge instead of the suite's first one",
            autocompletion=completion.models,
        ),
    ] = None,
    least: Annotated[float, Option(metavar="RATING", help="mean rating from which a question counts as static")] = 2.5,
    suite: Suite = None,
) -> None:
    """List the questions that one random frame answers."""
    from reprise.commands.answers import list_static

    list_static(runs, judge, least, suite)


@app.command(rich_help_panel=RESULTS)
def export(
    run: RunName,
    to: Annotated[Path, Option(metavar="DIR", help="folder to write to")],
    suite: Suite = None,
) -> None:
    """Write a run's answers in its authors' file formats."""
    from reprise.commands.answers import export_run

    export_run(run, to, suite)


Model = Annotated[
    str,
    Argument(metavar="MODEL", help="<owner>/<name> on the Hugging Face hub, a folder of weights, or a model's name"),
]
Benchmarks = Annotated[
    str | None, Option(metavar="NAMES", help="such as vinoground,velociti; all that have an overview when omitted")
]
Frames = Annotated[
    str | None, Option(metavar="FRAMES", help="number of frames, or a sampling; the benchmark's own when omitted")
]
Name = Annotated[
    str | None, Option(metavar="NAME", help="name of the model's file; that of the repository or folder when omitted")
]
Gpus = Annotated[
    int | None, Option(metavar="N", min=0, help="GPUs of the model; when omitted 1 if this machine has one, else 0")
]
Engine = Annotated[
    Literal["transformers", "vllm"] | None,
    Option(metavar="NAME", help="transformers, or vllm: the job starts a server; transformers when omitted"),
]
Limit = Annotated[
    int | None,
    Option(
        metavar="N", min=2, help="ask about N videos, or pairs, of each benchmark only: a part that every output names"
    ),
]
Cores = Annotated[str, Option(metavar="N", help="CPU cores to use")]
DryRun = Annotated[bool, Option("--dry-run", "-n", help="say what would run, and change nothing")]
Yes = Annotated[bool, Option("--yes", "-y", help="run without a question")]


@app.command("eval", rich_help_panel=RUNS)
def evaluate(
    model: Model,
    benchmarks: Benchmarks = None,
    frames: Frames = None,
    name: Name = None,
    gpus: Gpus = None,
    engine: Engine = None,
    limit: Limit = None,
    cores: Cores = "all",
    dry_run: DryRun = False,
    yes: Yes = False,
    numbers: Annotated[
        Path | None,
        Option(
            "--json",
            metavar="FILE",
            dir_okay=False,
            writable=True,
            help="write the model's numbers there, with intervals, counts and keys",
        ),
    ] = None,
    suite: Suite = None,
) -> None:
    """Evaluate a model of yours: write its file, look at it, check it, ask it, and show its row of the overview."""
    from reprise.commands.evaluate import Order, evaluate_model

    evaluate_model(Order(model, benchmarks, frames, name, gpus, limit, cores, dry_run, yes, numbers, suite, engine))


@app.command(rich_help_panel=RUNS)
def time(
    model: Model,
    benchmarks: Benchmarks = None,
    frames: Frames = None,
    name: Name = None,
    gpus: Gpus = None,
    engine: Engine = None,
    limit: Limit = None,
    cores: Cores = "all",
    dry_run: DryRun = False,
    yes: Yes = False,
    suite: Suite = None,
) -> None:
    """Evaluate a model so that it shows whether it uses time: its card."""
    from reprise.commands.evaluate import Order, evaluate_model

    evaluate_model(
        Order(model, benchmarks, frames, name, gpus, limit, cores, dry_run, yes, None, suite, engine, "time")
    )


@app.command(rich_help_panel=RUNS)
def runs(suite: Suite = None) -> None:
    """List every run: done, stale, missing or failed."""
    from reprise.commands.runs import list_runs

    list_runs(suite)


@app.command(rich_help_panel=RUNS)
def plan(
    targets: Annotated[
        list[str] | None,
        Argument(
            metavar="TARGET",
            help="a table, a file that snakemake makes, or parts of a run's name; everything when omitted",
            autocompletion=completion.tables,
        ),
    ] = None,
    every: Annotated[bool, Option("--all", help="list every run, not only a screenful")] = False,
    suite: Suite = None,
) -> None:
    """Say what making tables would ask of which models, why, and what that takes."""
    from reprise.commands.plan import show_plan

    show_plan(targets or [], every, suite)


@app.command(rich_help_panel=RUNS)
def why(run: RunName, suite: Suite = None) -> None:
    """Say why a run is not done: which setting changed, what failed."""
    from reprise.commands.runs import explain_run

    explain_run(run, suite)


@app.command(rich_help_panel=GAPS)
def missing(
    every: Annotated[bool, Option("--all", help="list every one, not only the first of each reason")] = False,
    suite: Suite = None,
) -> None:
    """List missing videos, clips and items, why, and in which runs."""
    from reprise.commands.runs import list_missing

    list_missing(suite, every)


@app.command(rich_help_panel=GAPS)
def incomplete(
    tables: Annotated[
        list[str] | None,
        Argument(metavar="TABLE", help="<benchmark>/table<N>; all when omitted", autocompletion=completion.tables),
    ] = None,
    suite: Suite = None,
) -> None:
    """List the cells of finished tables that show no number."""
    from reprise.commands.runs import list_incomplete

    list_incomplete(tables or [], suite)


@app.command(rich_help_panel=GAPS)
def retry(
    words: Annotated[
        list[str] | None,
        Argument(
            metavar="RUN_OR_REASON",
            help=f"such as private, or {RUN_NAME}, in which * stands for anything; everything when omitted",
            autocompletion=completion.runs,
        ),
    ] = None,
    suite: Suite = None,
) -> None:
    """Have the next run try again what failed: videos, clips, answers."""
    from reprise.commands.runs import retry_failures

    retry_failures(words or [], suite)


@app.command(rich_help_panel=VIDEOS)
def subtitles(
    benchmark: Annotated[
        str, Argument(metavar="BENCHMARK", help="such as mmbench_video", autocompletion=completion.benchmarks)
    ],
    suite: Suite = None,
) -> None:
    """Copy downloaded subtitles to where their release is read from."""
    from reprise.commands.videos import copy_subtitles

    copy_subtitles(benchmark, suite)


@app.command(rich_help_panel=VIDEOS)
def store(
    prune: Annotated[
        bool, Option("--prune", help="delete videos and clips that no ledger in results/ names; asks first")
    ] = False,
    repair: Annotated[bool, Option("--repair", help="drop damaged lines of journals; they are asked again")] = False,
    used_by: Annotated[
        list[Path] | None,
        Option(metavar="FOLDER", help="a working directory that uses the store: what its results/ names is kept"),
    ] = None,
    yes: Annotated[bool, Option("--yes", help="delete without asking; needs --used-by")] = False,
) -> None:
    """Show the store's size, or delete what is not used."""
    from reprise.commands.videos import look_at_store

    look_at_store(prune=prune, repair=repair, used_by=used_by or [], yes=yes)


@app.command(rich_help_panel=CONFIGURATION)
def pin(
    names: Annotated[
        list[str] | None,
        Argument(metavar="NAME", help="models or suites; all when omitted", autocompletion=completion.pinned),
    ] = None,
    unchecked: Annotated[bool, Option("--unchecked", help="pin without a look at what the repositories hold")] = False,
) -> None:
    """Replace `revision: unpinned` by the current commit, if the repository is what its reader expects."""
    from reprise.commands.pin import pin_files

    pin_files(Path(), names or [], unchecked=unchecked)


@app.command(rich_help_panel=CONFIGURATION)
def check(
    model: Annotated[str, Argument(metavar="MODEL", help="such as toy-llava-ov")],
    questions: Annotated[int, Option(help="how many questions to ask in each of four ways", min=4)] = 36,
    suite: Suite = None,
) -> None:
    """Ask a model a few questions: does it see, does it answer, how fast."""
    from reprise.commands.check import check_model

    check_model(model, questions, suite)


def main() -> None:
    """Run the console command."""
    run_command(app)


if __name__ == "__main__":
    main()
