"""`check` and `adopt`: a few questions to a model, before a night of them, or whether its answers are the same."""

import random
import resource
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from reprise.commands.shared import data_of, plan_of, there, works_of
from reprise.config.model import Model
from reprise.core.errors import UserError, refuse_unknown
from reprise.core.files import canonical_json
from reprise.core.paths import Run, Scored
from reprise.core.schemas import REQUESTS, RESPONSES, read_table
from reprise.core.settings import read_key
from reprise.core.store import append_line, read_lines
from reprise.models.adapters import ADAPTERS, SHARE, loaded
from reprise.models.asking.journal import Journal, Work, journal_path
from reprise.models.asking.lazy import lazy_model
from reprise.models.asking.money.prices import NO_BUDGET, Account
from reprise.models.asking.outcomes import ask
from reprise.models.asking.reasons import REASONS, in_words
from reprise.models.asking.sight import PLAN, Sight, sight_of
from reprise.models.base import Adapter, Due, ModelSpec
from reprise.models.keys import ModelRunKey
from reprise.models.local.devices import take_gpus
from reprise.models.local.weights import WEIGHTS, snapshot_folder
from reprise.models.remote.serving.host import Host
from reprise.models.settings import HALF
from reprise.plan.answers import job_of
from reprise.plan.run_keys import server_of, weights_identity
from reprise.plan.runs import Plan
from reprise.plan.suite import write_keys
from reprise.stages.works import gather_text_work

ASKED = ("score", "choose")
MB = 10**6


