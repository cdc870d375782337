"""Command `check`: query a model with a few requests before a long run."""

import random
import resource
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from reprise.commands.shared import data_of, plan_of, works_of
from reprise.config.model import Model
from reprise.core.errors import UserError, refuse_unknown
from reprise.core.paths import Run
from reprise.models.adapters import ADAPTERS, SHARE, loaded
from reprise.models.asking.kept import end_idle_process
from reprise.models.asking.money.prices import NO_BUDGET, Account
from reprise.models.asking.reasons import REASONS, in_words
from reprise.models.asking.sight import PLAN, Sight, sight_of
from reprise.models.base import Adapter, Due, ModelSpec
from reprise.models.local.gpus import take_gpus
from reprise.models.local.weights import WEIGHTS, snapshot_folder
from reprise.models.remote.serving.host import Host
from reprise.models.settings import HALF
from reprise.plan.builds import build_for, check_model_gpus
from reprise.plan.run_keys import check_frames_chosen, server_of, weights_identity
from reprise.plan.runs import Plan

CHECKABLE_ASKS = ("score", "choose")
MB = 10**6


def check_model(slug: str, questions: int, suite: str | None) -> None:
    """Query a model with a few of the suite's requests and print a summary.

    Raises:
        UserError: The model cannot be checked, all requests of a run fail, the answers do not depend on the clip, or
            the scores hold too little of the probability.
    """
    plan = plan_of(suite)
    refuse_unknown("model", [slug], plan.config.models, "check")
    model = plan.config.models[slug]
    if not sees_frames(model):
        raise UserError(
            f"check: '{slug}' has adapter '{model.adapter}'; only models with weights that see frames, and servers of "
            "your own, are checked."
        )
    check_model_gpus(slug, model)
    _check_frames(plan, slug, model)
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
            elif _ask_of(plan, run) == "score" and sight.readable < float(model.settings.get(SHARE, HALF)):
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


def _check_frames(plan: Plan, slug: str, model: Model) -> None:
    """Raise a UserError that names the right `settings.frames` if a served model lacks this setting."""
    try:
        check_frames_chosen(slug, model)
    except UserError as error:
        from reprise.models.local.examine import frames_shown

        folder, code = _weights(plan, slug, model), model.trust_remote_code
        mode = frames_shown(ModelSpec(folder, "cpu", 1, model.dtype, model.attention, code, {}))
        raise UserError(
            f"config/models/{slug}.yaml: settings.frames: missing. The processor and the chat template of this "
            f"checkpoint take {'a video' if mode == 'video' else 'images'}: write `settings: {{frames: {mode}}}`."
        ) from error


def _notes(plan: Plan, slug: str, model: Model) -> Iterable[str]:
    """Return notes on a model's files; a UserError reports an unsupported model before any weights are loaded."""
    from reprise.models.local.examine import differences, notes

    folder, code = _weights(plan, slug, model), model.trust_remote_code
    spec = ModelSpec(folder, "cpu", 1, model.dtype, model.attention, code, model.settings, shows_frames=True)
    if problems := list(differences(model.adapter, spec)):
        raise UserError(f"{slug}: " + " ".join(problems))
    return notes(spec)


def _ask_of(plan: Plan, run: Run) -> str:
    return plan.config.benchmarks[run.benchmark].protocols[run.protocol].ask


def sees_frames(model: Model) -> bool:
    """Return whether a model can be checked: it accepts frames and costs no money."""
    adapter = ADAPTERS[model.adapter]
    is_model = model.has_weights or (adapter.is_remote and not adapter.is_paid(model.settings))
    return adapter.frames == "shown" and is_model and not {*CHECKABLE_ASKS}.isdisjoint(adapter.asked(model.settings))


def is_checked(plan: Plan, run: Run) -> bool:
    return _ask_of(plan, run) in CHECKABLE_ASKS and plan.config.main.samplings[run.sampling]["rule"] != "none"


