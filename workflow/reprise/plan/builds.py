"""Check whether this machine's GPUs can run the pending models, before the workflow fetches or submits anything."""

from collections.abc import Iterator, Sequence

from reprise.config.model import Model
from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.paths import ScoredRun
from reprise.models.local.gpus import TorchBuild, check_build, read_installed_build
from reprise.models.remote.serving.environment import read_torch_build
from reprise.plan.answers import get_responses_path
from reprise.plan.runs import Plan
from reprise.plan.site import find_executor, is_jobless
from reprise.plan.targets import find_target_runs


def find_torch_build(model: Model) -> TorchBuild:
    """Return the build of torch that runs a model: the installed build, or the build in its server's environment."""
    return read_torch_build(model.served_by.environment) if model.served_by else read_installed_build()


def check_model_gpus(slug: str, model: Model) -> None:
    """Raise a UserError if this machine has GPUs that a model's build of torch cannot use."""
    if not model.gpus:
        return
    try:
        check_build(find_torch_build(model), model.gpus)
    except UserError as error:
        raise UserError(f"config/models/{slug}.yaml: gpus: {model.gpus}: {error}") from None


def check_gpus(plan: Plan, targets: Sequence[str], arguments: Sequence[str]) -> None:
    """Raise a UserError if this machine's driver or GPUs cannot run the pending models; a dry run only warns.

    The check is skipped if jobs are submitted to other machines. Each job then checks its own machine.
    """
    if find_executor(arguments) is not None:
        return
    problems = list(_find_problems(plan, targets))
    if problems and not is_jobless(arguments):
        raise UserError("\n".join(problems))
    for problem in problems:
        log.warning(problem)


def _find_problems(plan: Plan, targets: Sequence[str]) -> Iterator[str]:
    """Yield a message for each model or judge without responses that this machine's GPUs cannot run."""
    scored_runs = find_target_runs(plan, targets)
    # A judged run needs two jobs: one for its model, and one for its judge.
    model_queries = {ScoredRun(scored.run) for scored in scored_runs}
    judge_queries = {scored for scored in scored_runs if scored.judge}
    pending_models = {
        query.judge or query.run.model
        for query in model_queries | judge_queries
        if not get_responses_path(plan, query).is_file()
    }
    for slug in sorted(pending_models - plan.imports.models):
        try:
            check_model_gpus(slug, plan.config.models[slug])
        except UserError as error:
            yield str(error)
