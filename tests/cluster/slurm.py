"""A Slurm of two nodes on this one machine, with fake GPUs: started for the tests, and removed without a trace.

It needs root, because the plugin's job steps read /etc/slurm/slurm.conf and no other, and Debian's packages, which are installed
if they are missing and taken away again.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

PACKAGES = ("slurm-wlm", "munge")
SLURM, MUNGE = Path("/etc/slurm"), Path("/run/munge")
CONFIG, GRES = SLURM / "slurm.conf", SLURM / "gres.conf"
DAEMONS = ("munged", "slurmctld", "slurmd")
GPU_NODES = ("one", "two")
NODES = (*GPU_NODES, "three")
PORT = 16817
LONGEST_S = 30.0
# No cgroups and no accounting, which need a system of their own. A GPU is a device that is always there.
CONF = """\
ClusterName=reprise
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=sched_interval=1,sched_min_interval=10000,bf_interval=2
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
GresTypes=gpu
ReturnToService=2
MinJobAge=600
KillWait=2
SlurmdParameters=config_overrides
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SlurmctldPort={port}
NodeName={gpu_nodes} NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{second}] CPUs=8 RealMemory=8000 Gres=gpu:1 State=UNKNOWN
NodeName={cpu_node} NodeHostname={host} NodeAddr=127.0.0.1 Port={third} CPUs=8 RealMemory=8000 State=UNKNOWN
PartitionName=short Nodes={cpu_node} Default=YES MaxTime=60 State=UP
PartitionName=accel Nodes={gpu_nodes} MaxTime=120 State=UP
"""
DEVICES = "NodeName={gpu_nodes} Name=gpu File=/dev/null\n"


class NotHereError(Exception):
    """This machine has a Slurm of its own, or cannot be given one."""


def refuse_others() -> None:
    """Leave a machine alone that has a Slurm, or a part of one, that is not ours."""
    if os.geteuid() != 0:
        raise NotHereError("A Slurm can be started by root alone: run this in a container, or on a machine of CI.")
    for path in (CONFIG, GRES, MUNGE / "munge.socket.2"):
        if path.exists():
            raise NotHereError(f"{path} exists: this machine has a Slurm of its own. Run this elsewhere.")
    for pid, name in _processes():
        if name in DAEMONS:
            raise NotHereError(f"{name} runs here ({pid}): this machine has a Slurm of its own. Run this elsewhere.")


def _processes() -> Iterator[tuple[int, str]]:
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            yield int(path.parent.name), path.read_text().strip()
        except OSError:
            continue  # it has ended


@contextmanager
def packages() -> Iterator[None]:
    """Debian's Slurm; what was not there before is removed afterwards."""
    if shutil.which("slurmctld") and shutil.which("munged"):
        yield
        return
    before = _installed()
    _apt("update")
    _apt("install", "--no-install-recommends", *PACKAGES)
    try:
        yield
    finally:
        _apt("purge", *sorted(_installed() - before))


def _installed() -> set[str]:
    listed = ask("dpkg-query", "-f", "${db:Status-Abbrev} ${Package}\n", "-W")
    return {line.split()[1] for line in listed.splitlines() if line.startswith("ii")}


def _apt(*arguments: str) -> None:
    command = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-y", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotHereError(f"apt-get {' '.join(arguments)} failed: {done.stderr.strip()[-500:]}")


class Slurm:
    """The daemons that were started, and what a test asks of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, *command: str, user: str = "root") -> None:
        """Start a daemon in the foreground, as a child of ours."""
        with (self._folder / f"{name}.out").open("ab") as output:
            self._processes[name] = subprocess.Popen(
                command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, user=user, start_new_session=True
            )

    def end(self, name: str) -> None:
        """End a daemon by its id."""
        process = self._processes.pop(name)
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()

    def end_all(self) -> None:
        """End what jobs are left, then the daemons."""
        subprocess.run(["scancel", "--user=root"], capture_output=True, check=False)
        with suppress(TimeoutError, subprocess.CalledProcessError):
            wait_until(lambda: not ask("squeue", "--noheader"), "no job is left")
        for name in reversed(list(self._processes)):
            self.end(name)

    def lose(self, node: str, job: str) -> None:
        """A node loses its power: all that a job of ours has started there ends, so that nobody hears of it."""
        self.end(node)
        kill_all_of(job)
        ask("scontrol", "update", f"nodename={node}", "state=down", "reason=test")

    def logs(self) -> str:
        """The last lines of all daemons, for a failure's message."""
        files = [path for pattern in ("*.log", "*.out") for path in sorted(self._folder.glob(pattern))]
        return "\n".join(f"== {path.name}\n" + "\n".join(path.read_text().splitlines()[-15:]) for path in files)


def kill_all_of(job: str) -> None:
    """Kill all that one of our jobs has started, the daemon of the job first."""
    wanted = f"SLURM_JOB_ID={job}".encode()
    steps, others = [], []
    for pid, name in _processes():
        folder = Path("/proc", str(pid))
        try:
            if name == "slurmstepd" and f"[{job}." in (folder / "cmdline").read_text():
                steps.append(pid)
            elif wanted in (folder / "environ").read_bytes().split(b"\0"):
                others.append(pid)
        except OSError:
            continue  # it has ended
    for pid in [*steps, *others]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def ask(*command: str) -> str:
    """What one of Slurm's commands prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def wait_until(is_so: Callable[[], bool], what: str, longest_s: float = LONGEST_S) -> None:
    end = time.monotonic() + longest_s
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError(f"not after {longest_s:.0f} s: {what}")
        time.sleep(0.1)


@contextmanager
def running_slurm() -> Iterator[Slurm]:
    """Two idle nodes; refuses where the machine has a Slurm, and leaves nothing of ours behind."""
    refuse_others()
    with ExitStack() as stack:
        stack.enter_context(packages())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reprise-slurm-")))
        folder.chmod(0o755)
        for name in ("state", *(f"spool.{node}" for node in NODES)):
            (folder / name).mkdir()
        for path in (CONFIG, GRES):
            stack.callback(path.unlink, missing_ok=True)
        filled = {
            "host": socket.gethostname().partition(".")[0], "folder": folder,
            "gpu_nodes": ",".join(GPU_NODES), "cpu_node": NODES[-1],
            **dict(zip(("port", "first", "second", "third"), range(PORT, PORT + 4), strict=True)),
        }  # fmt: skip
        CONFIG.write_text(CONF.format(**filled))
        GRES.write_text(DEVICES.format(**filled))
        slurm = Slurm(folder)
        stack.callback(shutil.rmtree, MUNGE, ignore_errors=True)
        stack.callback(slurm.end_all)
        MUNGE.mkdir(exist_ok=True)
        shutil.chown(MUNGE, "munge", "munge")
        slurm.start("munged", "/usr/sbin/munged", "--foreground", user="munge")
        wait_until(lambda: subprocess.run(["munge", "-n"], capture_output=True).returncode == 0, "munged answers")
        slurm.start("slurmctld", "slurmctld", "-D")
        for node in NODES:
            slurm.start(node, "slurmd", "-D", "-N", node)
        try:
            wait_until(lambda: _states() == {"idle"}, "all nodes idle")
        except TimeoutError as error:
            raise NotHereError(f"Slurm did not start: {error}\n{slurm.logs()}") from error
        yield slurm


def _states() -> set[str]:
    done = subprocess.run(["sinfo", "-h", "-N", "-o", "%T"], capture_output=True, text=True, check=False)
    return set(done.stdout.split())
