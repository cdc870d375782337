"""Run all benchmarks, or those of the modules named on the command line; fail if a ratio misses its bound."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import browser, device, engine, loading, loop, media, report, scoring, serving

MODULES = ("media", "scoring", "report", "browser", "engine", "loop", "device", "loading", "serving")
"""names that the command line accepts: the modules with benchmarks"""


def selected_modules() -> set[str]:
    """Return the modules named on the command line, or all of them."""
    return {f"bench.{name}" for name in sys.argv[1:] or MODULES}


def main() -> None:
    """Run the benchmarks, print their ratios, and exit with status 1 if one misses its bound."""
    failed_count = 0
    with TemporaryDirectory() as folder:
        benchmarks = (
            media.ratios,
            scoring.ratios,
            report.ratios,
            browser.ratios,
            engine.ratios,
            loop.ratios,
            device.ratios,
            device.copies,
            device.cached_job,
            loading.ratios,
            serving.ratios,
        )
        for benchmark in benchmarks:
            if benchmark.__module__ in selected_modules():
                for ratio in benchmark(Path(folder)):
                    print(ratio.line, flush=True)
                    failed_count += not ratio.holds
    sys.exit(1 if failed_count else 0)


if __name__ == "__main__":
    main()
