# Objects that all rules share. SUITE has an object for each file of rules, with the input functions of its rules.
# SUITE.settings(name) is a param: the settings that affect a rule's output, as JSON. RUN begins the command of a stage.
import sys

from snakemake.exceptions import WorkflowError

try:
    from reprise.core.errors import UserError
    from reprise.plan.suite import load_suite
    from snakemake_logger_plugin_reprise import LogHandler
except ModuleNotFoundError as error:
    raise WorkflowError(
        f"This Snakemake does not run in the project's environment: {sys.executable} has no module '{error.name}'. "
        "Create the environment with `make setup`, then run .venv/bin/snakemake, or `source .venv/bin/activate` first."
    ) from None

try:
    SUITE = load_suite(
        config,
        # Report unknown targets and profiles before jobs are planned; Snakemake does not pass them to a Snakefile.
        sys.argv,
        # The name of this module if another Snakefile imports it; then its targets are not checked.
        module_name=workflow.modifier.namespace,
        # Rules of one clone must not run the library of another.
        rules_folder=workflow.current_basedir.get_path_or_uri(secret_free=True),
    )
except UserError as error:
    # Raise the error here, so that Snakemake's message names no file of the library.
    raise WorkflowError(str(error)) from None
RUN = SUITE.stage_command()
# The project's logger summarises a dry run by its reasons, which it reads from the graph of jobs.
for handler in workflow.logger_manager.plugin_handlers:
    if isinstance(handler, LogHandler):
        handler.summarize_dry_run(workflow)


# The suite is no wildcard, because Snakemake finds the rule of a file by the constant beginning of its path.
pathvars:
    suite=f"results/{SUITE.name}",


wildcard_constraints:
    **SUITE.wildcards(),


onsuccess:
    SUITE.log_outcome()


onerror:
    SUITE.log_failures()
