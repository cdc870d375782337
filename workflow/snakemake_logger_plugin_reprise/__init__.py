"""Snakemake logger plugin `reprise`, which the profiles select: concise terminal output of runs and dry runs.

Snakemake imports this module at every start, so its imports must be fast.
"""

import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    """Settings of the plugin; Snakemake turns the field `full` into the option `--logger-reprise-full`."""

    full: bool = field(default=False, metadata={"help": "Show Snakemake's own output, with every job and reason."})


class LogHandler(LogHandlerBase):
    """Show Snakemake's events and the library's messages concisely, or show Snakemake's full output."""

    writes_to_stream = has_filter = has_formatter = True
    writes_to_file = needs_rulegraph = False

    def __post_init__(self) -> None:
        # If Snakemake cannot write its own log, for example on a full disk, logging would print a traceback for each
        # line. This handler still shows the failures of jobs.
        logging.raiseExceptions = False
        common, stream = self.common_settings, sys.stdout if self.common_settings.stdout else sys.stderr
        self._handle_record: Callable[[logging.LogRecord], object]
        self._end_output: Callable[[], None]
        self._terminal = None
        is_full = isinstance(self.settings, LogHandlerSettings) and self.settings.full
        if is_full or common.verbose or common.debug_dag or common.printshellcmds:
            from snakemake.logging import ColorizingTextHandler, DefaultFilter, DefaultFormatter

            snakemake_handler = ColorizingTextHandler(nocolor=common.nocolor, stream=stream)
            snakemake_handler.setFormatter(DefaultFormatter(common.quiet, common.show_failed_logs))
            snakemake_handler.addFilter(
                DefaultFilter(common.quiet, common.debug_dag, common.verbose, common.dryrun, common.printshellcmds)
            )
            self._handle_record, self._end_output = snakemake_handler.handle, snakemake_handler.flush
        else:
            from snakemake_logger_plugin_reprise.terminal import Terminal

            self._terminal = Terminal(common, stream)
            self._handle_record, self._end_output = self._terminal.handle, self._terminal.end
        self._library_handler = _SnakemakeForwarder()
        logging.getLogger("reprise").addHandler(self._library_handler)

    def emit(self, record: logging.LogRecord) -> None:
        self._handle_record(record)

    def summarize_dry_run(self, workflow: Any) -> None:
        """Summarise a dry run from the graph of jobs, as soon as Snakemake has built the graph.

        The summary also silences Snakemake's own list of jobs, which takes a quarter of the time of a dry run.
        """
        if self._terminal and self.common_settings.dryrun:
            # Unlike a handler, a filter lets an error in a rule end the dry run.
            logging.getLogger("snakemake.logging").addFilter(partial(self._terminal.read_dry_run, workflow))

    def close(self) -> None:
        """Show the outcome. Snakemake calls this method once, and Python's `logging` calls it again at process exit."""
        logging.getLogger("reprise").removeHandler(self._library_handler)
        self._end_output()
        super().close()


class _SnakemakeForwarder(logging.Handler):
    """Forward the library's messages to Snakemake's logger, which keeps their order and writes them to its log file."""

    def emit(self, record: logging.LogRecord) -> None:
        logging.getLogger("snakemake.logging").handle(record)
