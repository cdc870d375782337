"""Test each class of fault at each stage: the run must give the undisturbed results, or an error that names the file.

Other results with exit status 0 are never allowed. `make test-faults` runs the full form; conftest.py describes how to
choose sizes, seed and a single trial.
"""

import math
import re
import subprocess
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

import polars as pl
import pytest

from tests.faults import faults
from tests.faults.conftest import IS_FULL_FORM, SEED, FaultNotHandledError, Undisturbed, run_trials, trials
from tests.faults.plugged import FAULTS, is_hit
from tests.faults.runs import Outcome, Reduced
from tests.faults.suite import faulty_suite
from tests.workflow.conftest import ROOT

Numbers = dict[str, str]
DEFINED_RULE = re.compile(r"^(?:rule|use rule \w+ as) (\w+)(?: with)?:$", re.MULTILINE)
# tests/latex covers the rules that need LaTeX, and tests/serve the rule that installs an inference engine.
NEEDS_OTHER_SOFTWARE = {"tables_pdf", "suite_pdf", "serve_environment"}
WITHOUT_RESULTS = {"figures", "report"}  # These rules only collect the figures and the report of a suite.
KILLS_PER_TRIAL = 10 if IS_FULL_FORM else 1
MAX_FIXES = 3
MANIFEST = re.compile(r"^results/\w+/(?:sources|clips)/")
NOT_FINITE = re.compile(r"\b(?:NaN|Infinity)\b")
DATE_NOW = re.compile(r"(find results .*)$", re.MULTILINE)
NO_ROOM = re.compile(r"\S+: (?:No space left on device|File too large)\. Nothing was recorded: .*run the same command")


def require(condition: bool, outcome: str, details: str = "") -> None:
    if not condition:
        raise FaultNotHandledError(f"{outcome}\n{details}")


def require_success(outcome: Outcome, details: str = "") -> None:
    require(outcome.is_ok, "does not run again", f"{details}\n{outcome.tail()}")


def require_same_numbers(project: Reduced, numbers: Numbers, details: str = "", *, is_part: bool = False) -> None:
    """Require the results of the undisturbed run. With `is_part`, results of jobs that have not run may be missing."""
    numbers_now = project.numbers()
    # Planning drops a manifest that names lost objects. A job that needs the manifest creates it again.
    required_names = {name for name in numbers if not MANIFEST.search(name)}
    names = numbers_now.keys() if is_part else numbers_now.keys() | required_names
    different_names = [name for name in sorted(names) if numbers.get(name) != numbers_now.get(name)]
    require(
        not different_names,
        "another number with exit status 0",
        f"{details}\nother than undisturbed: {', '.join(different_names)}",
    )


def require_same_numbers_after_kill(project: Reduced, numbers: Numbers, details: str = "") -> None:
    """Require that existing results are correct, and that missing results are correct after a run of their targets.

    Snakemake does not recreate the results of a killed job if all results that depend on them exist and their inputs
    have the same content.
    """
    require_same_numbers(project, numbers, details, is_part=True)
    numbers_now = project.numbers()
    missing = tuple(name for name in sorted(numbers) if name not in numbers_now and not MANIFEST.search(name))
    if missing:
        require_success(replace(project, targets=missing).run_suite(), details)
    require_same_numbers(project, numbers, details)


class Update(NamedTuple):
    """An update of the project, and the results of an undisturbed run after it."""

    name: str
    numbers: Numbers
    jobs: int


@pytest.fixture(scope="session")
def updated(world: Undisturbed) -> Callable[[int], Update]:
    """Return a function from a trial's number to its update, which runs once per update."""

    @cache
    def run(name: str) -> Update:
        with world.copy() as project:
            faults.UPDATES[name](project)
            run = project.start()
            require_success(run.wait())
            update = Update(name, project.numbers(), len(run.started()))
        require(update.numbers != world.numbers, "the update shows nowhere", name)
        return update

    return lambda number: run(list(faults.UPDATES)[number % len(faults.UPDATES)])


def test_the_suite_passes_every_stage(world: Undisturbed) -> None:
    """If this test fails, extend the suite: faults are tested only at the stages that it covers."""
    texts = [path.read_text() for path in (ROOT / "workflow").rglob("*.smk")]
    rules = {rule for text in texts for rule in DEFINED_RULE.findall(text)}
    assert {job.rule for job in world.jobs} == rules - NEEDS_OTHER_SOFTWARE - WITHOUT_RESULTS


def test_kills(world: Undisturbed) -> None:
    """Kill the process group at random moments, and run the same command after each kill."""

    def kill(random: Random, number: int) -> None:
        moments: list[str] = []
        while len(moments) < KILLS_PER_TRIAL:
            with world.copy() as project:
                faults.undo(project, world.jobs, random, everything=IS_FULL_FORM and number % 2 == 0)
                while (
                    len(moments) < KILLS_PER_TRIAL and (running := faults.kill_at_random(project, random)) is not None
                ):
                    moments.append("+".join(sorted(set(running))) or "planning")
                story = f"killed during {', '.join(moments)}"
                require_success(project.run_suite(), story)
                require_same_numbers_after_kill(project, world.numbers, story)

    run_trials("kills", kill)


