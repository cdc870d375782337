"""Every class of fault at every stage: the same numbers as an undisturbed run, or an error that names the file.

Never another number with exit status 0. `make test-faults` runs the whole form; conftest.py says how to choose sizes, seed
and a single trial.
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
from tests.faults.conftest import IS_WHOLE, SEED, FaultNotHandledError, Undisturbed, run_trials, trials
from tests.faults.plugged import FAULTS, is_hit
from tests.faults.runs import Outcome, Reduced
from tests.faults.suite import faulty_suite
from tests.workflow.conftest import ROOT

Numbers = dict[str, str]
DEFINED_RULE = re.compile(r"^(?:rule|use rule \w+ as) (\w+)(?: with)?:$", re.MULTILINE)
# LaTeX, which not every machine has: tests/latex runs it. An engine of servers: tests/serve installs it.
NEEDS_MORE = {"tables_pdf", "suite_pdf", "serve_environment"}
MAKES_NOTHING = {"figures", "report"}  # they ask for the figures of a suite, and for its report
KILLS_EACH = 10 if IS_WHOLE else 1
MENDINGS_MOST = 3
LEDGER = re.compile(r"^results/\w+/(?:sources|clips)/")
NOT_FINITE = re.compile(r"\b(?:NaN|Infinity)\b")
DATE_NOW = re.compile(r"(find results .*)$", re.MULTILINE)
NO_ROOM = re.compile(r"\S+: (?:No space left on device|File too large)\. Nothing was recorded: .*run the same command")


def must(condition: bool, outcome: str, details: str = "") -> None:
    if not condition:
        raise FaultNotHandledError(f"{outcome}\n{details}")


def succeeds(outcome: Outcome, details: str = "") -> None:
    must(outcome.is_ok, "does not run again", f"{details}\n{outcome.tail()}")


def same_numbers(project: Reduced, numbers: Numbers, details: str = "", *, is_part: bool = False) -> None:
    """The results are those of the undisturbed run; after a part of the jobs some may be missing, made when needed."""
    found = project.numbers()
    # A manifest that names objects which are gone is dropped at planning, and made again when a job needs it.
    wanted = {name for name in numbers if not LEDGER.search(name)}
    names = found.keys() if is_part else found.keys() | wanted
    others = [name for name in sorted(names) if numbers.get(name) != found.get(name)]
    must(not others, "another number with exit status 0", f"{details}\nother than undisturbed: {', '.join(others)}")


def same_numbers_after_a_kill(project: Reduced, numbers: Numbers, details: str = "") -> None:
    """What is there is right; so is what is not there, when it is asked for.

    Snakemake does not make the results of a killed job again if all that was made of them is there, and their inputs, made
    again, have the same content.
    """
    same_numbers(project, numbers, details, is_part=True)
    found = project.numbers()
    missing = tuple(name for name in sorted(numbers) if name not in found and not LEDGER.search(name))
    if missing:
        succeeds(replace(project, targets=missing).run_suite(), details)
    same_numbers(project, numbers, details)


class Updated(NamedTuple):
    """An update, and what an undisturbed run makes after it."""

    name: str
    numbers: Numbers
    jobs: int


@pytest.fixture(scope="session")
def updated(world: Undisturbed) -> Callable[[int], Updated]:
    """The update of a trial; what it makes is run once."""

    @cache
    def run(name: str) -> Updated:
        with world.copy() as project:
            faults.UPDATES[name](project)
            run = project.start()
            succeeds(run.wait())
            found = Updated(name, project.numbers(), len(run.started()))
        must(found.numbers != world.numbers, "the update shows nowhere", name)
        return found

    return lambda number: run(list(faults.UPDATES)[number % len(faults.UPDATES)])


def test_the_suite_passes_every_stage(world: Undisturbed) -> None:
    """A stage that the suite does not pass is not tested here: give the suite what needs it."""
    texts = [path.read_text() for path in (ROOT / "workflow").rglob("*.smk")]
    rules = {rule for text in texts for rule in DEFINED_RULE.findall(text)}
    assert {job.rule for job in world.jobs} == rules - NEEDS_MORE - MAKES_NOTHING


def test_kills(world: Undisturbed) -> None:
    """kill -9 of the whole process group at random moments, each time followed by the same command."""

    def kill(random: Random, number: int) -> None:
        moments: list[str] = []
        while len(moments) < KILLS_EACH:
            with world.copy() as project:
                faults.undo(project, world.jobs, random, everything=IS_WHOLE and number % 2 == 0)
                while len(moments) < KILLS_EACH and (running := faults.kill_at_random(project, random)) is not None:
                    moments.append("+".join(sorted(set(running))) or "planning")
                story = f"killed during {', '.join(moments)}"
                succeeds(project.run_suite(), story)
                same_numbers_after_a_kill(project, world.numbers, story)

    run_trials("kills", kill)


def test_updates(world: Undisturbed, updated: Callable[[int], Updated]) -> None:
    """kill -9 as a job begins whose old results Snakemake has deleted, after an update; the next run makes the rest."""

    def strike(random: Random, number: int) -> None:
        expected = updated(number)
        with world.copy() as killed:
            faults.UPDATES[expected.name](killed)
            count = random.randint(1, expected.jobs)
            run = killed.start()
            must(run.wait_for_jobs(count), "the run ended before", run.output())
            run.kill()
            story = f"{expected.name}, killed at the start of job {count}, {', '.join(run.running())}"
            succeeds(killed.run_suite(), story)
            same_numbers_after_a_kill(killed, expected.numbers, story)

    run_trials("updates", strike)


def test_full_disks(world: Undisturbed) -> None:
    """Results and store on a disk that fills at a random moment; or, by turns, a random limit of a file's size."""
    needed = faults.bytes_on_disk(world.project.root)

    def fill(random: Random, number: int) -> None:
        with world.copy() as project:
            faults.undo(project, world.jobs, random, everything=True)
            is_disk = faults.can_mount() and number % 2 == 0
            limit = nullcontext(faults.limit_of_file_size(world.project.root, random))
            with faults.small_disk(project, needed, random) if is_disk else limit as inside:
                outcome = project.run_suite(next(inside))
                must(not outcome.is_ok, "the disk did not fill", outcome.tail())
                must(not outcome.has_traceback, "a traceback", outcome.tail())
                must(bool(NO_ROOM.search(outcome.output)), "no message with the path and what to do", outcome.tail())
                succeeds(project.run_suite(next(inside)), "after the disk was enlarged")
            same_numbers(project, world.numbers)

    run_trials("disks", fill)


