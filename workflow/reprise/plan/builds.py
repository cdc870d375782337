"""Check whether this machine's GPUs can run the models of a call, before anything is fetched, hashed or queued."""

from collections.abc import Iterator, Sequence

from reprise.config.model import Model
from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.paths import Scored
from reprise.models.local.gpus import Build, check_build, installed_build
from reprise.models.remote.serving.environment import build_of
from reprise.plan.answers import responses_of
from reprise.plan.runs import Plan
from reprise.plan.site import executor_of, is_jobless
from reprise.plan.targets import asked_by


def build_for(model: Model) -> Build:
    """Return the build of torch that runs a model: the installed one, or that of its server's environment."""
    return build_of(model.served_by.environment) if model.served_by else installed_build()


def check_model_gpus(slug: str, model: Model) -> None:
    """Raise a UserError if this machine has GPUs that a model's build of torch cannot use."""
    if not model.gpus:
        return
    try:
        check_build(build_for(model), model.gpus)
    except UserError as error:
        raise UserError(f"config/models/{slug}.yaml: gpus: {model.gpus}: {error}") from None


def check_gpus(plan: Plan, targets: Sequence[str], arguments: Sequence[str]) -> None:
    """Raise a UserError if this machine's driver or GPUs cannot run the pending models; a dry run only warns.

    Submitted jobs run on other machines, and each job checks its own.
    """
    if executor_of(arguments) is not None:
        return
    problems = list(_problems(plan, targets))
    if problems and not is_jobless(arguments):
        raise UserError("\n".join(problems))
    for problem in problems:
        log.warning(problem)


def _problems(plan: Plan, targets: Sequence[str]) -> Iterator[str]:
    scored_runs = asked_by(plan, targets)
    jobs = {Scored(scored.run) for scored in scored_runs} | {scored for scored in scored_runs if scored.judge}
    pending = {scored.judge or scored.run.model for scored in jobs if not responses_of(plan, scored).is_file()}
    for slug in sorted(pending - plan.imports.models):
        try:
            check_model_gpus(slug, plan.config.models[slug])
        except UserError as error:
            yield str(error)