def test_updates(world: Undisturbed, updated: Callable[[int], Update]) -> None:
    """After an update, kill a run when a job starts, whose old results Snakemake has deleted; then run again."""

    def strike(random: Random, number: int) -> None:
        expected = updated(number)
        with world.copy() as killed:
            faults.UPDATES[expected.name](killed)
            count = random.randint(1, expected.jobs)
            run = killed.start()
            require(run.wait_for_jobs(count), "the run ended before", run.output())
            run.kill()
            story = f"{expected.name}, killed at the start of job {count}, {', '.join(run.running())}"
            require_success(killed.run_suite(), story)
            require_same_numbers_after_kill(killed, expected.numbers, story)

    run_trials("updates", strike)


def test_full_disks(world: Undisturbed) -> None:
    """Run on a disk that becomes full at a random moment, or with a random limit of the file size."""
    needed = faults.bytes_on_disk(world.project.root)

    def fill(random: Random, number: int) -> None:
        with world.copy() as project:
            faults.undo(project, world.jobs, random, everything=True)
            is_disk = faults.can_mount() and number % 2 == 0
            limit = nullcontext(faults.limit_of_file_size(world.project.root, random))
            with faults.small_disk(project, needed, random) if is_disk else limit as inside:
                outcome = project.run_suite(next(inside))
                require(not outcome.is_ok, "the disk did not fill", outcome.tail())
                require(not outcome.has_traceback, "a traceback", outcome.tail())
                require(bool(NO_ROOM.search(outcome.output)), "no message with the path and what to do", outcome.tail())
                require_success(project.run_suite(next(inside)), "after the disk was enlarged")
            require_same_numbers(project, world.numbers)

    run_trials("disks", fill)


def test_damages(world: Undisturbed) -> None:
    """Flip a bit of a random file, truncate it or delete it, and run a job that must read the file.

    Only this job runs. Its results must equal those of the undisturbed run.
    """

    def strike(random: Random, number: int) -> None:
        damage, job = faults.draw_damage(random, world.project.root, world.jobs)
        with world.copy() as copy:
            project = replace(copy, targets=job.outputs) if job else copy
            forgotten = faults.forget(project, random, spared_file=damage.path) if job else []
            if job:
                faults.remove_outputs(project, job)
            damaged_digest = damage.strike(project.root)
            story = f"{damage}\nthen made again: {' '.join(project.targets)}\nremoved from the store: {forgotten}"
            outcome, fixes = project.run_suite(), ""
            while not outcome.is_ok and fixes.count(",") < MAX_FIXES:
                details = f"{story}{fixes}\n{outcome.tail()}"
                require(not outcome.has_traceback, "a traceback", details)
                require(Path(damage.path).name in outcome.output, "the file is not named", details)
                fixes += f", {faults.mend(project, damage, outcome)}"
                outcome = project.run_suite()
            require_success(outcome, f"{story}{fixes}")
            is_unnoticed = project.numbers().get(damage.path) == damaged_digest
            expected = world.numbers | ({damage.path: damaged_digest} if is_unnoticed else {})
            require_same_numbers(project, expected, f"{story}{fixes}", is_part=True)

    run_trials("damages", strike)


def test_clocks(world: Undisturbed, updated: Callable[[int], Update]) -> None:
    """Results dated in the future are refused. After the command of the message, an update is noticed."""

    def turn(random: Random, number: int) -> None:
        expected = updated(number)
        with world.copy() as dated:
            faults.date_in_the_future(dated.root, random.uniform(60, 10**6))
            faults.UPDATES[expected.name](dated)
            refused = dated.run_suite()
            require(not refused.is_ok and not refused.has_traceback, "not refused", refused.tail())
            command = DATE_NOW.search(refused.output)
            if command is None:
                raise FaultNotHandledError(f"no command that dates the results now\n{refused.tail()}")
            subprocess.run(["sh", "-c", command[1]], cwd=dated.root, check=True)
            require_success(dated.run_suite())
            require_same_numbers(dated, expected.numbers, expected.name)

    run_trials("clocks", turn)


def test_faulty_adapters(world: Undisturbed) -> None:
    """Failed requests of faulty models are counted as failed, no others are, and both runs of the suite succeed."""
    names = Random(SEED).sample(sorted(FAULTS), len(FAULTS))

    def examine(random: Random, number: int) -> None:
        name = names[number % len(names)]
        log = project.text(f"results/faulty/logs/infer/vinoground/paper/linspace4/faulty-{name}.log")
        path = project.root / f"results/faulty/responses/vinoground/paper/linspace4/faulty-{name}.parquet"
        require(path.is_file(), f"{name} wedges its run", f"{name}\n{log[-3000:]}")
        answers = pl.read_parquet(path)
        request_ids, faulty_ids = (
            list(answers["request_id"]),
            {request_id for request_id in answers["request_id"] if is_hit(request_id)},
        )
        failed = set(answers.filter(pl.col("error") != "")["request_id"])
        require(0 < len(faulty_ids) < len(request_ids) / 2, "the questions hit are no share of all")
        require(
            failed == faulty_ids,
            f"{name}: {len(failed)} failed of {len(request_ids)}, {len(faulty_ids)} were hit",
            log[-3000:],
        )
        require(all(math.isfinite(score) for scores in answers["scores"] for score in scores), f"{name}: not finite")

    with world.copy() as copy:
        project = faulty_suite(copy, [names[number % len(names)] for number in trials("adapters")])
        runs = [project.run_suite(), project.run_suite()]
        run_trials("adapters", examine)
        for outcome in runs:
            assert outcome.is_ok and not outcome.has_traceback, outcome.tail()
        for cache in (project.root / faults.STORE / "response_cache").rglob("*.jsonl"):
            assert not NOT_FINITE.search(cache.read_text()), cache