def test_damages(world: Undisturbed) -> None:
    """A flipped bit, a cut or a deletion anywhere, and a job that must read the file again.

    Only that job is run: what it makes is what the undisturbed run made, so the numbers after it are the same.
    """

    def strike(random: Random, number: int) -> None:
        damage, job = faults.draw_damage(random, world.project.root, world.jobs)
        with world.copy() as copy:
            project = replace(copy, targets=job.outputs) if job else copy
            forgotten = faults.forget(project, random, but=damage.path) if job else []
            if job:
                faults.remove_outputs(project, job)
            struck = damage.strike(project.root)
            story = f"{damage}\nthen made again: {' '.join(project.targets)}\nremoved from the store: {forgotten}"
            outcome, done = project.run_suite(), ""
            while not outcome.is_ok and done.count(",") < MENDINGS_MOST:
                said = f"{story}{done}\n{outcome.tail()}"
                must(not outcome.has_traceback, "a traceback", said)
                must(Path(damage.path).name in outcome.output, "the file is not named", said)
                done += f", {faults.mend(project, damage, outcome)}"
                outcome = project.run_suite()
            succeeds(outcome, f"{story}{done}")
            is_unnoticed = project.numbers().get(damage.path) == struck
            expected = world.numbers | ({damage.path: struck} if is_unnoticed else {})
            same_numbers(project, expected, f"{story}{done}", is_part=True)

    run_trials("damages", strike)


def test_clocks(world: Undisturbed, updated: Callable[[int], Updated]) -> None:
    """Results dated in the future are refused; once they are dated now, as the message says, an update is seen."""

    def turn(random: Random, number: int) -> None:
        expected = updated(number)
        with world.copy() as dated:
            faults.date_in_the_future(dated.root, random.uniform(60, 10**6))
            faults.UPDATES[expected.name](dated)
            refused = dated.run_suite()
            must(not refused.is_ok and not refused.has_traceback, "not refused", refused.tail())
            command = DATE_NOW.search(refused.output)
            if command is None:
                raise FaultNotHandledError(f"no command that dates the results now\n{refused.tail()}")
            subprocess.run(["sh", "-c", command[1]], cwd=dated.root, check=True)
            succeeds(dated.run_suite())
            same_numbers(dated, expected.numbers, expected.name)

    run_trials("clocks", turn)


def test_faulty_adapters(world: Undisturbed) -> None:
    """Models that fail at some questions: these are counted as failed and no others, nothing stops, now or later."""
    names = Random(SEED).sample(sorted(FAULTS), len(FAULTS))

    def examine(random: Random, number: int) -> None:
        name = names[number % len(names)]
        log = project.text(f"results/faulty/logs/infer/vinoground/paper/linspace4/faulty-{name}.log")
        path = project.root / f"results/faulty/responses/vinoground/paper/linspace4/faulty-{name}.parquet"
        must(path.is_file(), f"{name} wedges its run", f"{name}\n{log[-3000:]}")
        answers = pl.read_parquet(path)
        asked, hit = list(answers["request_id"]), {one for one in answers["request_id"] if is_hit(one)}
        failed = set(answers.filter(pl.col("error") != "")["request_id"])
        must(0 < len(hit) < len(asked) / 2, "the questions hit are no share of all")
        must(failed == hit, f"{name}: {len(failed)} failed of {len(asked)}, {len(hit)} were hit", log[-3000:])
        must(all(math.isfinite(score) for scores in answers["scores"] for score in scores), f"{name}: not finite")

    with world.copy() as copy:
        project = faulty_suite(copy, [names[number % len(names)] for number in trials("adapters")])
        runs = [project.run_suite(), project.run_suite()]
        run_trials("adapters", examine)
        for outcome in runs:
            assert outcome.is_ok and not outcome.has_traceback, outcome.tail()
        for cache in (project.root / faults.STORE / "response_cache").rglob("*.jsonl"):
            assert not NOT_FINITE.search(cache.read_text()), cache