def check_model(slug: str, questions: int, suite: str | None) -> None:
    """Print what a model makes of a few of the suite's questions; a UserError if it fails or is blind."""
    plan = plan_of(suite)
    refuse_unknown("model", [slug], plan.config.models, "check")
    model = plan.config.models[slug]
    if not sees_frames(model):
        raise UserError(
            f"check: '{slug}' has adapter '{model.adapter}'; only models with weights that see frames, and servers of "
            "your own, are checked."
        )
    if ADAPTERS[model.adapter].needs_weights:
        for line in _notes(plan, slug, model):
            print(line)
    runs = _runs_with_data(plan, slug, model)
    problems: list[str] = []
    with _loaded(plan, slug, model) as adapter:
        for run in runs:
            sight = sight_of(adapter, _sample(plan, run, questions // len(runs)))
            print("\n".join(_lines(run, sight)))
            if sight.failures.total() == sight.questions:
                reason, _ = sight.failures.most_common(1)[0]
                problems.append(f"every question of {run.name} failed: {in_words(reason, sight.message)}.")
            elif sight.is_blind:
                problems.append(
                    f"{run.name}: the model is blind. No answer changes when it is shown another clip: do not run it. "
                    "Look at its weights, its chat template and `settings.frames`."
                )
            elif _ask(plan, run) == "score" and sight.readable < float(model.settings.get(SHARE, HALF)):
                problems.append(
                    f"{run.name}: the options hold {100 * sight.readable:.2g} % of the probability of an answer's "
                    "first token, so that scores say nothing, and the run would end after its first questions. If the "
                    "model thinks before it answers, set `template_arguments`, or ask it by protocols with `ask: "
                    "choose` or `ask: write`."
                )
    if ADAPTERS[model.adapter].needs_weights:
        print("\n".join(_memory(model)))
    if problems:
        raise UserError(f"{slug}: " + " ".join(problems))
    print(f"{slug} sees its clips.")


def _notes(plan: Plan, slug: str, model: Model) -> Iterable[str]:
    """What its files say of a model; a UserError in seconds where it cannot be asked."""
    from reprise.models.local.examine import differences, notes

    folder, code = _weights(plan, slug, model), model.trust_remote_code
    spec = ModelSpec(folder, "cpu", 1, model.dtype, model.attention, code, model.settings, shows_frames=True)
    if found := list(differences(model.adapter, spec)):
        raise UserError(f"{slug}: " + " ".join(found))
    return notes(spec)


def _ask(plan: Plan, run: Run) -> str:
    return plan.config.benchmarks[run.benchmark].protocols[run.protocol].ask


def sees_frames(model: Model) -> bool:
    """Whether there is something to check of a model: it may be shown frames, and is no vendor's who is paid for it."""
    adapter = ADAPTERS[model.adapter]
    is_model = model.has_weights or (adapter.is_remote and not adapter.is_paid(model.settings))
    return adapter.frames == "shown" and is_model and not {*ASKED}.isdisjoint(adapter.asked(model.settings))


def is_checked(plan: Plan, run: Run) -> bool:
    return _ask(plan, run) in ASKED and plan.config.main.samplings[run.sampling]["rule"] != "none"


def _runs_with_data(plan: Plan, slug: str, model: Model) -> list[Run]:
    """For each way of asking a run whose questions and frames are there, the model's own ones first."""
    asks = ADAPTERS[model.adapter].asked(model.settings)
    able = [run for run in plan.runs() if _ask(plan, run) in asks and is_checked(plan, run)]
    found: dict[str, Run] = {}
    for run in sorted(able, key=lambda run: (run.model != slug, run)):
        if all(map(Path.is_file, data_of(plan, run))):
            found.setdefault(_ask(plan, run), Run(run.benchmark, run.protocol, run.sampling, slug))
    if not found:
        how = f" Make some first: snakemake {' '.join(map(str, data_of(plan, able[0])))}" if able else ""
        raise UserError(f"check: suite '{plan.config.name}' has no questions with frames yet that fit '{slug}'.{how}")
    return list(found.values())


def _sample(plan: Plan, run: Run, questions: int) -> list[Due]:
    shown = [work for work in works_of(plan, run) if work.clip.indices]
    if len(shown) < 2:
        raise UserError(
            f"check: {plan.results.frames(run.benchmark, run.sampling)} shows {len(shown)} clips; two are needed, to "
            "show one instead of the other."
        )
    chosen = random.Random(0).sample(shown, min(12, len(shown)))
    for work in chosen:
        work.check()
    return [Due(work.clip, work.requests[: max(1, questions // len(chosen))]) for work in chosen]


def _weights(plan: Plan, slug: str, model: Model) -> Path:
    folder = Path(model.checkpoint or snapshot_folder(str(model.repo), str(model.revision), plan.store))
    if not any(any(folder.glob(one)) for one in (WEIGHTS, *model.files)):
        how = f"Fetch them first: snakemake {plan.results.weights(slug)}" if model.repo else "Correct `checkpoint`."
        raise UserError(f"config/models/{slug}.yaml: no weights in {folder}. {how}")
    return folder


@contextmanager
def _loaded(plan: Plan, slug: str, model: Model) -> Iterator[Adapter]:
    """A model that can be asked: loaded here, or by the server that is started for it, or at a server that runs."""
    folder, settings = _weights(plan, slug, model) if model.has_weights else None, model.settings
    take_gpus(model.gpus, plan.store.root / "locks", slug)
    serving, hosting, _, own, _ = server_of(model, weights_identity(slug, model, plan.store), plan.store)
    with ExitStack() as ends:
        if serving is not None and hosting is not None and folder is not None:
            log = plan.results.log("check", slug).with_suffix(".server.log")
            host = Host(serving, hosting, weights=folder, name=own["model"], store=plan.store, log_file=log)
            ends.callback(host.close)
            settings = settings | own | host.start()
        device, code = "cuda" if model.gpus else "cpu", model.trust_remote_code
        spec = ModelSpec(folder, device, model.threads, model.dtype, model.attention, code, settings)
        if ADAPTERS[model.adapter].is_remote:
            # Of the servers that are checked none is paid for, also where this job gives its own server a key.
            spec = replace(spec, account=Account(plan.store.root, slug, None, NO_BUDGET, is_paid=False))
        yield loaded(ADAPTERS[model.adapter].target)(spec)


def _lines(run: Run, sight: Sight) -> Iterator[str]:
    frames = " to ".join(str(count) for count in sorted({min(sight.frames), max(sight.frames)}))
    yield f"{run.name}: {sight.questions} questions about {sight.clips} clips"
    yield f"  frames that reached it    {frames} a clip, {sight.tokens_a_frame:.1f} tokens each"
    for view, found in sight.differing.items():
        changed = f"{found.count} of {found.of} answers are others than with {PLAN}"
        yield f"  {view:24}  {changed}, by {found.most:.2g} at most"
    yield f"  options                   {100 * sight.readable:.0f} % of the answers, or of their probability, is one"
    yield f"  time                      {sight.seconds:.2f} s a question"
    for reason, count in sight.failures.most_common():
        yield f"  failed                    {count}: {reason} ({REASONS[reason]})"


def _memory(model: Model) -> Iterator[str]:
    import torch

    if model.gpus:
        for number in range(torch.cuda.device_count()):
            most, there = torch.cuda.max_memory_allocated(number), torch.cuda.get_device_properties(number).total_memory
            yield f"memory of GPU {number}: {most / MB:.0f} MB at most, of {there / MB:.0f} MB"
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / MB
    is_enough = "enough" if used <= model.memory_mb else "too little: set it to more"
    yield f"main memory: {used:.0f} MB at most; `memory_mb: {model.memory_mb}` is {is_enough}"


# --- adopt -----------------------------------------------------------------------------------------------------------


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
    keys = plan.store.root / "keys.jsonl"
    known = {str(key): cast(dict[str, Any], said) for key, said in read_lines(keys)}
    if old_key not in known:
        raise UserError(f"adopt: {keys} does not know key {old_key[:12]} of '{name}'; its answers must be asked again.")
    answers = new.answers.model_dump(mode="json")
    parts = sorted(answers.keys() - {"code", "versions"})  # any other part can alter answers
    changed = [part for part in parts if known[old_key].get(part) != answers[part]]
    if changed:
        raise UserError(
            f"adopt: '{name}' differs in {', '.join(changed)}, which can alter answers. "
            "Only a change of code or of library versions can be adopted; run snakemake to ask again."
        )
    requests = plan.results.judge_requests(run)
    works = gather_text_work(read_table(requests, REQUESTS)) if judge else works_of(plan, run)
    _check_sample(plan, works, old, new, judge or run.model, sample, name)
    source, target = (Journal(journal_path(plan.store, key)) for key in (old_key, new.key))
    entries = [entry for work in works for entry in work.entries if target.get(entry) is None]
    carried = {entry: answer for entry in entries if (answer := source.known(entry)) is not None}
    for entry, answer in carried.items():
        target.add(entry, *answer)
    target.sync()
    append_line(plan.store.root / "adopted.jsonl", canonical_json([name, old_key, new.key, why, sample, len(carried)]))
    write_keys(plan)
    print(f"{name}: {len(carried)} answers carried over after {sample} of them came out the same. Run snakemake now.")


def _check_sample(
    plan: Plan, works: list[Work], old: dict[str, dict[str, Any]], new: ModelRunKey, slug: str, sample: int, name: str
) -> None:
    known = [(w, r) for w in works for r in w.requests if r.request_id in old and not old[r.request_id]["error"]]
    with lazy_model(new, plan.store, plan.config.models[slug].threads, budget=plan.budget) as model:
        for work, request in random.Random(0).sample(known, min(sample, len(known))):
            work.check()
            *_, (_, answer, _) = ask(model, work.clip, [request])
            before = old[request.request_id]
            if answer.error or (answer.text, list(answer.scores)) != (before["text"], before["scores"]):
                raise UserError(
                    f"adopt: '{name}' answers {request.request_id} with "
                    f"{answer.message or answer.text or answer.scores}, before with "
                    f"{before['text'] or before['scores']}. The change altered the answers: run snakemake to ask again."
                )
