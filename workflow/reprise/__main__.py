"""Console command `reprise` (or `python -m reprise`), which imports the module of a command only to run it."""

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, BadParameter, Exit, Option

from reprise.commands import command_line, completion
from reprise.core.errors import run_command
from reprise.core.paths import RUN_NAME
from reprise.core.version import VERSION

RUN_HELP = f"{RUN_NAME}, or enough of these parts to be unique"
RunArgument = Annotated[str, Argument(metavar="RUN", help=RUN_HELP, autocompletion=completion.complete_runs)]


def parse_suite(setting: str) -> str:
    """Return the name of the suite in `suite=NAME`."""
    key, _, name = setting.partition("=")
    if key != "suite" or not name:
        raise BadParameter(f"'{setting}' should be suite=<name>. Change other settings in config/config.yaml.")
    return name


SuiteOption = Annotated[
    str | None,
    Option(
        *("--config", "-C"),
        metavar="suite=NAME",
        parser=parse_suite,
        help="suite to use instead of the configured one, as in snakemake",
        autocompletion=completion.complete_suites,
    ),
]
RESULTS, RUNS, GAPS = "Results", "Runs", "Missing and failed results"
VIDEOS, CONFIGURATION = "Videos and the store", "Configuration"

app = command_line(
    "Inspect results, evaluate models and maintain the store. Run it in the working directory of snakemake.",
    with_completion=True,
)


def print_version(is_requested: bool) -> None:
    """Print the version and end the command, if the option is present."""
    if is_requested:
        print(f"reprise {VERSION}")
        raise Exit


@app.callback()
def set_global_options(
    version: Annotated[
        bool, Option("--version", callback=print_version, is_eager=True, help="show the version and exit")
    ] = False,
) -> None:
    """Accept the options that precede a command."""


@app.command(rich_help_panel=RESULTS)
def show(
    table: Annotated[
        str,
        Argument(
            metavar="TABLE",
            help="<benchmark>/table<N>, table<N> of every benchmark, <benchmark> for all of its tables, or overview",
            autocompletion=completion.complete_tables,
        ),
    ],
    suite: SuiteOption = None,
) -> None:
    """Show a table in the terminal."""
    from reprise.commands.show import show_tables

    show_tables(table, suite)


@app.command(rich_help_panel=RESULTS)
def trace(
    table: Annotated[
        str, Argument(metavar="TABLE", help="<benchmark>/table<N>", autocompletion=completion.complete_tables)
    ],
    row: Annotated[str, Option(metavar="LABEL", help="label of the row, with its frames or run if needed")],
    column: Annotated[str, Option(metavar="TITLE", help="header of the column")],
    suite: SuiteOption = None,
) -> None:
    """Show the lineage of one cell of a table."""
    from reprise.commands.show import trace_cell

    trace_cell(table, row, column, suite)


@app.command(rich_help_panel=RESULTS)
def item(
    run: RunArgument,
    item_id: Annotated[
        str | None, Argument(metavar="ITEM", help="id of an item; lists the wrong answers when omitted")
    ] = None,
    suite: SuiteOption = None,
) -> None:
    """Show an item of a run, from its frames to its verdict."""
    from reprise.commands.item import show_item

    show_item(run, item_id, suite)


@app.command(rich_help_panel=RESULTS)
def compare(
    first: RunArgument,
    second: Annotated[
        str,
        Argument(
            metavar="OTHER_RUN",
            help="run of the same benchmark and kind of protocol (`form:`); <folder>:<run> for a run of another clone",
            autocompletion=completion.complete_runs,
        ),
    ],
    suite: SuiteOption = None,
) -> None:
    """Compare two runs on their common samples."""
    from reprise.commands.compare import compare_runs

    compare_runs(first, second, suite)


@app.command(rich_help_panel=RESULTS)
def static(
    runs: Annotated[
        list[str],
        Argument(metavar="RUN", help=f"{RUN_HELP}; one for each seed", autocompletion=completion.complete_runs),
    ],
    judge: Annotated[
        str | None,
        Option(
            metavar="MODEL",
            help="ratings by this judge instead of the suite's first one",
            autocompletion=completion.complete_models,
        ),
    ] = None,
    least: Annotated[float, Option(metavar="RATING", help="minimal mean rating of such a question")] = 2.5,
    suite: SuiteOption = None,
) -> None:
    """List the questions of MMBench-Video that one frame answers."""
    from reprise.commands.answers import list_static

    list_static(runs, judge, least, suite)


@app.command(rich_help_panel=RESULTS)
def export(
    run: RunArgument,
    to: Annotated[Path, Option(metavar="DIR", help="folder to write to")],
    suite: SuiteOption = None,
) -> None:
    """Write a run's answers in the file formats of the benchmark's authors."""
    from reprise.commands.answers import export_run

    export_run(run, to, suite)


