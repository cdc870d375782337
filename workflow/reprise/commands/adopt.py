"""`adopt`: keep a run's answers after a change of key that cannot have altered them; a sample is asked again."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

import polars as pl

from reprise.commands.plans import plan_of
from reprise.core.errors import UserError
from reprise.core.files import canonical_json
from reprise.core.keyfile import read_key
from reprise.core.paths import Run
from reprise.core.schemas import CLIP_LEDGER, FRAME_PLAN, REQUESTS, RESPONSES, read_table
from reprise.core.store import append_line, read_lines
from reprise.models.asking.journal import Journal, entry_id, journal_path
from reprise.models.asking.lazy import LazyModel, lazy_model
from reprise.models.asking.outcomes import ask
from reprise.models.asking.work import Work, prompt_digest
from reprise.models.keys import ModelRunKey
from reprise.plan.keys import write_keys
from reprise.plan.runs import Plan
from reprise.stages.works import gather_text_work, gather_work

# A change of any other part of a key can alter answers, so they are never carried over.
CHANGEABLE_PARTS = ("code", "versions")


def adopt_run(name: str, why: str, sample: int, judge: str | None = None, suite: str | None = None) -> None:
    """Ask a sample again under the new key; if every answer is the same, copy the journal and say so.

    With a judge, that judge's replies to the run's answers are carried over.
    """
    plan = plan_of(suite)
    run = plan.find_run(name)
    name = run.name
    if run.model in plan.imports.models:
        raise UserError(f"adopt: '{name}' is imported; its answers are read from its files again, run snakemake.")
    asked = _asked_as_judge(plan, run, judge) if judge else _asked(plan, run)
    name = f"{name}/{judge}" if judge else name
    old, old_key = _old_answers(asked.responses, name)
    write_keys(plan)
    new = read_key(asked.key, ModelRunKey)
    if new.key == old_key:
        print(f"{name}: the key has not changed; there is nothing to adopt.")
        return
    _refuse_other_changes(plan, old_key, new, name)
    works = asked.works()
    with lazy_model(new, plan.store, plan.config.models[asked.model].threads, budget=plan.budget) as model:
        _check_sample(works, old, model, sample, name)
    carried = _copy_answers(works, journal_path(plan.store, old_key), Journal(journal_path(plan.store, new.key)))
    note = [name, old_key, new.key, why, sample, carried]
    append_line(plan.store.root / "adopted.jsonl", canonical_json(note))
    write_keys(plan)
    print(f"{name}: {carried} answers carried over after {sample} of them came out the same. Run snakemake now.")


def _copy_answers(works: list[Work], old: Path, target: Journal) -> int:
    """Copy the answers to these questions from one journal to another; returns their number."""
    source = Journal(old)
    carried = 0
    for work in works:
        for request in work.requests:
            entry = entry_id(work.recipe, prompt_digest(request))
            answer = source.get(entry)
            if answer is not None and target.get(entry) is None:
                target.add(entry, answer, source.seconds(entry), source.parts(entry))
                carried += 1
    target.sync()
    return carried


class Asked(NamedTuple):
    """A model or judge, its key, its answers and its questions."""

    model: str
    key: Path
    responses: Path
    works: Callable[[], list[Work]]


def _asked(plan: Plan, run: Run) -> Asked:
    """A run's model, about clips."""
    results = plan.results

    def works() -> list[Work]:
        ledgers = [results.ledger("clips", run.benchmark, shard) for shard in range(plan.config.suite.shards)]
        return gather_work(
            read_table(results.requests(run.benchmark, run.protocol), REQUESTS),
            read_table(results.frames(run.benchmark, run.sampling), FRAME_PLAN),
            pl.concat([read_table(path, CLIP_LEDGER) for path in ledgers]),
            plan.store,
        )

    return Asked(run.model, results.run_key(run), results.responses(run), works)


def _asked_as_judge(plan: Plan, run: Run, judge: str) -> Asked:
    """A judge, about a run's answers."""
    results = plan.results
    judges = plan.judges_of(run.benchmark) if plan.is_judged(run.benchmark, run.protocol) else []
    if judge not in judges:
        raise UserError(
            f"adopt: '{judge}' does not judge {run.name} in suite '{plan.config.name}'. "
            f"Its judges: {', '.join(judges) or 'none'}."
        )

    def works() -> list[Work]:
        return gather_text_work(read_table(results.judge_requests(run), REQUESTS))

    key = results.judge_key(run.benchmark, run.protocol, judge)
    return Asked(judge, key, results.judge_responses(run, judge), works)


def _old_answers(path: Path, name: str) -> tuple[dict[str, dict[str, Any]], str]:
    if not path.is_file():
        raise UserError(f"adopt: {path}: not found, so '{name}' has no answers to carry over. Run snakemake.")
    table = read_table(path, RESPONSES)
    return {row["request_id"]: row for row in table.iter_rows(named=True)}, str(table["key"][0])


def _refuse_other_changes(plan: Plan, old_key: str, new: ModelRunKey, name: str) -> None:
    """Only code and library versions may differ; a change of model, prompt or settings is another run."""
    path = plan.store.root / "keys.jsonl"
    known = {str(key): cast(dict[str, Any], answers) for key, answers in read_lines(path)}
    if old_key not in known:
        raise UserError(f"adopt: {path} does not know key {old_key[:12]} of '{name}'; its answers must be asked again.")
    old_answers, answers = known[old_key], new.answers.model_dump(mode="json")
    fixed = answers.keys() - set(CHANGEABLE_PARTS)
    changed = sorted(part for part in fixed if old_answers.get(part) != answers[part])
    if changed:
        raise UserError(
            f"adopt: '{name}' differs in {', '.join(changed)}, which can alter answers. "
            "Only a change of code or of library versions can be adopted; run snakemake to ask again."
        )


def _check_sample(works: list[Work], old: dict[str, dict[str, Any]], model: LazyModel, sample: int, name: str) -> None:
    """Ask a seeded sample again; refuse if one answer differs."""
    known = [(w, r) for w in works for r in w.requests if r.request_id in old and not old[r.request_id]["error"]]
    chosen = random.Random(0).sample(known, min(sample, len(known)))
    for work, request in chosen:
        work.check()
        *_, (_, answer, _) = ask(model, work.clip, [request])
        before = old[request.request_id]
        if answer.error or (answer.text, list(answer.scores)) != (before["text"], before["scores"]):
            said = answer.message or answer.text or answer.scores
            raise UserError(
                f"adopt: '{name}' answers {request.request_id} with {said}, before with "
                f"{before['text'] or before['scores']}. The change altered the answers: run snakemake to ask again."
            )
