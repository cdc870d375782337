"""What scoring costs: CPU seconds and peak memory of the real stage commands, at the papers' full item counts.

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
from pydantic import BaseModel
from reprise.benchmarks.asking import request_table
from reprise.benchmarks.keys import JudgeRequestsKey, MetricsKey
from reprise.benchmarks.prompts import load_prompts
from reprise.benchmarks.registry import load_questions, load_release
from reprise.benchmarks.rows import chosen_items
from reprise.config.load import load
from reprise.core.schemas import ITEMS, REQUESTS, RESPONSES, read_table, write_table
from reprise.core.settings import Key
from reprise.models.keys import Answers as AnswersKey
from reprise.models.keys import RunKey
from reprise.reading.keys import VerdictsKey

from bench import intervals, synthetic
from bench.rounds import Ratio

MODELS, SAMPLE = 40, 20
# In starts of Python, which a slow machine slows down alike.
MOST_STARTS, BUDGET_MB = 1.75, 2000.0
# Threads as Snakemake sets them for a job of one thread; compiled modules are kept, as they are by default.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
ENVIRONMENT |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
# A small parent: the kernel counts the peak of a process from that of the one it was forked from.
LAUNCHER = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
Answers = Callable[[list[dict[str, object]], int, str], pl.DataFrame]


class Asked(NamedTuple):
    """A benchmark's protocol and how models answer it."""

    benchmark: str
    protocol: str
    answers: Answers


ASKED = (
    Asked("velociti", "entail", synthetic.likelihoods),
    Asked("vinoground", "paper", synthetic.choices),
    Asked("temporalbench", "short", synthetic.choices),
    Asked("temporalbench", "long", synthetic.choices),
    Asked("temporalbench", "caption", synthetic.free_texts),
    Asked("mmbench_video", "unpacked", synthetic.free_texts),
)


class Spent(NamedTuple):
    """One process of one or two stages."""

    stages: str
    asked: str
    seconds: float
    peak_mb: float


def main() -> None:
    """Score as many models as the command line says, and print what each stage takes."""
    models = int(sys.argv[1]) if len(sys.argv) > 1 else MODELS
    with TemporaryDirectory() as folder:
        found = list(scoring(Path(folder), models))
    for stages, asked in Counter((one.stages, one.asked) for one in found):
        mine = [one for one in found if (one.stages, one.asked) == (stages, asked)]
        mean, peak = sum(one.seconds for one in mine) / len(mine), max(one.peak_mb for one in mine)
        print(f"{mean:8.3f} CPU s a run, {peak:5.0f} MB   {stages} {asked}")
    print(f"{sum(one.seconds for one in found):8.1f} CPU s, {max(one.peak_mb for one in found):.0f} MB at most")


def ratios(folder: Path) -> Iterator[Ratio]:
    """What models that answer in all the ways there are take on all benchmarks; and what intervals take of it."""
    scored, starts = [], []
    for one in scoring(folder, SAMPLE):
        scored.append(one)
        starts.append(spent("start", "", [sys.executable, "-c", "import numpy, polars"]))
    seconds, plain = (sum(one.seconds for one in found) for found in (scored, starts))
    name = f"scoring {SAMPLE} models on all benchmarks ({seconds:.0f} CPU s) / as many starts of Python with polars"
    yield Ratio(name, seconds / plain, MOST_STARTS)
    yield Ratio("MB at most of a scoring process", max(one.peak_mb for one in scored), BUDGET_MB)
    yield intervals.ratio()


def scoring(folder: Path, models: int) -> Iterator[Spent]:
    """Every stage of every run, one after the other."""
    items: dict[str, Path] = {}
    for asked in ASKED:
        if asked.benchmark not in items:
            items[asked.benchmark] = _items(folder, asked.benchmark)
        setting = Setting(folder, asked, items[asked.benchmark])
        for model in range(models):
            yield from setting.score(model)


def _items(folder: Path, benchmark: str) -> Path:
    release: Callable[[Path], list[Path]] = getattr(synthetic, f"{benchmark}_release")
    _, items = load_release(benchmark).read_release(release(folder), "release", {}).tables()
    path = folder / benchmark / "items.parquet"
    write_table(items, path, ITEMS)
    return path


