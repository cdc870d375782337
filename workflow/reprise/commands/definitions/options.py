"""Arguments and options of several commands."""

from typing import Annotated, Literal

from typer import Argument, BadParameter, Option

from reprise.commands import completion
from reprise.core.paths import RUN_NAME

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
