"""Test that `reprise eval` and `temporal` change the configuration only to run a model, and what the check refuses."""

import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from safetensors.torch import load_file, save_file

from tests.unit.fetch.server import silent_server
from tests.unit.models.chat_server import (
    MODEL,
    ChatServer,
    ReceivedRequest,
    ServerReply,
    completion,
    reply_by_frames,
    reply_correctly,
)
from tests.workflow.conftest import ROOT, TOY_TABLES, Project, printed_text

SUITE = "config/suites/small.yaml"
OVERVIEW = "overview: {protocol: entail, sampling: fps1, columns: [{title: Strict, metrics: [strict], group: average}]}"
SERVED = """
label: Served
adapter: openai
settings: {{url: "{url}", model: {model}, scores: logprob_token_ids, retries: 1, timeout_s: 10}}
"""
MC = ("table: table2, protocol: entail", "protocol: mc"), ("metrics: [strict], group", "metrics: [mc_both], group")


@pytest.fixture
def project(toy: Project) -> Project:
    """Return a finished copy with an overview of its models."""
    toy.edit(SUITE, "run: [local]", "run: [local]\noverview: [toy-llava-ov]\ntemporal_ablations: [none, mismatched]")
    return toy


def read_config(project: Project) -> dict[str, bytes]:
    """Return the content of every file of the configuration."""
    paths = (project.root / "config").rglob("*")
    return {str(path): path.read_bytes() for path in paths if path.is_file()}


def make_blind(folder: Path) -> None:
    """Write a checkpoint that ignores its frames."""
    shutil.copytree(ROOT / "resources/demo/checkpoints/llava-ov-late", folder)
    weights = load_file(folder / "model.safetensors")
    for name, value in weights.items():
        if "multi_modal_projector.linear_2" in name:
            value.zero_()
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def test_a_refused_model_leaves_no_trace_and_no_check_runs_it(project: Project) -> None:
    make_blind(project.root / "blind")
    config = read_config(project)
    process = project.reprise("eval", "blind", "--yes", "--cores", "2")
    assert process.returncode == 1 and "Traceback" not in printed_text(process)
    assert "blind should not be run, because each of the 2 runs that were tried shows a problem" in process.stderr
    assert "none of 18 answers changes with another clip's frames" in process.stderr
    assert "--no-check runs it without the check" in process.stderr and process.stderr.count("Error:") == 1
    assert read_config(project) == config
    output = project.reprise_output("eval", "blind", "--benchmarks", "velociti", "--yes", "--cores", "2", "--no-check")
    assert "would run" in output and "Nothing was run" not in output and "What changed" not in output
    assert "blind" in output and "{model: blind, benchmarks: [velociti]}" in project.text(SUITE)


def test_a_server_of_another_model_that_is_gone_is_named(project: Project) -> None:
    project.write("config/models/gone.yaml", SERVED.format(url="http://127.0.0.1:9/v1", model=MODEL))
    project.edit(SUITE, "run: [local]\noverview: [toy-llava-ov]", "run: [local, gone]\noverview: [toy-llava-ov, gone]")
    config = read_config(project)
    process = project.reprise("eval", "toy-llava-ov", "--benchmarks", "velociti", "--yes", "--no-check", "--cores", "2")
    assert process.returncode == 1 and "http://127.0.0.1:9/v1 does not answer" in process.stderr
    assert f"remove 'gone' from `run:` in {SUITE}" in process.stderr and read_config(project) == config


