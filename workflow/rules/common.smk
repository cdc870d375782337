# Shared by all rules. SUITE has an object for each file of rules, whose methods are the rules' input functions.
# SUITE.settings(name) is a param: the settings that shape a rule's output, as JSON. RUN begins the command of a stage.
import sys

from snakemake.exceptions import WorkflowError

try:
    from reprise.core.errors import UserError
    from reprise.plan.suite import load_suite
    from snakemake_logger_plugin_reprise import LogHandler
except ModuleNotFoundError as error:
    raise WorkflowError(
        f"This Snakemake is not of the project's environment: {sys.executable} has no module '{error.name}'. "
        "Set the environment up with `make setup`, then run .venv/bin/snakemake, or `source .venv/bin/activate` first."
    ) from None

try:
    SUITE = load_suite(
        config,
        # Mistyped targets and profiles are reported before jobs are planned; Snakemake shows them to no Snakefile.
        sys.argv,
        # The module's name, where another Snakefile imports this one: its targets are not checked then.
        within=workflow.modifier.namespace,
        # Rules of one clone must not run the library of another.
        rules_in=workflow.current_basedir.get_path_or_uri(secret_free=True),
    )
except UserError as error:
    # Raised here, so that Snakemake shows no file of the library.
    raise WorkflowError(str(error)) from None
RUN = SUITE.stage_command()
# The project's logger summarises a dry run by its causes, for which it reads the graph of jobs.
for handler in workflow.logger_manager.plugin_handlers:
    if isinstance(handler, LogHandler):
        handler.plan_of(workflow)


# No wildcard: Snakemake finds the rule of a file by what its path begins with.
pathvars:
    suite=f"results/{SUITE.name}",


wildcard_constraints:
    **SUITE.wildcards(),


onsuccess:
    SUITE.say_outcome()


onerror:
    SUITE.say_failures()
