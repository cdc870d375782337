"""The faults, which are independent of stages: they affect files that an undisturbed run has written."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import polars as pl

from tests.faults.runs import Job, Outcome, Reduced, digest_of
from tests.faults.suite import NEWER_REVISION, REVISION
from tests.workflow.conftest import make_video

STORE = "resources/store"
NEVER_DAMAGED = {"logs", "locks", "tmp"}  # Jobs do not read these files.
DIGEST = re.compile(r"[0-9a-f]{16,64}")
STEP_FOLDERS = {"construction", "human_evaluation"}
MIN_JOBS_UNDONE = 6
FIX_COMMAND = re.compile(r"[Rr]un `reprise ([a-z -]+)`")  # commands without placeholders
UPDATES: dict[str, Callable[[Reduced], None]] = {
    "another seed": lambda project: project.edit("config/models/pixels.yaml", "seed: 0", "seed: 1"),
    "another video": lambda project: make_video(project.root / "videos/aaaaaaaaaaa.mp4", 3, "smptebars"),
    "another revision": lambda project: project.edit("config/models/hub-siglip.yaml", REVISION, NEWER_REVISION),
}
PAGE = 4096
SMALLEST_LIMIT = 20_000  # Snakemake's small metadata files fit; its log may not.
NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")


@dataclass(frozen=True)
class Damage:
    """Damage of one file."""

    path: str
    kind: str
    position: float
    """position in the file, 0 to 1"""

    def strike(self, root: Path) -> str:
        """Damage the file and return its new digest, or an empty text if the file is deleted."""
        path = root / self.path
        content = bytearray(path.read_bytes())
        offset = int(self.position * len(content))
        path.unlink()  # Hard links to the file, such as the user's video, stay intact.
        if self.kind == "delete":
            return ""
        if self.kind == "flip":
            content[offset] ^= 1 << (offset % 8)
        else:
            del content[offset:]
        path.write_bytes(content)
        return digest_of(self.path, path)

    def __str__(self) -> str:
        return f"{self.kind} {self.path} at {self.position:.4f}"


def kind_of(name: str) -> str:
    """Return the folder that identifies the kind of a file: `resources/store/clips` or `results/reduced/metrics`."""
    folders = Path(name).parts[:-1]
    return str(Path(*folders[: 4 if STEP_FOLDERS & set(folders[:3]) else 3]))


def readers_of(name: str, jobs: Sequence[Job], root: Path) -> list[Job]:
    """Return the jobs that may read a file.

    A result is read by the jobs that have it as an input. A file of the store is read by the jobs whose inputs or outputs
    contain its digest and by the rule with the name of its kind; if there are none, any job may read it.
    """
    if not name.startswith(STORE):
        return [job for job in jobs if name in job.inputs]
    kind, digests = Path(name).parts[2], DIGEST.findall(name)

    def is_named(file: str) -> bool:
        path = root / file
        return bool(digests) and path.is_file() and any(digest in _text(path) for digest in digests)

    return [job for job in jobs if job.rule == kind or any(map(is_named, (*job.inputs, *job.outputs)))] or list(jobs)


@cache
def _text(path: Path) -> str:
    """Return the content of a file of the undisturbed run as text."""
    is_table = path.suffix == ".parquet"
    return str(pl.read_parquet(path).to_dict(as_series=False)) if is_table else path.read_bytes().decode("latin-1")


def draw_damage(random: Random, root: Path, jobs: Sequence[Job]) -> tuple[Damage, Job | None]:
    """Draw a file of a random kind, its damage, and a job that reads the file, or None if no job does.

    A file that no job reads can only be deleted, because no job would notice another byte. Jobs with many inputs, such
    as that of the report, are drawn less often: other jobs read the same files and rerun fewer jobs.
    """
    names_by_kind: dict[str, list[str]] = {}
    for path in sorted(_files(root)):
        name = str(path.relative_to(root))
        if path.stat().st_size and not NEVER_DAMAGED & set(Path(name).parts):
            names_by_kind.setdefault(kind_of(name), []).append(name)
    name = random.choice(names_by_kind[random.choice(sorted(names_by_kind))])
    readers = readers_of(name, jobs, root)
    kind = random.choice(("flip", "truncate", "delete")) if readers else "delete"
    weights = [1 / (1 + len(job.inputs)) for job in readers]
    return Damage(name, kind, random.random()), random.choices(readers, weights)[0] if readers else None


def mend(project: Reduced, damage: Damage, outcome: Outcome) -> str:
    """Follow the message of a failed run, a command or a deletion, and return a description of the action."""
    if command := FIX_COMMAND.search(outcome.output):
        process = project.reprise(*command[1].split())
        return f"ran `reprise {command[1]}`" if process.returncode == 0 else process.stderr
    if re.search(r"\bdelete\b", outcome.output, re.IGNORECASE):
        (project.root / damage.path).unlink(missing_ok=True)
        return "deleted the file"
    return "ran again"


def undo(project: Reduced, jobs: Sequence[Job], random: Random, *, everything: bool) -> None:
    """Remove all results of a finished project, or those of a random job and of the jobs that depend on it."""
    if everything:
        shutil.rmtree(project.root / "results")
        shutil.rmtree(project.root / STORE)
        return
    chains = [[job, *followers_of(job, jobs)] for job in jobs]
    for job in random.choice([chain for chain in chains if len(chain) >= MIN_JOBS_UNDONE]):
        remove_outputs(project, job)
    forget(project, random)


def followers_of(job: Job, jobs: Sequence[Job]) -> list[Job]:
    """Return the jobs that depend on a job, directly or not."""
    followers: list[Job] = []
    pending = [job]
    while pending:
        outputs = pending.pop().outputs
        new_jobs = [other for other in jobs if other not in followers and set(outputs) & set(other.inputs)]
        followers += new_jobs
        pending += new_jobs
    return followers


def remove_outputs(project: Reduced, job: Job) -> None:
    for name in job.outputs:
        (project.root / name).unlink(missing_ok=True)


def forget(project: Reduced, random: Random, spared_file: str = "") -> list[str]:
    """Remove each folder of the store with probability 0.5, except the folder of one file."""
    kept_folders = Path(spared_file).parts[2:3] if spared_file.startswith(STORE) else ()
    forgotten = []
    for folder in sorted((project.root / STORE).iterdir()):
        if folder.is_dir() and folder.name not in (*kept_folders, *NEVER_DAMAGED) and random.random() < 0.5:
            shutil.rmtree(folder)
            forgotten.append(folder.name)
    return forgotten


def kill_at_random(project: Reduced, random: Random) -> list[str] | None:
    """Kill a run at a random moment and return the rules of its running jobs, or None if it ended before."""
    project.unlock()
    run = project.start()
    job_count = random.choice((0, 1, 2, 4, 9))
    is_running = run.wait_for_jobs(job_count)
    time.sleep(random.uniform(0, 2.0 if job_count == 0 else 1.0))
    running_rules = run.running()
    run.kill()
    return running_rules if is_running else None


def can_mount() -> bool:
    """Return whether users can mount a file system in a new namespace."""
    probe = [*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return shutil.which(NAMESPACE[0]) is not None and subprocess.run(probe, capture_output=True).returncode == 0


@contextmanager
def small_disk(project: Reduced, needed: int, random: Random) -> Iterator[Iterator[list[str]]]:
    """Mount results and store on a disk that is too small by a random size.

    Yield the prefix of commands that run on the small disk, then, after its enlargement, on the large one.
    """
    used_bytes = bytes_on_disk(project.root)
    size = int(used_bytes + random.uniform(0.05, 0.85) * (needed - used_bytes))
    for name in ("disk", "results", STORE):
        (project.root / name).mkdir(parents=True, exist_ok=True)
    mounts = (
        f"mount -t tmpfs -o size={size} tmpfs disk && mkdir disk/results disk/store"
        f" && cp -a results/. disk/results && cp -a {STORE}/. disk/store"
        f" && mount --bind disk/results results && mount --bind disk/store {STORE} && echo ready && exec cat"
    )
    command = [*NAMESPACE, "sh", "-c", mounts]
    mount_process = subprocess.Popen(command, cwd=project.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    enter_command = (
        f"nsenter --target={mount_process.pid} --user --mount --preserve-credentials --wdns={project.root}".split()
    )

    def disks() -> Iterator[list[str]]:
        yield enter_command
        subprocess.run([*enter_command, "mount", "-o", f"remount,size={10 * needed}", "disk"], check=True)
        yield enter_command

    try:
        assert mount_process.stdout is not None and mount_process.stdout.readline() == b"ready\n", (
            "the disk was not mounted"
        )
        yield disks()
        subprocess.run([*enter_command, "cp", "-a", "disk", "kept"], check=True)
    finally:
        mount_process.communicate()  # The process ends with its input, and the disk with the process.
    shutil.rmtree(project.root / "results")
    (project.root / "kept/results").rename(project.root / "results")


def limit_of_file_size(root: Path, random: Random) -> Iterator[list[str]]:
    """Yield a command prefix that limits the file size to that of a random file of the store, then an empty prefix."""
    sizes = {path.stat().st_size for path in (root / STORE).rglob("*") if path.is_file()}
    limit = random.choice(sorted(size for size in sizes if size > SMALLEST_LIMIT)) - 1
    yield ["prlimit", f"--fsize={limit}"]
    yield []


def _files(root: Path) -> list[Path]:
    return [path for top in ("results", STORE) for path in (root / top).rglob("*") if path.is_file()]


def bytes_on_disk(root: Path) -> int:
    return sum(-(-path.stat().st_size // PAGE) * PAGE for path in _files(root))


def date_in_the_future(root: Path, seconds: float) -> None:
    future = time.time() + seconds
    for path in (root / "results").rglob("*"):
        os.utime(path, (future, future))
