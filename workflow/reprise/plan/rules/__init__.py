"""Provide each file of rules with the settings of its stages, and with input functions from wildcards to paths."""

from reprise.plan.runs import Plan


class RuleInputs:
    """Base of the objects that a file of rules calls."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._results = plan, plan.results
