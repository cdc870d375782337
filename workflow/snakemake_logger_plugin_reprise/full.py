"""Snakemake's own output, unchanged."""

from logging import LogRecord
from typing import TextIO

from snakemake.logging import ColorizingTextHandler, DefaultFilter, DefaultFormatter
from snakemake_interface_logger_plugins.settings import OutputSettingsLoggerInterface


class Full:
    """Shows every record as Snakemake does without a plugin."""

    def __init__(self, common: OutputSettingsLoggerInterface, stream: TextIO) -> None:
        self._handler = ColorizingTextHandler(nocolor=common.nocolor, stream=stream)
        self._handler.setFormatter(DefaultFormatter(common.quiet, common.show_failed_logs))
        self._handler.addFilter(
            DefaultFilter(common.quiet, common.debug_dag, common.verbose, common.dryrun, common.printshellcmds)
        )

    def take(self, record: LogRecord) -> None:
        self._handler.handle(record)

    def end(self) -> None:
        self._handler.flush()
