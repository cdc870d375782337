"""The faults. None of them knows a stage: what is hit is found by globbing what an undisturbed run left."""

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
UNHARMED = {"logs", "locks", "tmp"}  # what no job reads
DIGEST = re.compile(r"[0-9a-f]{16,64}")
STEPS = {"construction", "human_evaluation"}
JOBS_UNDONE = 6
COMMAND = re.compile(r"[Rr]un `python -m reprise ([a-z -]+)`")  # a command without anything to fill in
UPDATES: dict[str, Callable[[Reduced], None]] = {
    "another seed": lambda project: project.edit("config/models/pixels.yaml", "seed: 0", "seed: 1"),
    "another video": lambda project: make_video(project.root / "videos/aaaaaaaaaaa.mp4", 3, "smptebars"),
    "another revision": lambda project: project.edit("config/models/hub-siglip.yaml", REVISION, NEWER_REVISION),
}
PAGE = 4096
SMALLEST_LIMIT = 20_000  # the small files that Snakemake keeps for itself fit, its log may not
NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")


@dataclass(frozen=True)
class Damage:
    """One file, and what happens to it."""

    path: str
    how: str
    place: float
    """where in the file, 0 to 1"""

    def strike(self, root: Path) -> str:
        """Do it; returns the digest of what is left, nothing if nothing is."""
        path = root / self.path
        content = bytearray(path.read_bytes())
        at = int(self.place * len(content))
        path.unlink()  # another name of the same file, such as the user's own video, is not hit
        if self.how == "delete":
            return ""
        if self.how == "flip":
            content[at] ^= 1 << (at % 8)
        else:
            del content[at:]
        path.write_bytes(content)
        return digest_of(self.path, path)

    def __str__(self) -> str:
        return f"{self.how} {self.path} at {self.place:.4f}"


def kind_of(name: str) -> str:
    """The folder that says what a file is: `resources/store/clips`, `results/reduced/metrics`, `results/tables/vinoground`."""
    folders = Path(name).parts[:-1]
    return str(Path(*folders[: 4 if STEPS & set(folders[:3]) else 3]))


def readers_of(name: str, jobs: Sequence[Job], root: Path) -> list[Job]:
    """The jobs that may read a file: of a result those that have it as an input, of a file in the store those in whose
    inputs or outputs its digest stands, and those of a rule with the name of its kind; else any job."""
    if not name.startswith(STORE):
        return [job for job in jobs if name in job.inputs]
    kind, digests = Path(name).parts[2], DIGEST.findall(name)

    def is_named(file: str) -> bool:
        path = root / file
        return bool(digests) and path.is_file() and any(digest in _text(path) for digest in digests)

    return [job for job in jobs if job.rule == kind or any(map(is_named, (*job.inputs, *job.outputs)))] or list(jobs)


@cache
def _text(path: Path) -> str:
    """The content of a file of the undisturbed run, which does not change."""
    is_table = path.suffix == ".parquet"
    return str(pl.read_parquet(path).to_dict(as_series=False)) if is_table else path.read_bytes().decode("latin-1")


def draw_damage(random: Random, root: Path, jobs: Sequence[Job]) -> tuple[Damage, Job | None]:
    """A file of a random kind, hit in a random way, and a job that reads it; none for what people read alone.

    Nothing can notice another byte in a file that no job reads: it can only be deleted. Jobs of many inputs, such as that
    of the report, are drawn less often: they read what others read too, and have the most made again.
    """
    kinds: dict[str, list[str]] = {}
    for path in sorted(_files(root)):
        name = str(path.relative_to(root))
        if path.stat().st_size and not UNHARMED & set(Path(name).parts):
            kinds.setdefault(kind_of(name), []).append(name)
    name = random.choice(kinds[random.choice(sorted(kinds))])
    readers = readers_of(name, jobs, root)
    how = random.choice(("flip", "truncate", "delete")) if readers else "delete"
    weights = [1 / (1 + len(job.inputs)) for job in readers]
    return Damage(name, how, random.random()), random.choices(readers, weights)[0] if readers else None


def mend(project: Reduced, damage: Damage, outcome: Outcome) -> str:
    """Do what the message says, a command or a deletion of the file; returns what was done."""
    if command := COMMAND.search(outcome.output):
        done = project.reprise(*command[1].split())
        return f"ran `reprise {command[1]}`" if done.returncode == 0 else done.stderr
    if re.search(r"\bdelete\b", outcome.output, re.IGNORECASE):
        (project.root / damage.path).unlink(missing_ok=True)
        return "deleted the file"
    return "ran again"


