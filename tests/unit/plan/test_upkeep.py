"""What planning removes from `results/`: tables that it made and cannot use, and nothing of a user's."""

import polars as pl
from reprise.plan.upkeep import note_outdated

from tests.unit.config.conftest import Project


def test_a_users_own_table_in_the_results_stays(project: Project) -> None:
    frame = pl.DataFrame({"mine": [1, 2]})
    own = [project.root / "results" / name for name in ("mine.parquet", "demo/analysis/a.parquet", "tables/b.parquet")]
    stale = project.root / "results/demo/metrics/velociti/mc/fps1/oracle.parquet"  # of a version without checksums
    for path in (*own, stale):
        path.parent.mkdir(parents=True, exist_ok=True)
        frame.write_parquet(path)
    note_outdated(project.plan())
    assert all(path.is_file() for path in own) and not stale.exists()
