"""`adopt`: keep a run's answers after a change of key that cannot have altered them; a sample is asked again."""

import random
from typing import Any, cast

from reprise.commands.shared import plan_of, there, works_of
from reprise.core.errors import UserError
from reprise.core.files import canonical_json
from reprise.core.paths import Scored
from reprise.core.schemas import REQUESTS, RESPONSES, read_table
from reprise.core.settings import read_key
from reprise.core.store import append_line, read_lines
from reprise.models.asking.journal import Journal, entry_id, journal_path
from reprise.models.asking.lazy import lazy_model
from reprise.models.asking.outcomes import ask
from reprise.models.asking.work import Work, prompt_digest
from reprise.models.keys import ModelRunKey
from reprise.plan.answers import job_of
from reprise.plan.keys import write_keys
from reprise.plan.runs import Plan
from reprise.stages.works import gather_text_work

# A change of any other part of a key can alter answers, so they are never carried over.
CHANGEABLE_PARTS = ("code", "versions")


def adopt_run(words: str, why: str, sample: int, judge: str | None = None, suite: str | None = None) -> None:
    """Ask a sample again under the new key; if every answer is the same, copy the journal and say so.

    With a judge, that judge's replies to the run's answers are carried over.
    """
    plan = plan_of(suite)
    run = plan.find_run(words)
    if run.model in plan.imports.models:
        raise UserError(f"adopt: '{run.name}' is imported; its answers are read from its files again, run snakemake.")
    judges = plan.judges_of(run.benchmark) if plan.is_judged(run.benchmark, run.protocol) else []
    if judge and judge not in judges:
        raise UserError(
            f"adopt: '{judge}' does not judge {run.name} in suite '{plan.config.name}'. "
            f"Its judges: {', '.join(judges) or 'none'}."
        )
    job = job_of(plan, Scored(run, judge or ""))
    name = job.scored.name
    table = read_table(there(job.responses, "adopt"), RESPONSES)
    old_key, old = str(table["key"][0]), {row["request_id"]: row for row in table.iter_rows(named=True)}
    write_keys(plan)
    new = read_key(job.key, ModelRunKey)
    if new.key == old_key:
        print(f"{name}: the key has not changed; there is nothing to adopt.")
        return
    _refuse_other_changes(plan, old_key, new, name)
    requests = plan.results.judge_requests(run)
    works = gather_text_work(read_table(requests, REQUESTS)) if judge else works_of(plan, run)
    _check_sample(plan, works, old, new, judge or run.model, sample, name)
    source, target = (Journal(journal_path(plan.store, key)) for key in (old_key, new.key))
    carried = 0
    for work in works:
        for entry in (entry_id(work.recipe, prompt_digest(request)) for request in work.requests):
            known = source.known(entry)
            if known is not None and target.get(entry) is None:
                target.add(entry, *known)
                carried += 1
    target.sync()
    append_line(plan.store.root / "adopted.jsonl", canonical_json([name, old_key, new.key, why, sample, carried]))
    write_keys(plan)
    print(f"{name}: {carried} answers carried over after {sample} of them came out the same. Run snakemake now.")


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


def _check_sample(
    plan: Plan, works: list[Work], old: dict[str, dict[str, Any]], new: ModelRunKey, slug: str, sample: int, name: str
) -> None:
    """Ask a seeded sample again; refuse if one answer differs."""
    known = [(w, r) for w in works for r in w.requests if r.request_id in old and not old[r.request_id]["error"]]
    with lazy_model(new, plan.store, plan.config.models[slug].threads, budget=plan.budget) as model:
        for work, request in random.Random(0).sample(known, min(sample, len(known))):
            work.check()
            *_, (_, answer, _) = ask(model, work.clip, [request])
            before = old[request.request_id]
            if answer.error or (answer.text, list(answer.scores)) != (before["text"], before["scores"]):
                said = answer.message or answer.text or answer.scores
                raise UserError(
                    f"adopt: '{name}' answers {request.request_id} with {said}, before with "
                    f"{before['text'] or before['scores']}. The change altered the answers: run snakemake to ask again."
                )
