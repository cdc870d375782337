"""Snakemake logger plugin `reprise`, which the profiles select: concise terminal output of runs and dry runs.

Snakemake imports this module at every start, so it imports little itself.
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
    """Handler that shows Snakemake's events and the library's messages concisely, or Snakemake's full output."""

    writes_to_stream = has_filter = has_formatter = True
    writes_to_file = needs_rulegraph = False

    def __post_init__(self) -> None:
        # If Snakemake's own log cannot be written, as on a full disk, failures are still shown here, without a
        # traceback for each line of the log.
        logging.raiseExceptions = False
        common, stream = self.common_settings, sys.stdout if self.common_settings.stdout else sys.stderr
        self._take: Callable[[logging.LogRecord], object]
        self._end: Callable[[], None]
        self._terminal = None
        is_full = isinstance(self.settings, LogHandlerSettings) and self.settings.full
        if is_full or common.verbose or common.debug_dag or common.printshellcmds:
            from snakemake.logging import ColorizingTextHandler, DefaultFilter, DefaultFormatter

            snakemake_handler = ColorizingTextHandler(nocolor=common.nocolor, stream=stream)
            snakemake_handler.setFormatter(DefaultFormatter(common.quiet, common.show_failed_logs))
            snakemake_handler.addFilter(
                DefaultFilter(common.quiet, common.debug_dag, common.verbose, common.dryrun, common.printshellcmds)
            )
            self._take, self._end = snakemake_handler.handle, snakemake_handler.flush
        else:
            from snakemake_logger_plugin_reprise.terminal import Terminal

            self._terminal = Terminal(common, stream)
            self._take, self._end = self._terminal.handle, self._terminal.end
        self._library_handler = _SnakemakeForwarder()
        logging.getLogger("reprise").addHandler(self._library_handler)

    def emit(self, record: logging.LogRecord) -> None:
        self._take(record)

    def summarize_dry_run(self, workflow: Any) -> None:
        """Have the terminal summarise a dry run from the job graph, once Snakemake has built it.

        Unless it is quiet, Snakemake also formats each job with its command, which takes a quarter of the time.
        """
        if self._terminal and self.common_settings.dryrun:
            # A filter runs inside Snakemake's logging calls, so that an error in a rule ends the dry run.
            logging.getLogger("snakemake.logging").addFilter(partial(self._terminal.read_dry_run, workflow))

    def close(self) -> None:
        """Show the outcome; Snakemake calls this method once, and Python's `logging` again at process exit."""
        logging.getLogger("reprise").removeHandler(self._library_handler)
        self._end()
        super().close()


class _SnakemakeForwarder(logging.Handler):
    """Forward the library's messages to Snakemake's logger, so that they appear in order and in its log file."""

    def emit(self, record: logging.LogRecord) -> None:
        logging.getLogger("snakemake.logging").handle(record)
