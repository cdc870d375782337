"""Benchmark scoring: CPU seconds and peak memory of the real stage commands, at the papers' full item counts.

`python -m bench.scoring [models]` scores that many models on every benchmark, one process at a time.
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import polars as pl
from reprise.benchmarks.annotations import select_items
from reprise.benchmarks.keys import JudgeRequestsKey, MetricsKey
from reprise.benchmarks.prompts import load_prompts
from reprise.benchmarks.question_forms import build_requests
from reprise.benchmarks.registry import load_questions, load_release
from reprise.config.load import load
from reprise.core.files import canonical_json
from reprise.core.schemas import ITEMS, REQUESTS, RESPONSES, read_table, write_table
from reprise.core.settings import Key, Settings
from reprise.extraction.keys import VerdictsKey
from reprise.models.keys import AnswersKey, RunKey

from bench import intervals, synthetic
from bench.rounds import Ratio

MODELS, SAMPLE = 40, 20  # models that the command scores by default, and that `ratios` scores
# The bound is a multiple of Python's start time, which scales with the speed of the machine.
MAX_STARTS, BUDGET_MB = 1.75, 2000.0
# One thread per job, as Snakemake sets it. Python may write bytecode, as by default.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
ENVIRONMENT |= {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
ENVIRONMENT |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
# The launcher is small, because the kernel starts the peak memory of a process at that of its parent.
LAUNCHER = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
Answers = Callable[[list[dict[str, object]], int, str], pl.DataFrame]
"""Requests, number of a model and key of a run -> responses."""


class Workload(NamedTuple):
    """A benchmark's protocol, and the function that generates models' answers to it."""

    benchmark: str
    protocol: str
    answers: Answers


WORKLOADS = (
    Workload("velociti", "entail", synthetic.likelihoods),
    Workload("vinoground", "paper", synthetic.choices),
    Workload("temporalbench", "short", synthetic.choices),
    Workload("temporalbench", "long", synthetic.choices),
    Workload("temporalbench", "caption", synthetic.free_texts),
    Workload("mmbench_video", "unpacked", synthetic.free_texts),
)


class StageCost(NamedTuple):
    """The cost of one stage process."""

    stage: str
    workload: str
    seconds: float
    peak_mb: float


def main() -> None:
    """Score the number of models on the command line, and print the cost of each stage."""
    models = int(sys.argv[1]) if len(sys.argv) > 1 else MODELS
    with TemporaryDirectory() as folder:
        costs = list(scoring(Path(folder), models))
    for stage, protocol in Counter((cost.stage, cost.workload) for cost in costs):
        stage_costs = [cost for cost in costs if (cost.stage, cost.workload) == (stage, protocol)]
        mean = sum(cost.seconds for cost in stage_costs) / len(stage_costs)
        peak = max(cost.peak_mb for cost in stage_costs)
        print(f"{mean:8.3f} CPU s a run, {peak:5.0f} MB   {stage} {protocol}")
    print(f"{sum(cost.seconds for cost in costs):8.1f} CPU s, {max(cost.peak_mb for cost in costs):.0f} MB at most")


def ratios(folder: Path) -> Iterator[Ratio]:
    """Yield the cost to score models with all answer styles on all benchmarks, and the ratio of the intervals alone."""
    scoring_costs, start_costs = [], []
    # Both are measured in turn, so that a busy machine slows them alike.
    for cost in scoring(folder, SAMPLE):
        scoring_costs.append(cost)
        start_costs.append(measure_cost("start", "", [sys.executable, "-c", "import numpy, polars"]))
    seconds, start_seconds = (sum(cost.seconds for cost in costs) for costs in (scoring_costs, start_costs))
    name = f"scoring {SAMPLE} models on all benchmarks ({seconds:.0f} CPU s) / as many starts of Python with polars"
    yield Ratio(name, seconds / start_seconds, MAX_STARTS)
    yield Ratio("MB at most of a scoring process", max(cost.peak_mb for cost in scoring_costs), BUDGET_MB)
    yield intervals.ratio()


def scoring(folder: Path, models: int) -> Iterator[StageCost]:
    """Yield the cost of every stage of every run, one after the other."""
    items: dict[str, Path] = {}
    for workload in WORKLOADS:
        if workload.benchmark not in items:
            items[workload.benchmark] = _items(folder, workload.benchmark)
        setup = ScoringSetup(folder, workload, items[workload.benchmark])
        for model in range(models):
            yield from setup.score(model)


def _items(folder: Path, benchmark: str) -> Path:
    """Write the table of items of a synthetic release, and return its path."""
    release: Callable[[Path], list[Path]] = getattr(synthetic, f"{benchmark}_release")
    _, items = load_release(benchmark).read_release(release(folder), "release", {}).to_tables()
    path = folder / benchmark / "items.parquet"
    write_table(items, path, ITEMS)
    return path


class ScoringSetup:
    """The files of one protocol that all models share, and the commands that score one model."""

    def __init__(self, folder: Path, workload: Workload, items: Path) -> None:
        config = load(Path())
        spec = config.benchmarks[workload.benchmark]
        protocol = spec.protocols[workload.protocol]
        prompts = load_prompts(Path(spec.prompts))
        selected_items = select_items(read_table(items, ITEMS), protocol.items)
        form = load_questions(workload.benchmark).FORMS[protocol.form]
        requests = build_requests(
            form, selected_items, prompts[protocol.prompt], protocol.request_type, protocol.max_tokens
        )
        self.workload, self.items, self.is_judged = workload, items, protocol.judge is not None
        self.folder = folder / workload.benchmark / workload.protocol
        self.requests = requests.to_dicts()
        write_table(requests, self.path("requests"), REQUESTS)
        answers_key = AnswersKey(adapter="random", sampling={"rule": "linspace", "frames": 8})
        self._settings: dict[str, Settings] = {
            "run": RunKey(run=self._name, key="answers", answers=answers_key),
            "judge": RunKey(run="judge", key="ratings", answers=answers_key),
            "verdicts": VerdictsKey(extraction=protocol.extraction),
            "judgements": Key(),
        }
        identity = {"benchmark": workload.benchmark, "form": protocol.form}
        level = config.main.confidence
        self._settings["metrics"] = MetricsKey(**identity, items=protocol.items, level=level)
        if protocol.judge is not None:
            judge_key = JudgeRequestsKey(**identity, max_tokens=protocol.judge_tokens, prompt=prompts[protocol.judge])
            self._settings["judge_requests"] = judge_key

    @property
    def _name(self) -> str:
        return f"{self.workload.benchmark}/{self.workload.protocol}"

    def path(self, name: str) -> Path:
        """Return the path of a table, such as `requests`."""
        return self.folder / f"{name}.parquet"

    def _format_settings(self, name: str) -> str:
        # `format_settings_line` would replace long prompts by digests.
        return canonical_json({"name": name, **self._settings[name].model_dump(mode="json")})

    def score(self, model: int) -> Iterator[StageCost]:
        """Yield the cost of the rules' commands on one model's answers."""
        write_table(self.workload.answers(self.requests, model, "answers"), self.path("responses"), RESPONSES)
        metrics_options = "run_settings item_table authors robust requests responses"
        if self.is_judged:
            metrics_options += " judge_requests judge"
        replies = {"replies": "judge_responses"} if self.is_judged else {}
        metrics = self._command("metrics", metrics_options, metrics=f"metrics{model}", **replies)
        if self.is_judged:
            options = "run_settings item_table requests responses answers judge_requests"
            yield self._run(self._command("judge_requests", options))
            judge_requests = read_table(self.path("judge_requests"), REQUESTS).to_dicts()
            write_table(synthetic.ratings(judge_requests, model, "ratings"), self.path("judge_responses"), RESPONSES)
            options = "run_settings judge_settings judge answers authors robust"
            yield self._run(self._command("judgements", options, replies="judge_responses"))
        else:
            options = "run_settings requests responses authors robust"
            yield self._run(self._command("verdicts", options))
        yield self._run(metrics)

    def _command(self, stage: str, options: str, **files: str) -> list[str]:
        """Return a stage's command. The value of an option is the table of the same name unless it is overridden."""
        overrides = {
            "settings": self._format_settings(stage),
            "run_settings": self._format_settings("run"),
            "judge_settings": self._format_settings("judge"),
            "item_table": str(self.items),
            "judge": "judge",
        }
        values = {name: overrides.get(name, str(self.path(name))) for name in ("settings", *options.split())}
        values |= {name: str(self.path(table)) for name, table in files.items()}
        return [stage, *(word for name, value in values.items() for word in (f"--{name.replace('_', '-')}", value))]

    def _run(self, words: list[str]) -> StageCost:
        """Run a stage as the rules do."""
        command = [sys.executable, "-m", "reprise.stages", "--store", str(self.folder / "store"), *words]
        return measure_cost(words[0], self._name, command, self.folder)


def measure_cost(stage: str, workload: str, command: list[str], folder: Path | None = None) -> StageCost:
    """Measure CPU seconds and peak memory of one process, including its start, in a working folder if given."""
    launcher_command = [sys.executable, "-I", "-S", "-c", LAUNCHER, *command]
    process = subprocess.run(launcher_command, env=ENVIRONMENT, cwd=folder, capture_output=True, text=True)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{process.stderr}")
    seconds, peak_kb = map(float, process.stdout.split())
    return StageCost(stage, workload, seconds, peak_kb / 1024)


if __name__ == "__main__":
    main()