def test_one_useless_run_is_a_warning(
    project: Project, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """The model gives a constant answer to multiple-choice questions, and scores that depend on the frames."""

    def reply(received: ReceivedRequest) -> ServerReply:
        if "logprob_token_ids" in received.body or received.path == "/tokenize":
            return reply_by_frames(received)
        return ServerReply(completion(received, "A"))

    def reply_without_frames(received: ReceivedRequest) -> ServerReply:
        return reply_correctly(received) if "logprob_token_ids" in received.body else reply(received)

    with ChatServer(reply) as server:
        project.write("config/models/served.yaml", SERVED.format(url=server.url, model=MODEL))
        output = project.call_reprise("check", "served", "--questions", "8")
        assert "The answers of served change with its clips in velociti/entail/fps1/served." in output
        assert "velociti/mc/fps1/served: the model ignores the video: none of 3 answers changes" in caplog.text
        server.respond = reply_without_frames
        with pytest.raises(UserError, match="each of the 2 runs that were tried shows a problem"):
            project.call_reprise("check", "served", "--questions", "8", "--benchmarks", "velociti")
        # A server without scores answers in prose.
        settings = SERVED.format(url=server.url, model=MODEL).replace("scores: logprob_token_ids, ", "")
        project.write("config/models/served.yaml", settings)
        server.respond = lambda received: ServerReply(completion(received, "In this video, people meet."))
        with pytest.raises(UserError, match="the only run that was tried shows a problem") as caught:
            project.call_reprise("check", "served", "--questions", "8")
    assert "answers names an option" in str(caught.value) and "ignores the video" not in str(caught.value)
    with pytest.raises(UserError, match="--benchmarks: unknown benchmark 'vinoground'"):
        project.call_reprise("check", "served", "--benchmarks", "vinoground")


@pytest.mark.parametrize("command", [("check", "served"), ("eval", "served", "--yes"), ("temporal", "served", "--yes")])
def test_an_interactive_command_does_not_wait_for_a_server(
    project: Project, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reprise.models.remote.reachability.DEADLINE_S", 1.0)
    with silent_server() as silent_address:
        for address, reason in (
            ("http://127.0.0.1:9", "All connection attempts failed"),
            (silent_address, "no answer within 1 s"),
        ):
            url = f"{address}/v1"
            project.write("config/models/served.yaml", SERVED.format(url=url, model=MODEL))
            config, start = read_config(project), time.monotonic()
            with pytest.raises(UserError, match=rf"served\.yaml: settings\.url: {url} does not answer: {reason}\. Sta"):
                project.call_reprise(*command)
            assert time.monotonic() - start < 30 and read_config(project) == config


def test_the_check_ends_if_requests_are_not_answered(project: Project) -> None:
    """The server lists its models, and answers no request."""

    def reply(received: ReceivedRequest) -> ServerReply:
        return reply_correctly(received) if received.path == "/tokenize" else ServerReply({}, delay=2)

    with ChatServer(reply) as server:
        settings = SERVED.format(url=server.url, model=MODEL).replace("timeout_s: 10", "timeout_s: 0.5")
        project.write("config/models/served.yaml", settings)
        with pytest.raises(UserError, match=r"served: timeout .*: no answer within 0\.5 s\."):
            project.call_reprise("check", "served")
        assert len(server.prompts) == 1


@contextmanager
def terminal(project: Project, *command: str) -> Iterator[int]:
    """Run a `reprise` command in a terminal, whose descriptor is yielded; the command must end with the block.

    A shell may have started the tests in the background, where programs ignore Ctrl-C.
    """
    terminal_file, other_end = pty.openpty()
    process = subprocess.Popen(
        ["setsid", "--ctty", "env", "--default-signal=INT", sys.executable, "-m", "reprise", *command],
        cwd=project.root,
        env=project.environment,
        stdin=other_end,
        stdout=other_end,
        stderr=other_end,
    )
    os.close(other_end)
    try:
        yield terminal_file
    finally:
        os.close(terminal_file)
        process.wait()


def read_until(terminal_file: int, text: str) -> str:
    """Return the output of a terminal up to a text, or to the end of the command."""
    output = ""
    while text not in output:
        try:
            part = os.read(terminal_file, 1000).decode(errors="replace")
        except OSError:  # The command has ended.
            part = ""
        if not part:
            assert text == "(end)", output
            break
        output += part
    return output


@pytest.mark.parametrize("keys", [b"n\n", b"\x03"], ids=["no", "ctrl-c"])
def test_a_declined_command_changes_nothing(project: Project, keys: bytes) -> None:
    shutil.copytree(ROOT / "resources/demo/checkpoints/llava-ov-late", project.root / "new")
    config = read_config(project)
    with terminal(project, "eval", "new", "--cores", "2") as terminal_file:
        assert "Total: requests " in read_until(terminal_file, "Run this?")
        assert read_config(project) != config
        time.sleep(1)  # The command prints its question before it reads the terminal.
        os.write(terminal_file, keys)
        assert "Traceback" not in read_until(terminal_file, "(end)")
    assert read_config(project) == config


def press_ctrl_c(terminal_file: int) -> None:
    os.write(terminal_file, b"\x03")


def send_sigterm(terminal_file: int) -> None:
    """Send SIGTERM to the command alone, not to its subprocesses."""
    os.kill(os.tcgetpgrp(terminal_file), signal.SIGTERM)


@pytest.mark.parametrize("interrupt", [press_ctrl_c, send_sigterm])
@pytest.mark.parametrize("moment", ["Using workflow specific profile", "jobs: "], ids=["start", "preparation"])
def test_a_command_that_is_interrupted_before_its_requests_changes_nothing(
    project: Project, moment: str, interrupt: Callable[[int], None]
) -> None:
    """Snakemake, which prepares the data, releases the working folder."""
    shutil.copytree(ROOT / "resources/demo/checkpoints/llava-ov-late", project.root / "new")
    shutil.rmtree(project.root / "results/small/clips")
    config = read_config(project)
    with terminal(project, "eval", "new", "--cores", "2", "--yes") as terminal_file:
        read_until(terminal_file, moment)
        interrupt(terminal_file)
        output = read_until(terminal_file, "(end)")
    assert "Traceback" not in output and "after a correction" not in output
    assert output.count("Interrupted. Finished requests are cached; the same comm") == 1
    assert read_config(project) == config
    assert not [*(project.root / ".snakemake").glob("locks/*")]


def test_an_interrupted_check_advises_no_correction(project: Project) -> None:
    """Only the process of the check receives the signal."""
    config = read_config(project)
    with ChatServer(lambda received: ServerReply(completion(received), delay=2)) as server:
        command = ("eval", server.url, "--benchmarks", "velociti", "--cores", "2", "--yes")
        with terminal(project, *command) as terminal_file:
            read_until(terminal_file, "jobs would run")
            process_id = os.tcgetpgrp(terminal_file)
            while not server.prompts:
                time.sleep(0.1)
            (child,) = Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()
            os.kill(int(child), signal.SIGINT)
            output = read_until(terminal_file, "(end)")
    assert "after a correction" not in output and "Traceback" not in output
    assert output.count("Interrupted. Finished requests are cached; the same comm") == 1
    assert read_config(project) == config


def test_a_selection_limits_a_profile_of_a_model_with_all_benchmarks(project: Project) -> None:
    """The overview of the demo lists the model with all of its benchmarks."""
    project.edit("config/config.yaml", "suite: small", "suite: demo")
    for path in (ROOT / "resources/demo").iterdir():
        if not (project.root / "resources/demo" / path.name).exists():
            (project.root / "resources/demo" / path.name).symlink_to(path)
    config = read_config(project)
    output = project.reprise_output("temporal", "toy-llava-ov", "--benchmarks", "velociti", "--dry-run")
    assert "velociti/entail.subset/fps1.shuffled/toy-llava-ov" in output and "infer  " in output
    assert not any(name in output for name in ("vinoground", "temporalbench", "mmbench_video"))
    assert read_config(project) == config
    with chdir(project.root):
        planned = project.call_reprise("plan", "toy-llava-ov", "--benchmarks", "velociti", "--all")
    assert "velociti/entail/fps1" in planned and "vinoground" not in planned


def test_a_profile_states_its_cost_before_it_runs(project: Project) -> None:
    """The planned run is done. Each of two ablations asks about the positive and negative caption of 32 samples."""
    output = project.reprise_output("temporal", "toy-llava-ov", "--dry-run")
    (total,) = [line for line in output.splitlines() if line.startswith("Total: ")]
    assert total.startswith(f"Total: requests {2 * 2 * 32}; frames ")
    project.edit(SUITE, "overview: [toy-llava-ov]", "overview: [toy-llava-ov]\ntemporal: [toy-llava-ov]")
    with chdir(project.root):
        planned = project.call_reprise("plan", "toy-llava-ov")
    (time_line,) = [line for line in planned.splitlines() if line.startswith("Time without a GPU: ")]
    assert total in planned.splitlines() and time_line in output.splitlines()


def test_a_profile_of_unparsable_answers_gives_no_verdict(project: Project) -> None:
    tables = TOY_TABLES
    for old, new in MC:
        assert old in tables
        tables = tables.replace(old, new)
    project.write("config/tables/small.yaml", tables)
    with ChatServer(lambda received: ServerReply(completion(received, "???"))) as server:
        project.write("config/models/served.yaml", SERVED.format(url=server.url, model=MODEL))
        config = read_config(project)
        refusal = project.reprise("temporal", "served", "--yes", "--cores", "2")
        assert "none of 18 answers names an option" in refusal.stderr, printed_text(refusal)
        assert read_config(project) == config
        output = project.reprise_output("temporal", "served", "--yes", "--cores", "2", "--no-check")
    assert "No verdict: the run looks broken: VELOCITI" in output
    assert "answers could not be parsed" in output and "no evidence of video use" not in output
    listed = project.reprise_output("runs")
    lines = [line for line in listed.splitlines() if line.endswith("/served")]
    assert len(lines) > 1 and not any("missing" in line for line in lines), "the runs of a profile have their metrics"
