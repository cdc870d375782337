"""What a person sees while Snakemake works: its logger plugin `reprise`, which the profiles name.

This module is imported at every start of Snakemake, so it imports little itself.
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
    """Becomes the flag `--logger-reprise-full`."""

    full: bool = field(default=False, metadata={"help": "Show Snakemake's own output, every job and reason in full."})


class LogHandler(LogHandlerBase):
    """Snakemake's events, and the library's messages, in words; or all of Snakemake's own output."""

    writes_to_stream = has_filter = has_formatter = True
    writes_to_file = needs_rulegraph = False

    def __post_init__(self) -> None:
        # Where Snakemake's own log cannot be written, as on a full disk, what failed is still shown here, and without
        # a traceback for each line of the log.
        logging.raiseExceptions = False
        common, stream = self.common_settings, sys.stdout if self.common_settings.stdout else sys.stderr
        self._take: Callable[[logging.LogRecord], object]
        self._end: Callable[[], None]
        self._terminal = None
        is_full = isinstance(self.settings, LogHandlerSettings) and self.settings.full
        if is_full or common.verbose or common.debug_dag or common.printshellcmds:
            from snakemake.logging import ColorizingTextHandler, DefaultFilter, DefaultFormatter

            of_snakemake = ColorizingTextHandler(nocolor=common.nocolor, stream=stream)
            of_snakemake.setFormatter(DefaultFormatter(common.quiet, common.show_failed_logs))
            of_snakemake.addFilter(
                DefaultFilter(common.quiet, common.debug_dag, common.verbose, common.dryrun, common.printshellcmds)
            )
            self._take, self._end = of_snakemake.handle, of_snakemake.flush
        else:
            from snakemake_logger_plugin_reprise.terminal import Terminal

            self._terminal = Terminal(common, stream)
            self._take, self._end = self._terminal.take, self._terminal.end
        self._from_library = _ToSnakemake()
        logging.getLogger("reprise").addHandler(self._from_library)

    def emit(self, record: logging.LogRecord) -> None:
        self._take(record)

    def plan_of(self, workflow: Any) -> None:
        """Say of a dry run what the graph of its jobs says, once that is made.

        Unless it is to be quiet Snakemake writes out each job with its command, which takes a quarter of the time.
        """
        if self._terminal and self.common_settings.dryrun:
            # A filter is called where Snakemake logs, so that what is wrong with a rule ends the dry run.
            logging.getLogger("snakemake.logging").addFilter(partial(self._terminal.plan, workflow))

    def close(self) -> None:
        """Show how it ended. Snakemake calls this once, and Python's `logging` again when the process ends."""
        logging.getLogger("reprise").removeHandler(self._from_library)
        self._end()
        super().close()


class _ToSnakemake(logging.Handler):
    """Puts the library's messages among Snakemake's, so that they come in order and also into its log file."""

    def emit(self, record: logging.LogRecord) -> None:
        logging.getLogger("snakemake.logging").handle(record)
