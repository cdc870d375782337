"""What a person sees while Snakemake works: its logger plugin `reprise`, which the profiles name.

This module is imported at every start of Snakemake, so it imports little itself.
"""

import logging
import sys
from dataclasses import dataclass, field
from typing import Protocol

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

SNAKEMAKE = "snakemake.logging"
LIBRARY = "reprise"


class Shown(Protocol):
    """What takes Snakemake's records and shows them."""

    def take(self, record: logging.LogRecord) -> None: ...

    def end(self) -> None: ...


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    """Becomes the flag `--logger-reprise-full`."""

    full: bool = field(default=False, metadata={"help": "Show Snakemake's own output, every job and reason in full."})


class LogHandler(LogHandlerBase):
    """Snakemake's events, and the library's messages, in words; or all of Snakemake's own output."""

    def __post_init__(self) -> None:
        # Where Snakemake's own log cannot be written, as on a full disk, what failed is still shown here, and without
        # a traceback for each line of the log.
        logging.raiseExceptions = False
        common = self.common_settings
        stream = sys.stdout if common.stdout else sys.stderr
        self._shown: Shown
        is_full = isinstance(self.settings, LogHandlerSettings) and self.settings.full
        if is_full or common.verbose or common.debug_dag or common.printshellcmds:
            from snakemake_logger_plugin_reprise.full import Full

            self._shown = Full(common, stream)
        else:
            from snakemake_logger_plugin_reprise.terminal import Terminal

            self._shown = Terminal(common, stream)
        self._from_library = _ToSnakemake()
        logging.getLogger(LIBRARY).addHandler(self._from_library)

    def emit(self, record: logging.LogRecord) -> None:
        """Show what a record says."""
        self._shown.take(record)

    def close(self) -> None:
        """Show how it ended. Snakemake calls this once, and Python's `logging` again when the process ends."""
        logging.getLogger(LIBRARY).removeHandler(self._from_library)
        self._shown.end()
        super().close()

    @property
    def writes_to_stream(self) -> bool:
        return True

    @property
    def writes_to_file(self) -> bool:
        return False

    @property
    def has_filter(self) -> bool:
        return True

    @property
    def has_formatter(self) -> bool:
        return True

    @property
    def needs_rulegraph(self) -> bool:
        return False


class _ToSnakemake(logging.Handler):
    """Puts the library's messages among Snakemake's, so that they come in order and also into its log file."""

    def emit(self, record: logging.LogRecord) -> None:
        logging.getLogger(SNAKEMAKE).handle(record)
