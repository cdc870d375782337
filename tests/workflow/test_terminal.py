"""What `snakemake` shows of a dry run and of a run that fails; tests/unit/logger_plugin has the others."""

import re

from tests.workflow.conftest import Done, Project, both

TABLE = "results/tables/velociti/table2.md"
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
# How far it is, on a machine that takes longer than the ten seconds after which that is said.
STATUS = re.compile(r"^\d+ (?:s|min|h)\b[^:]*: ")


def shown(done: Done) -> list[str]:
    """All lines but Snakemake's own about its profile, and those that say how far it is."""
    text = both(done)
    assert not CONTROL.search(text)
    lines = [line for line in text.splitlines() if not line.startswith("Using workflow specific profile")]
    return [line for line in lines if not STATUS.match(line)]


def test_a_dry_run_says_what_changed_from_what_to_what(small: Project) -> None:
    small.edit("config/models/oracle.yaml", "adapter: oracle", "adapter: random")
    done = small.snakemake("-n", TABLE)
    lines = shown(done)
    assert done.returncode == 0 and lines[0] == "3 jobs would run:" and len(lines) < 24
    assert re.fullmatch(r" +1  infer +changed settings or code; velociti", lines[1])
    assert re.fullmatch(r" +1  score +follows; velociti", lines[2])
    assert "  adapter: oracle -> random" in lines and "    so: infer velociti/entail/fps1/oracle" in lines


def test_a_failure_is_one_line_and_the_exit_code_says_it(small: Project) -> None:
    small.edit("release/rows.csv", "test_name", "test")
    done = small.snakemake(TABLE)
    lines, log = shown(done), "results/small/logs/annotations/velociti.log"
    (failed,) = [line for line in lines if line.startswith("FAILED ")]
    assert done.returncode == 1 and "column 'test_name' is missing. Found: test, video_id" in failed
    assert failed.startswith("FAILED annotations velociti: ") and failed.endswith(f" (log: {log})")
    assert failed[len("FAILED annotations velociti: ") :].partition(" (log")[0] in small.text(log)
    assert any(line.startswith("Not finished after ") for line in lines) and "Traceback" not in "".join(lines)
    assert any("--logger-reprise-full" in line for line in lines) and len(lines) < 12
    assert not list((small.root / "results/small/annotations").rglob("*.parquet"))