@app.command(rich_help_panel=RESULTS)
def publish(
    runs: Annotated[
        list[str],
        Argument(metavar="RUN", help=f"runs of one model: {RUN_HELP}", autocompletion=completion.complete_runs),
    ],
    to: Annotated[
        Path | None,
        Option(metavar="DIR", file_okay=False, help="folder to write to; results/publish/<model> when omitted"),
    ] = None,
    organization: Annotated[str, Option(metavar="NAME", help="who publishes the numbers, for Every Eval Ever")] = "",
    repo: Annotated[
        str, Option(metavar="OWNER/NAME", help="repository of the model on the hub, if its file names none")
    ] = "",
    push: Annotated[bool, Option("--push", help="open a pull request at the model's repository on the hub")] = False,
    suite: SuiteOption = None,
) -> None:
    """Write the numbers and answers of a model for the hub and for others."""
    from reprise.commands.publish import PublishOptions, publish_runs

    publish_runs(PublishOptions(runs, to, organization, repo, push, suite))


ModelArgument = Annotated[
    str,
    Argument(
        metavar="MODEL",
        help="<owner>/<name> on the Hugging Face hub, a folder of weights, the address of a server "
        "(http://<host>:<port>/v1), or a model's name",
    ),
]
BenchmarksOption = Annotated[
    str | None, Option(metavar="NAMES", help="such as vinoground,velociti; all benchmarks of the overview when omitted")
]
SelectedBenchmarksOption = Annotated[
    str | None,
    Option("--benchmarks", metavar="NAMES", help="such as vinoground,velociti; all of the suite when omitted"),
]
FramesOption = Annotated[
    str | None, Option(metavar="FRAMES", help="number of frames, or a sampling; that of the benchmark when omitted")
]
NameOption = Annotated[
    str | None, Option(metavar="NAME", help="name of the model's file; that of the repository or folder when omitted")
]
GpusOption = Annotated[
    int | None, Option(metavar="N", min=0, help="GPUs of the model; when omitted 1 if this machine has one, else 0")
]
EngineOption = Annotated[
    Literal["transformers", "vllm"] | None,
    Option(metavar="NAME", help="transformers, or vllm, which the job starts as a server; transformers when omitted"),
]
ServedModelOption = Annotated[
    str | None, Option(metavar="NAME", help="model at a server that offers several; its only one when omitted")
]
LimitOption = Annotated[
    int | None,
    Option(metavar="N", min=2, help="evaluate a sample of N videos or pairs of each benchmark; every output names it"),
]
CoresOption = Annotated[str, Option(metavar="N", help="CPU cores to use")]
DryRunOption = Annotated[bool, Option("--dry-run", "-n", help="show what would run, without changes")]
YesOption = Annotated[bool, Option("--yes", "-y", help="run without confirmation")]
NoCheckOption = Annotated[bool, Option("--no-check", help="run without the vision check")]


@app.command("eval", rich_help_panel=RUNS)
def evaluate(
    model: ModelArgument,
    benchmarks: BenchmarksOption = None,
    frames: FramesOption = None,
    name: NameOption = None,
    gpus: GpusOption = None,
    engine: EngineOption = None,
    served_model: ServedModelOption = None,
    limit: LimitOption = None,
    cores: CoresOption = "all",
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    no_check: NoCheckOption = False,
    json_file: Annotated[
        Path | None,
        Option(
            "--json",
            metavar="FILE",
            dir_okay=False,
            writable=True,
            help="file for the model's numbers, with intervals, counts and keys",
        ),
    ] = None,
    suite: SuiteOption = None,
) -> None:
    """Evaluate a model: write its file, check it, run it, and show its row of the overview."""
    from reprise.commands.evaluate import EvaluationOptions, evaluate_model

    evaluate_model(
        EvaluationOptions(
            model,
            benchmarks,
            frames,
            name,
            gpus,
            limit,
            cores,
            dry_run,
            yes,
            json_file,
            suite,
            engine,
            no_check,
            served_model=served_model,
        )
    )


@app.command(rich_help_panel=RUNS)
def temporal(
    model: ModelArgument,
    benchmarks: BenchmarksOption = None,
    frames: FramesOption = None,
    name: NameOption = None,
    gpus: GpusOption = None,
    engine: EngineOption = None,
    served_model: ServedModelOption = None,
    limit: LimitOption = None,
    cores: CoresOption = "all",
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    no_check: NoCheckOption = False,
    suite: SuiteOption = None,
) -> None:
    """Evaluate a model under temporal ablations and write its temporal profile."""
    from reprise.commands.evaluate import EvaluationOptions, evaluate_model

    evaluate_model(
        EvaluationOptions(
            model,
            benchmarks,
            frames,
            name,
            gpus,
            limit,
            cores,
            dry_run,
            yes,
            None,
            suite,
            engine,
            no_check,
            "temporal",
            served_model,
        )
    )


@app.command(rich_help_panel=RUNS)
def runs(suite: SuiteOption = None) -> None:
    """List all runs with their state: done, stale, missing or failed."""
    from reprise.commands.runs import list_runs

    list_runs(suite)