class Setting:
    """The files of one protocol that all models share, and what scoring one model takes."""

    def __init__(self, folder: Path, asked: Asked, items: Path) -> None:
        config = load(Path())
        spec = config.benchmarks[asked.benchmark]
        protocol = spec.protocols[asked.protocol]
        prompts = load_prompts(Path(spec.prompts))
        chosen = chosen_items(read_table(items, ITEMS), protocol.items)
        form = load_questions(asked.benchmark).FORMS[protocol.form]
        requests = request_table(form, chosen, prompts[protocol.prompt], protocol.ask, protocol.max_tokens)
        self.asked, self.items, self.judged = asked, items, protocol.judge is not None
        self.folder = folder / asked.benchmark / asked.protocol
        self.requests = requests.to_dicts()
        write_table(requests, self.path("requests"), REQUESTS)
        shown = AnswersKey(adapter="random", sampling={"rule": "linspace", "frames": 8})
        self._key("run", RunKey(run=self._name, key="answers", answers=shown))
        self._key("judge", RunKey(run="judge", key="ratings", answers=shown))
        self._key("verdicts", VerdictsKey(reading=protocol.reading))
        asked_of = {"benchmark": asked.benchmark, "form": protocol.form}
        self._key("metrics", MetricsKey(**asked_of, items=protocol.items, level=config.main.confidence))
        if protocol.judge is not None:
            judged = JudgeRequestsKey(**asked_of, max_tokens=protocol.judge_tokens, prompt=prompts[protocol.judge])
            self._key("judge_requests", judged)
            self._key("judgements", Key())

    @property
    def _name(self) -> str:
        return f"{self.asked.benchmark}/{self.asked.protocol}"

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"

    def _key(self, name: str, key: BaseModel) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{name}.json").write_text(key.model_dump_json(), encoding="utf-8")

    def score(self, model: int) -> Iterator[Spent]:
        """The commands of the rules, on one model's answers."""
        write_table(self.asked.answers(self.requests, model, "answers"), self.path("responses"), RESPONSES)
        measured = f"run_key item_table authors robust requests responses{' judge_requests judge' * self.judged}"
        metrics = self._command("metrics", measured, metrics=f"metrics{model}")
        if self.judged:
            options = "run_key item_table requests responses answers"
            yield self._run(self._command("judge_requests", options, asked="judge_requests"))
            asked = read_table(self.path("judge_requests"), REQUESTS).to_dicts()
            write_table(synthetic.ratings(asked, model, "ratings"), self.path("judge_responses"), RESPONSES)
            options = "run_key judge_key answers authors robust"
            yield self._run(self._command("judgements", options, replies="judge_responses"), metrics)
        else:
            options = "run_key requests responses store authors robust"
            yield self._run(self._command("verdicts", options), metrics)

    def _command(self, stage: str, options: str, **files: str) -> list[str]:
        """A stage's command: each option is a table of its own name, unless it is named here or is none."""
        others = {
            "run_key": str(self.folder / "run.json"),
            "judge_key": str(self.folder / "judge.json"),
            "item_table": str(self.items),
            "store": str(self.folder / "store"),
            "judge": "judge",
        }
        values = {name: others.get(name, str(self.path(name))) for name in options.split()}
        values |= {name: str(self.path(table)) for name, table in files.items()}
        key = self.folder / f"{stage}.json"
        values |= {"metric_key" if stage == "metrics" else "key": str(key)} if key.is_file() else {}
        return [stage, *(word for name, value in values.items() for word in (f"--{name.replace('_', '-')}", value))]

    def _run(self, *commands: list[str]) -> Spent:
        """Run stages in one process, as the rules do."""
        stages, options = [words[0] for words in commands], [word for words in commands for word in words[1:]]
        command = [sys.executable, "-m", "reprise.stages", "+".join(stages), *options]
        return spent(" + ".join(stages), self._name, command)


def spent(stages: str, asked: str, command: list[str], folder: Path | None = None) -> Spent:
    """CPU seconds and peak memory of one process, its start included; it runs in the folder, if one is named."""
    launched = [sys.executable, "-I", "-S", "-c", LAUNCHER, *command]
    done = subprocess.run(launched, env=ENVIRONMENT, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
    seconds, peak_kb = map(float, done.stdout.split())
    return Spent(stages, asked, seconds, peak_kb / 1024)


if __name__ == "__main__":
    main()
