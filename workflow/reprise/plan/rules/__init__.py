"""What each file of rules asks of a suite: the settings of its stages, and input functions from wildcards to paths."""

from reprise.plan.runs import Plan


class Asked:
    def __init__(self, plan: Plan) -> None:
        self._plan, self._results = plan, plan.results