def undo(project: Reduced, jobs: Sequence[Job], random: Random, *, everything: bool) -> None:
    """Take a finished project back to nothing; or undo a job with all that came after it, which is not little."""
    if everything:
        shutil.rmtree(project.root / "results")
        shutil.rmtree(project.root / STORE)
        return
    chains = [[job, *followers_of(job, jobs)] for job in jobs]
    for job in random.choice([chain for chain in chains if len(chain) >= JOBS_UNDONE]):
        remove_outputs(project, job)
    forget(project, random)


def followers_of(job: Job, jobs: Sequence[Job]) -> list[Job]:
    """The jobs that take something from a job, directly or not."""
    found: list[Job] = []
    waiting = [job]
    while waiting:
        made = waiting.pop().outputs
        new = [other for other in jobs if other not in found and set(made) & set(other.inputs)]
        found += new
        waiting += new
    return found


def remove_outputs(project: Reduced, job: Job) -> None:
    for name in job.outputs:
        (project.root / name).unlink(missing_ok=True)


def forget(project: Reduced, random: Random, but: str = "") -> list[str]:
    """Remove each kind of the store with even chances, but not that of one file."""
    kept = Path(but).parts[2:3] if but.startswith(STORE) else ()
    forgotten = []
    for folder in sorted((project.root / STORE).iterdir()):
        if folder.is_dir() and folder.name not in (*kept, *UNHARMED) and random.random() < 0.5:
            shutil.rmtree(folder)
            forgotten.append(folder.name)
    return forgotten


def kill_at_random(project: Reduced, random: Random) -> list[str] | None:
    """Kill a run at a random moment: the rules of the jobs that ran then; None if it ended by itself before."""
    project.unlock()
    run = project.start()
    wanted = random.choice((0, 1, 2, 4, 9))
    is_running = run.wait_for_jobs(wanted)
    time.sleep(random.uniform(0, 2.0 if wanted == 0 else 1.0))
    running = run.running()
    run.kill()
    return running if is_running else None


def can_mount() -> bool:
    """Whether this machine lets a user mount a file system in a name space of their own."""
    probe = [*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return shutil.which(NAMESPACE[0]) is not None and subprocess.run(probe, capture_output=True).returncode == 0


@contextmanager
def small_disk(project: Reduced, needed: int, random: Random) -> Iterator[Iterator[list[str]]]:
    """Results and store on a file system of their own, which fills at a random moment of the way to what is needed:
    commands to run something there, on the small disk and on the enlarged one."""
    used = bytes_on_disk(project.root)
    size = int(used + random.uniform(0.05, 0.85) * (needed - used))
    for name in ("disk", "results", STORE):
        (project.root / name).mkdir(parents=True, exist_ok=True)
    mounts = (
        f"mount -t tmpfs -o size={size} tmpfs disk && mkdir disk/results disk/store"
        f" && cp -a results/. disk/results && cp -a {STORE}/. disk/store"
        f" && mount --bind disk/results results && mount --bind disk/store {STORE} && echo ready && exec cat"
    )
    command = [*NAMESPACE, "sh", "-c", mounts]
    holder = subprocess.Popen(command, cwd=project.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    enter = f"nsenter --target={holder.pid} --user --mount --preserve-credentials --wdns={project.root}".split()

    def disks() -> Iterator[list[str]]:
        yield enter
        subprocess.run([*enter, "mount", "-o", f"remount,size={10 * needed}", "disk"], check=True)
        yield enter

    try:
        assert holder.stdout is not None and holder.stdout.readline() == b"ready\n", "the disk was not mounted"
        yield disks()
        subprocess.run([*enter, "cp", "-a", "disk", "kept"], check=True)
    finally:
        holder.communicate()  # ends with its input, and the disk with it
    shutil.rmtree(project.root / "results")
    (project.root / "kept/results").rename(project.root / "results")


def limit_of_file_size(root: Path, random: Random) -> Iterator[list[str]]:
    """No file of a run may be larger than a random size, of those that the store's files have; then there is no limit."""
    sizes = {path.stat().st_size for path in (root / STORE).rglob("*") if path.is_file()}
    limit = random.choice(sorted(size for size in sizes if size > SMALLEST_LIMIT)) - 1
    yield ["prlimit", f"--fsize={limit}"]
    yield []


def _files(root: Path) -> list[Path]:
    return [path for top in ("results", STORE) for path in (root / top).rglob("*") if path.is_file()]


def bytes_on_disk(root: Path) -> int:
    return sum(-(-path.stat().st_size // PAGE) * PAGE for path in _files(root))


def date_in_the_future(root: Path, seconds: float) -> None:
    then = time.time() + seconds
    for path in (root / "results").rglob("*"):
        os.utime(path, (then, then))