@app.command(rich_help_panel=RUNS)
def plan(
    targets: Annotated[
        list[str] | None,
        Argument(
            metavar="TARGET",
            help="table, result file, parts of a run's name, or a model: its name, <owner>/<name> on the hub, or a "
            "folder of weights; everything when omitted",
            autocompletion=completion.complete_tables,
        ),
    ] = None,
    show_all: Annotated[bool, Option("--all", help="list every run, not only the first ones")] = False,
    benchmarks: BenchmarksOption = None,
    suite: SuiteOption = None,
) -> None:
    """List pending inference with time and cost, and the data, weights, GPU time and licences that it needs."""
    from reprise.commands.plan import show_plan

    show_plan(targets or [], show_all, suite, benchmarks)


@app.command(rich_help_panel=RUNS)
def why(run: RunArgument, suite: SuiteOption = None) -> None:
    """Explain why a run is not done: changed settings and failures."""
    from reprise.commands.runs import explain_run

    explain_run(run, suite)


@app.command(rich_help_panel=GAPS)
def missing(
    show_all: Annotated[bool, Option("--all", help="list all of them, not only the first of each reason")] = False,
    suite: SuiteOption = None,
) -> None:
    """List missing videos, clips and items, with reasons and runs."""
    from reprise.commands.runs import list_missing

    list_missing(suite, show_all)


@app.command(rich_help_panel=GAPS)
def incomplete(
    tables: Annotated[
        list[str] | None,
        Argument(
            metavar="TABLE", help="<benchmark>/table<N>; all when omitted", autocompletion=completion.complete_tables
        ),
    ] = None,
    suite: SuiteOption = None,
) -> None:
    """List the cells without a number in finished tables."""
    from reprise.commands.runs import list_incomplete

    list_incomplete(tables or [], suite)


@app.command(rich_help_panel=GAPS)
def retry(
    patterns: Annotated[
        list[str] | None,
        Argument(
            metavar="RUN_OR_REASON",
            help=f"reason such as private, or {RUN_NAME} with * for anything; everything when omitted",
            autocompletion=completion.complete_runs,
        ),
    ] = None,
    suite: SuiteOption = None,
) -> None:
    """Let the next run retry failed videos, clips and answers."""
    from reprise.commands.runs import retry_failures

    retry_failures(patterns or [], suite)


@app.command(rich_help_panel=VIDEOS)
def subtitles(
    benchmark: Annotated[
        str, Argument(metavar="BENCHMARK", help="such as mmbench_video", autocompletion=completion.complete_benchmarks)
    ],
    suite: SuiteOption = None,
) -> None:
    """Copy downloaded subtitles to the extra files of a release."""
    from reprise.commands.videos import copy_subtitles

    copy_subtitles(benchmark, suite)


@app.command(rich_help_panel=VIDEOS)
def store(
    prune: Annotated[
        bool, Option("--prune", help="delete videos and clips that no manifest in results/ names, after a confirmation")
    ] = False,
    repair: Annotated[
        bool, Option("--repair", help="drop damaged lines of response caches; their requests are sent again")
    ] = False,
    used_by: Annotated[
        list[Path] | None,
        Option(
            metavar="FOLDER", help="other working directory that uses the store; files named in its results/ are kept"
        ),
    ] = None,
    yes: Annotated[bool, Option("--yes", help="delete without confirmation; needs --used-by")] = False,
) -> None:
    """Show the size of the store, or delete unused files."""
    from reprise.commands.videos import manage_store

    manage_store(prune=prune, repair=repair, used_by=used_by or [], yes=yes)


@app.command(rich_help_panel=CONFIGURATION)
def init(
    folder: Annotated[Path, Argument(metavar="FOLDER", help="working directory", file_okay=False)] = Path(),
) -> None:
    """Create a working directory with a Snakefile, configuration and profiles."""
    from reprise.commands.init import create_working_directory

    create_working_directory(folder)


@app.command(rich_help_panel=CONFIGURATION)
def pin(
    names: Annotated[
        list[str] | None,
        Argument(
            metavar="NAME", help="models or suites; all when omitted", autocompletion=completion.complete_pinnable
        ),
    ] = None,
    unchecked: Annotated[bool, Option("--unchecked", help="pin without a check of the repositories")] = False,
) -> None:
    """Replace `revision: unpinned` by the current commit, if the repository matches its configuration."""
    from reprise.commands.pin import pin_files
    from reprise.commands.shared import require_working_directory

    require_working_directory()
    pin_files(Path(), names or [], unchecked=unchecked)


@app.command(rich_help_panel=CONFIGURATION)
def check(
    model: Annotated[
        str,
        Argument(metavar="MODEL", help="a model's name, such as toy-llava-ov, or its repository or folder of weights"),
    ],
    questions: Annotated[int, Option(help="number of requests, each sent in four variants", min=4)] = 36,
    suite: SuiteOption = None,
    benchmarks: SelectedBenchmarksOption = None,
) -> None:
    """Check with a few requests whether a model uses the video, whether it answers, and how fast it is."""
    from reprise.commands.check import check_model

    check_model(model, questions, suite, benchmarks)


def main() -> None:
    """Run the console command."""
    run_command(partial(app, prog_name="reprise"))


if __name__ == "__main__":
    main()
