"""Runs that several jobs ask for: what the rules of their pieces are about."""

from pathlib import Path
from typing import Any

from reprise.config.model import Model
from reprise.core.names import one_of
from reprise.core.paths import TIMINGS, Run
from reprise.models.asking.pieces import Piece, pieces_of
from reprise.plan.runs import Plan

Wildcards = Any
"""Snakemake's, with an attribute a wildcard"""


def run_pieces(model: Model) -> list[Piece]:
    """The pieces of each of a model's runs; none where one job asks it."""
    return pieces_of(model.pieces) if model.pieces > 1 else []


class Split:
    """A suite's split runs as input functions."""

    def __init__(self, plan: Plan) -> None:
        self._results = plan.results
        self._models = plan.config.models
        self._asked = self._models.keys() - plan.imports.models

    def whole_models(self) -> str:
        """The models whose runs one job asks for."""
        return one_of(slug for slug in self._asked if not run_pieces(self._models[slug]))

    def models(self) -> str:
        """Those whose runs are split."""
        return one_of(slug for slug in self._asked if run_pieces(self._models[slug]))

    def answers(self, wildcards: Wildcards) -> list[Path]:
        """The answers of a run's pieces."""
        run = Run(wildcards.benchmark, wildcards.protocol, wildcards.sampling, wildcards.model)
        return [self._results.piece(run, piece.name) for piece in run_pieces(self._models[run.model])]

    def timings(self, wildcards: Wildcards) -> list[Path]:
        """How long they took."""
        return [path.with_suffix(TIMINGS) for path in self.answers(wildcards)]
