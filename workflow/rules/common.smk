# Objects that all rules share. SUITE has an object for each file of rules, with the input functions of these rules.
# SUITE.settings(name) is a param: the settings that affect the output of a rule, as JSON. RUN is the start of a command.
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
        # Snakemake does not pass targets and profiles to a Snakefile, so unknown ones are found in the command line.
        sys.argv,
        # Name of this module, if another Snakefile imports it. Targets are then not checked.
        module_name=workflow.modifier.namespace,
        # Rules of one clone must not run the library of another.
        rules_folder=workflow.current_basedir.get_path_or_uri(secret_free=True),
    )
except UserError as error:
    # Raise the error here, because Snakemake's message names the file that raises it.
    raise WorkflowError(str(error)) from None
RUN = SUITE.stage_command()
# The project's logger summarises a dry run. It reads the planned jobs from the workflow.
for handler in workflow.logger_manager.plugin_handlers:
    if isinstance(handler, LogHandler):
        handler.summarize_dry_run(workflow)


# The suite is not a wildcard. Snakemake finds the rules of a file faster if the start of their paths is constant.
pathvars:
    suite=f"results/{SUITE.name}",


wildcard_constraints:
    **SUITE.wildcard_patterns(),


onsuccess:
    SUITE.log_outcome()


onerror:
    SUITE.log_failures()
