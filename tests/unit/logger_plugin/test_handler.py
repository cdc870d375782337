"""The plugin's place among Python's log handlers."""

import logging
from types import SimpleNamespace

import pytest
from snakemake_logger_plugin_reprise import LogHandler, LogHandlerSettings


def test_a_log_on_a_full_disk_gives_no_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Snakemake's own log lies beside the results; what failed is shown all the same."""
    monkeypatch.setattr(logging, "raiseExceptions", True)
    of_snakemake = logging.FileHandler("/dev/full")
    record = logging.LogRecord("snakemake.logging", logging.INFO, __file__, 1, "a line", None, None)
    of_snakemake.emit(record)
    assert "No space left on device" in capsys.readouterr().err
    common = SimpleNamespace(
        stdout=False, verbose=False, debug_dag=False, printshellcmds=False, nocolor=True, quiet=(), dryrun=False
    )
    plugin = LogHandler(common, LogHandlerSettings())  # type: ignore[arg-type]
    of_snakemake.emit(record)
    assert capsys.readouterr().err == ""
    plugin.close()
