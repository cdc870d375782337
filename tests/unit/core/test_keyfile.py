"""Files of the user's that a key names."""

from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.files import file_digest
from reprise.core.keyfile import refuse_edited


def test_a_file_that_was_edited_or_taken_away_since_planning_ends_the_job(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("index,prediction\n1,A\n")
    planned = {str(path): file_digest(path)}
    refuse_edited(planned)
    path.write_text("index,prediction\n1,B\n")
    with pytest.raises(UserError, match=r"answers\.csv: edited since this run was planned\. Nothing was recorded: run"):
        refuse_edited(planned)
    path.unlink()
    with pytest.raises(UserError, match=r"answers\.csv: edited since"):
        refuse_edited(planned)