def _runs_with_data(plan: Plan, slug: str, model: Model) -> list[Run]:
    """Return one run with existing data for each `ask` of the model; runs of the model itself take precedence."""
    supported = ADAPTERS[model.adapter].asked(model.settings)
    candidates = [run for run in plan.runs() if _ask_of(plan, run) in supported and is_checked(plan, run)]
    runs_by_ask: dict[str, Run] = {}
    for run in sorted(candidates, key=lambda run: (run.model != slug, run)):
        if all(map(Path.is_file, data_of(plan, run))):
            runs_by_ask.setdefault(_ask_of(plan, run), Run(run.benchmark, run.protocol, run.sampling, slug))
    if not runs_by_ask:
        hint = f" Make some first: snakemake {' '.join(map(str, data_of(plan, candidates[0])))}" if candidates else ""
        raise UserError(f"check: suite '{plan.config.name}' has no questions with frames yet that fit '{slug}'.{hint}")
    return list(runs_by_ask.values())


def _sample(plan: Plan, run: Run, questions: int) -> list[Due]:
    works = [work for work in works_of(plan, run) if work.clip.indices]
    if len(works) < 2:
        raise UserError(
            f"check: {plan.results.frames(run.benchmark, run.sampling)} shows {len(works)} clips; two are needed, to "
            "show one instead of the other."
        )
    sample = random.Random(0).sample(works, min(12, len(works)))
    for work in sample:
        work.check()
    return [Due(work.clip, work.requests[: max(1, questions // len(sample))]) for work in sample]


def _weights(plan: Plan, slug: str, model: Model) -> Path:
    folder = Path(model.checkpoint or snapshot_folder(str(model.repo), str(model.revision), plan.store))
    if not any(any(folder.glob(pattern)) for pattern in (WEIGHTS, *model.files)):
        hint = f"Fetch them first: snakemake {plan.results.weights(slug)}" if model.repo else "Correct `checkpoint`."
        raise UserError(f"config/models/{slug}.yaml: no weights in {folder}. {hint}")
    return folder


@contextmanager
def _loaded(plan: Plan, slug: str, model: Model) -> Iterator[Adapter]:
    """Yield the adapter of a model that is loaded here, or served by a new or a running server."""
    folder, settings = _weights(plan, slug, model) if model.has_weights else None, model.settings
    with ExitStack() as stack:
        for lock in take_gpus(model.gpus, plan.store.root / "locks", slug, build_for(model), end_idle_process):
            stack.callback(lock.release)  # The GPUs stay locked while the model is in use.
        serving, hosting, _, server_settings = server_of(model, weights_identity(slug, model, plan.store))
        if serving is not None and hosting is not None and folder is not None:
            log = plan.results.log("check", slug).with_suffix(".server.log")
            host = Host(serving, hosting, weights=folder, name=server_settings["model"], store=plan.store, log_file=log)
            stack.callback(host.close)
            settings = settings | server_settings | host.start()
        device, code = "cuda" if model.gpus else "cpu", model.trust_remote_code
        spec = ModelSpec(folder, device, model.threads, model.dtype, model.attention, code, settings)
        if ADAPTERS[model.adapter].is_remote:
            # No checked server costs money, even if this job gives its own server an API key.
            spec = replace(spec, account=Account(plan.store.root, slug, None, NO_BUDGET, is_paid=False))
        yield loaded(ADAPTERS[model.adapter].target)(spec)


def _lines(run: Run, sight: Sight) -> Iterator[str]:
    frames = " to ".join(str(count) for count in sorted({min(sight.frames), max(sight.frames)}))
    yield f"{run.name}: {sight.questions} questions about {sight.clips} clips"
    yield f"  frames that reached it    {frames} a clip, {sight.tokens_a_frame:.1f} tokens each"
    for ablation, changes in sight.differing.items():
        summary = f"{changes.count} of {changes.of} answers are others than with {PLAN}"
        yield f"  {ablation:24}  {summary}, by {changes.most:.2g} at most"
    yield f"  options                   {100 * sight.readable:.0f} % of the answers, or of their probability, is one"
    yield f"  time                      {sight.seconds:.2f} s a question"
    for reason, count in sight.failures.most_common():
        yield f"  failed                    {count}: {reason} ({REASONS[reason]})"


def _memory(model: Model) -> Iterator[str]:
    import torch

    if model.gpus:
        for number in range(torch.cuda.device_count()):
            peak, total = torch.cuda.max_memory_allocated(number), torch.cuda.get_device_properties(number).total_memory
            yield f"memory of GPU {number}: {peak / MB:.0f} MB at most, of {total / MB:.0f} MB"
    main_memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / MB
    is_enough = "enough" if main_memory <= model.memory_mb else "too little: set it to more"
    yield f"main memory: {main_memory:.0f} MB at most; `memory_mb: {model.memory_mb}` is {is_enough}"
