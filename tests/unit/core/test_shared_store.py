"""A store that two people share: a group, a umask of 002 and folders that hand their group down."""

import os
import subprocess
import sys
from pathlib import Path

FIRST, SECOND, GROUP = 20001, 20002, 20003
USE = """\
import os, psutil, sys
from pathlib import Path
from reprise.core.clones import register
from reprise.core.store import Store
from reprise.models.base import Answer
from reprise.models.asking.journal import Journal, asking_alone, journal_path
store, who = Store(Path(sys.argv[1])), sys.argv[2]
os.umask(0o002)
if os.geteuid() == 0:  # after the imports: the interpreter may lie where only root reads
    os.setgroups([])
    os.setgid(int(sys.argv[3]))
    os.setuid(int(who))
clone = store.root / f"clone-of-{who}"
clone.mkdir(exist_ok=True)
register(store, clone)
with store.alone("ab" * 32):
    scratch = store.scratch("x.mp4")
    scratch.write_text(who)
    kept = store.remember(store.keep_file(scratch, "clips", "ab" * 32, ".mp4"))
with asking_alone(store, "cd" * 32):
    journal = Journal(journal_path(store, "cd" * 32))
    journal.add(who, Answer(text="A"))
    journal.sync()
store.sweep()
print(len(journal))
"""


def test_the_second_user_of_a_shared_store_can_do_what_the_first_can(tmp_path: Path) -> None:
    """Only root can act as two users; for others the modes must tell."""
    store = tmp_path / "store"
    store.mkdir()
    store.chmod(0o2775)
    if os.geteuid() == 0:
        os.chown(store, FIRST, GROUP)
        for folder in (tmp_path, *tmp_path.parents):  # pytest's own, also one a worker, are for their owner alone
            if any(part.startswith("pytest-of-") for part in folder.parts):
                folder.chmod(0o755)
    for number, user in enumerate((FIRST, SECOND, FIRST), start=1):
        command = [sys.executable, "-c", USE, str(store), str(user), str(GROUP)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert int(done.stdout) == min(number, 2), "each sees the answers of the other"
    paths = list(store.rglob("*"))
    assert {path.stat().st_gid for path in paths} == {store.stat().st_gid}
    assert all(path.stat().st_mode & 0o060 == 0o060 for path in paths), "the group reads and writes everything"
