"""Check whether this machine's GPUs can run the models of a call, before anything is fetched, hashed or queued."""

from collections.abc import Iterator, Sequence

from reprise.config.model import Model
from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.paths import ScoredRun
from reprise.models.local.gpus import TorchBuild, check_build, read_installed_build
from reprise.models.remote.serving.environment import read_torch_build
from reprise.plan.answers import responses_path
from reprise.plan.runs import Plan
from reprise.plan.site import find_executor, is_jobless
from reprise.plan.targets import find_target_runs


def find_build(model: Model) -> TorchBuild:
    """Return the build of torch that runs a model: the installed one, or that of its server's environment."""
    return read_torch_build(model.served_by.environment) if model.served_by else read_installed_build()


def check_model_gpus(slug: str, model: Model) -> None:
    """Raise a UserError if this machine has GPUs that a model's build of torch cannot use."""
    if not model.gpus:
        return
    try:
        check_build(find_build(model), model.gpus)
    except UserError as error:
        raise UserError(f"config/models/{slug}.yaml: gpus: {model.gpus}: {error}") from None


def check_gpus(plan: Plan, targets: Sequence[str], arguments: Sequence[str]) -> None:
    """Raise a UserError if this machine's driver or GPUs cannot run the pending models; a dry run only warns.

    Submitted jobs run on other machines, and each job checks its own.
    """
    if find_executor(arguments) is not None:
        return
    problems = list(_problems(plan, targets))
    if problems and not is_jobless(arguments):
        raise UserError("\n".join(problems))
    for problem in problems:
        log.warning(problem)


def _problems(plan: Plan, targets: Sequence[str]) -> Iterator[str]:
    scored_runs = find_target_runs(plan, targets)
    jobs = {ScoredRun(scored.run) for scored in scored_runs} | {scored for scored in scored_runs if scored.judge}
    pending = {scored.judge or scored.run.model for scored in jobs if not responses_path(plan, scored).is_file()}
    for slug in sorted(pending - plan.imports.models):
        try:
            check_model_gpus(slug, plan.config.models[slug])
        except UserError as error:
            yield str(error)
