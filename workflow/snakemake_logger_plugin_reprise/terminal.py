"""What a person sees of a run or a dry run: how far it is, what failed and why, how it ended."""

import threading
import time
from logging import LogRecord, getLevelName
from typing import TextIO

from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.settings import OutputSettingsLoggerInterface

from snakemake_logger_plugin_reprise.jobs import Jobs, in_words, job_of, last_error
from snakemake_logger_plugin_reprise.messages import LOG_FILE, STOPPING, TRIED_AGAIN, is_noise, mistake
from snakemake_logger_plugin_reprise.planned import Planned
from snakemake_logger_plugin_reprise.screen import BOLD, PLAIN, RED, YELLOW, Screen

MOST_RUNNING, MOST_FAILED = 8, 10
LOST = "it wrote no message; it may have been killed, for want of memory, say"


class Terminal:
    """Takes Snakemake's records one by one. A thread of its own shows the status, so that no silence is long."""

    def __init__(self, common: OutputSettingsLoggerInterface, stream: TextIO) -> None:
        self._quiet = set(common.quiet or ())
        self._is_dry = common.dryrun
        self._is_silent = Quietness.ALL in self._quiet and not self._is_dry
        self._screen = Screen(stream, is_coloured=not common.nocolor)
        self._jobs = Jobs()
        self._planned = Planned()
        self._start = self._said = time.monotonic()
        self._doing = "planning the jobs"
        self._log_file = ""
        self._is_stopping = self._has_error = self._has_ended = False
        self._events = {
            LogEvent.RUN_INFO: self._counted,
            LogEvent.JOB_INFO: self._started,
            LogEvent.JOB_FINISHED: self._finished,
            LogEvent.JOB_ERROR: self._failed,
            LogEvent.ERROR: self._error,
            None: self._message,
        }
        self._lock = threading.RLock()
        self._over = threading.Event()
        if not self._is_silent and not self._is_dry and not self._quiet:
            threading.Thread(target=self._watch, daemon=True).start()

    def take(self, record: LogRecord) -> None:
        """Show what a record says, if a person wants to know it."""
        show = self._events.get(getattr(record, "event", None))
        if show is not None and not self._is_silent:
            with self._lock:
                show(record)

    def end(self) -> None:
        """Say how it ended, once."""
        self._over.set()
        with self._lock:
            if self._has_ended or self._is_silent:
                return
            self._has_ended = True
            if self._is_dry and not self._has_error:
                self._say(self._planned.text(self._screen.width))
            elif not self._is_dry and self._jobs.total:
                self._say_result()
            self._screen.status([])

    # Events

    def _counted(self, record: LogRecord) -> None:
        stats = vars(record)["stats"]
        if self._is_dry:
            self._planned.count(stats)
        elif not self._jobs.total:
            self._jobs.start(stats)
            listed = ", ".join(f"{count} {rule}" for rule, count in self._jobs.total.items())
            if not self._quiet:
                self._say(f"{self._jobs.total.total()} jobs: {listed}", BOLD)
            self._doing = ""

    def _started(self, record: LogRecord) -> None:
        of = vars(record)
        if self._is_dry:
            self._planned.add(of["rule_name"], of["wildcards"], of["reason"], of["output"])
        else:
            self._jobs.running[of["jobid"]] = job_of(of["rule_name"], of["wildcards"], of["log"])

    def _finished(self, record: LogRecord) -> None:
        self._jobs.finish(vars(record)["job_id"])

    def _failed(self, record: LogRecord) -> None:
        of = vars(record)
        running = self._jobs.running.get(of["jobid"])
        if running is None or self._is_stopping:
            self._jobs.running.pop(of["jobid"], None)
            return
        reason = last_error(running.logs) or " ".join((of["rule_msg"] or LOST).split())
        self._jobs.fail(of["jobid"], reason)
        self._say(f"FAILED {self._failure(of['jobid'])}", RED)

    def _failure(self, jobid: int) -> str:
        job, reason = self._jobs.failed[jobid]
        log = f" (log: {job.logs[0]})" if job.logs else ""
        return f"{job.name}: {reason}{log}"

    def _error(self, record: LogRecord) -> None:
        text = mistake(record.getMessage(), vars(record)["exception"])
        if text:
            self._has_error = True
            self._say(text, RED)

    def _message(self, record: LogRecord) -> None:
        text = record.getMessage()
        self._log_file = text.removeprefix(LOG_FILE) if text.startswith(LOG_FILE) else self._log_file
        if text.startswith(STOPPING):
            self._is_stopping = True
        if again := TRIED_AGAIN.match(text):
            self._try_again(int(again[1]))
        elif not is_noise(text):
            self._say(text, {"WARNING": YELLOW, "ERROR": RED}.get(getLevelName(record.levelno), PLAIN))

    def _try_again(self, jobid: int) -> None:
        failed = self._jobs.failed.pop(jobid, None)
        if failed is not None:
            self._say(f"Trying again: {failed[0].name}")

    # What is shown

    def _say(self, text: str, style: str = PLAIN) -> None:
        if text:
            self._said = time.monotonic()
            self._screen.say(text, style)

    def _say_result(self) -> None:
        took = in_words(time.monotonic() - self._start)
        failed, left = self._jobs.failed, self._jobs.total.total() - self._jobs.done.total()
        if self._is_stopping:
            self._say(f"Stopped after {took}: {self._jobs.count()} done. The same command goes on from there.", BOLD)
        elif failed or left:
            self._say(f"Not finished after {took}: {self._jobs.count()}, {left - len(failed)} not begun.", BOLD)
            for jobid in list(failed)[:MOST_FAILED]:
                self._say(f"  {self._failure(jobid)}")
            if len(failed) > MOST_FAILED:
                self._say(f"  and {len(failed) - MOST_FAILED} more")
            self._say("What is done is kept. Correct the cause, then run the same command again.")
        elif not self._quiet:
            self._say(f"Done in {took}: {self._jobs.count()}.", BOLD)
        if self._log_file and (failed or left) and not self._is_stopping:
            self._say(f"Snakemake's own output: {self._log_file} (on the screen: --logger-reprise-full)")

    def _watch(self) -> None:
        """Show the status until the end."""
        while not self._over.wait(min(1.0, self._screen.period)):
            with self._lock:
                if self._screen.is_terminal:
                    self._screen.status(self._status())
                elif time.monotonic() - self._said >= self._screen.period and not self._over.is_set():
                    self._say("; ".join(line.strip() for line in self._status()))

    def _status(self) -> list[str]:
        """What is done now and how far it is, as lines."""
        took = in_words(time.monotonic() - self._start)
        if self._doing:
            return [f"{took}: {self._doing}"]
        running = [f"  {job.name}: {job.state()}" for job in self._jobs.running.values()]
        more = [f"  and {len(running) - MOST_RUNNING} more at work"] if len(running) > MOST_RUNNING else []
        by_rule = ", ".join(self._jobs.by_rule())
        begun = [f"  of them {by_rule}"] if by_rule else []
        return [f"{took}: {self._jobs.count()}", *begun, *running[:MOST_RUNNING], *more]
