"""A Slurm of three nodes on this machine, with fake GPUs, which exists only during the tests.

It needs root, because the plugin's job steps read only /etc/slurm/slurm.conf. Missing Debian packages are installed, and
removed afterwards.
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
# cgroups and accounting would need further services. The device of each GPU is /dev/null.
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


class SlurmUnavailableError(Exception):
    """The machine already has a Slurm, or Slurm cannot be started."""


def check_no_other_slurm() -> None:
    """Raise an error if the machine has another Slurm or a part of one."""
    if os.geteuid() != 0:
        raise SlurmUnavailableError("Only root can start a Slurm. Run this in a container or on a CI machine.")
    for path in (CONFIG, GRES, MUNGE / "munge.socket.2"):
        if path.exists():
            raise SlurmUnavailableError(f"{path} exists: this machine has a Slurm of its own. Run this elsewhere.")
    for pid, name in _processes():
        if name in DAEMONS:
            raise SlurmUnavailableError(
                f"{name} runs here ({pid}): this machine has a Slurm of its own. Run this elsewhere."
            )


def _processes() -> Iterator[tuple[int, str]]:
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            yield int(path.parent.name), path.read_text().strip()
        except OSError:
            continue  # The process has ended.


@contextmanager
def packages() -> Iterator[None]:
    """Install Debian's Slurm if it is missing, and remove the new packages afterwards."""
    if shutil.which("slurmctld") and shutil.which("munged"):
        yield
        return
    installed_before = _installed()
    _apt("update")
    _apt("install", "--no-install-recommends", *PACKAGES)
    try:
        yield
    finally:
        _apt("purge", *sorted(_installed() - installed_before))


def _installed() -> set[str]:
    output = run_slurm("dpkg-query", "-f", "${db:Status-Abbrev} ${Package}\n", "-W")
    return {line.split()[1] for line in output.splitlines() if line.startswith("ii")}


def _apt(*arguments: str) -> None:
    command = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-y", *arguments]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode:
        raise SlurmUnavailableError(f"apt-get {' '.join(arguments)} failed: {process.stderr.strip()[-500:]}")


class Slurm:
    """The Slurm daemons that the tests started."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, *command: str, user: str = "root") -> None:
        """Start a daemon in the foreground as a child process."""
        with (self._folder / f"{name}.out").open("ab") as output:
            self._processes[name] = subprocess.Popen(
                command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, user=user, start_new_session=True
            )

    def end(self, name: str) -> None:
        """Terminate a daemon."""
        process = self._processes.pop(name)
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()

    def end_all(self) -> None:
        """Cancel the remaining jobs, then terminate the daemons."""
        subprocess.run(["scancel", "--user=root"], capture_output=True, check=False)
        with suppress(TimeoutError, subprocess.CalledProcessError):
            wait_until(lambda: not run_slurm("squeue", "--noheader"), "no job is left")
        for name in reversed(list(self._processes)):
            self.end(name)

    def lose(self, node: str, job: str) -> None:
        """Simulate the power loss of a node: all processes of a job on it end, and nothing is reported."""
        self.end(node)
        kill_processes(job)
        run_slurm("scontrol", "update", f"nodename={node}", "state=down", "reason=test")

    def logs(self) -> str:
        """Return the last log lines of all daemons."""
        files = [path for pattern in ("*.log", "*.out") for path in sorted(self._folder.glob(pattern))]
        return "\n".join(f"== {path.name}\n" + "\n".join(path.read_text().splitlines()[-15:]) for path in files)


def kill_processes(job: str) -> None:
    """Kill all processes of a job, its step daemon first."""
    job_variable = f"SLURM_JOB_ID={job}".encode()
    steps, job_processes = [], []
    for pid, name in _processes():
        folder = Path("/proc", str(pid))
        try:
            if name == "slurmstepd" and f"[{job}." in (folder / "cmdline").read_text():
                steps.append(pid)
            elif job_variable in (folder / "environ").read_bytes().split(b"\0"):
                job_processes.append(pid)
        except OSError:
            continue  # The process has ended.
    for pid in [*steps, *job_processes]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def run_slurm(*command: str) -> str:
    """Run a Slurm command and return its output."""
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def wait_until(condition: Callable[[], bool], description: str, longest_s: float = LONGEST_S) -> None:
    end = time.monotonic() + longest_s
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"not after {longest_s:.0f} s: {description}")
        time.sleep(0.1)


@contextmanager
def running_slurm() -> Iterator[Slurm]:
    """Start a Slurm with idle nodes and remove it afterwards; raise an error if the machine has another Slurm."""
    check_no_other_slurm()
    with ExitStack() as stack:
        stack.enter_context(packages())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reprise-slurm-")))
        folder.chmod(0o755)
        for name in ("state", *(f"spool.{node}" for node in NODES)):
            (folder / name).mkdir()
        for path in (CONFIG, GRES):
            stack.callback(path.unlink, missing_ok=True)
        x = {
            "host": socket.gethostname().partition(".")[0], "folder": folder,
            "gpu_nodes": ",".join(GPU_NODES), "cpu_node": NODES[-1],
            **dict(zip(("port", "first", "second", "third"), range(PORT, PORT + 4), strict=True)),
        }  # fmt: skip
        CONFIG.write_text(CONF.format(**x))
        GRES.write_text(DEVICES.format(**x))
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
            raise SlurmUnavailableError(f"Slurm did not start: {error}\n{slurm.logs()}") from error
        yield slurm


def _states() -> set[str]:
    process = subprocess.run(["sinfo", "-h", "-N", "-o", "%T"], capture_output=True, text=True, check=False)
    return set(process.stdout.split())
