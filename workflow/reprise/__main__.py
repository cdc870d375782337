"""`python -m reprise <command>`: what a person types beside snakemake."""

import argparse
from pathlib import Path

from reprise.core.errors import run_command


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m reprise", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    adopt = commands.add_parser("adopt", help="carry a run's answers over a change that cannot have altered them")
    adopt.add_argument("run", help="<benchmark>/<protocol>/<sampling>/<model>")
    adopt.add_argument("--judge", help="what this judge replied to the run's answers, instead of the answers")
    adopt.add_argument("--why", required=True, help="the reason, which the provenance repeats")
    adopt.add_argument("--sample", type=int, default=20, help="answers that are asked again first (default 20)")
    compare = commands.add_parser("compare", help="two runs on the samples both were asked, with paired tests")
    compare.add_argument("first", help="<benchmark>/<protocol>/<sampling>/<model>")
    compare.add_argument("second", help="another run of the same questions")
    incomplete = commands.add_parser("incomplete", help="cells of the finished tables that show no number")
    incomplete.add_argument("tables", nargs="*", help="<benchmark>/table<N>; all tables when none is named")
    incomplete.add_argument("--suite", help="whose tables (default: the configured suite)")
    export = commands.add_parser("export", help="a run's answers in its authors' file formats")
    export.add_argument("run", help="<benchmark>/<protocol>/<sampling>/<model>")
    export.add_argument("--to", required=True, type=Path, metavar="DIR", help="folder to write to")
    pin = commands.add_parser("pin", help="resolve `revision: unpinned` online, in the configuration's files")
    pin.add_argument("names", nargs="*", help="model slugs or suites; all of them when none is named")
    commands.add_parser("schemas", help="write the configuration's JSON Schemas and reference from its types")
    static = commands.add_parser(
        "static", help="questions that one random frame answers, by the ratings of several runs"
    )
    static.add_argument("runs", nargs="+", help="<benchmark>/<protocol>/<sampling>/<model>, one a seed")
    static.add_argument("--judge", help="whose ratings (default: the suite's first judge)")
    static.add_argument("--least", type=float, default=2.5, help="mean rating from which a question is static (2.5)")
    retry = commands.add_parser("retry", help="forget failures to get a video, so that the next run asks again")
    retry.add_argument("statuses", nargs="*", help="reasons such as private or removed; all of them when none is named")
    subtitles = commands.add_parser("subtitles", help="copy subtitles that came with videos beside their release")
    subtitles.add_argument("benchmark", help="such as mmbench_video")
    store = commands.add_parser("store", help="show the store's size, or prune what no ledger names")
    store.add_argument("--prune", action="store_true", help="delete videos and clips that no ledger in results/ names")
    args = parser.parse_args()
    if args.command == "adopt":
        from reprise.commands.adopt import adopt_run

        adopt_run(args.run, args.why, args.sample, args.judge)
    elif args.command == "compare":
        from reprise.commands.compare import compare_runs

        compare_runs(args.first, args.second)
    elif args.command == "incomplete":
        from reprise.commands.incomplete import list_incomplete

        list_incomplete(args.tables, args.suite)
    elif args.command == "export":
        from reprise.commands.export import export_run

        export_run(args.run, args.to)
    elif args.command == "pin":
        from reprise.commands.pin import pin_files

        pin_files(Path(), args.names)
    elif args.command == "schemas":
        from reprise.commands.schemas import write_schemas

        write_schemas(Path())
    elif args.command == "static":
        from reprise.commands.static_questions import list_static

        list_static(args.runs, args.judge, args.least)
    elif args.command == "retry":
        from reprise.commands.upkeep import retry_sources

        retry_sources(args.statuses)
    elif args.command == "subtitles":
        from reprise.commands.upkeep import lay_out_subtitles

        lay_out_subtitles(args.benchmark)
    else:
        from reprise.commands.upkeep import prune_store, show_store

        (prune_store if args.prune else show_store)()


if __name__ == "__main__":
    run_command(main)
