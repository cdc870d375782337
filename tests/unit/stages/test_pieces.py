"""A run over several jobs: which clips are whose, that nothing is asked twice, and what they are joined to."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from reprise.core.errors import UserError
from reprise.core.schemas import RESPONSES, write_table
from reprise.models.asking.pieces import MOST_PIECES, PLACES, Piece, pieces_of
from reprise.stages.join_pieces import joined

from tests.unit.rows import Row, response_row

RECIPES = [f"recipe {number}" for number in range(300)]


@pytest.mark.parametrize("count", [1, 3, MOST_PIECES])
def test_each_clip_is_of_one_piece(count: int) -> None:
    pieces = pieces_of(count)
    assert [place for piece in pieces for place in piece.places] == list(range(PLACES))
    shares = [[recipe for recipe in RECIPES if piece.has(recipe)] for piece in pieces]
    assert sorted(recipe for share in shares for recipe in share) == sorted(RECIPES)
    assert count > 7 or all(0.7 < len(share) * count / len(RECIPES) < 1.3 for share in shares)


def test_a_piece_is_named() -> None:
    assert Piece.parse("2of4") == Piece(2, 4) and Piece(2, 4).name == "2of4"
    for wrong in ("", "0of2", "3of2", "2", "1of", "1of02", "-1of2"):
        with pytest.raises(ValueError, match="names no piece; such as: 2of4"):
            Piece.parse(wrong)


def pieces(folder: Path, *shares: Sequence[Row]) -> list[Path]:
    paths = [folder / f"{piece.name}.parquet" for piece in pieces_of(len(shares))]
    for path, share in zip(paths, shares, strict=True):
        write_table(pl.DataFrame(share, schema=RESPONSES), path, RESPONSES)
    return paths


def test_pieces_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    requests = pl.DataFrame({"request_id": ["a", "b"]})
    assert joined(pieces(tmp_path, [response_row("b")], [], [response_row("a")]), "k", requests).height == 2
    with pytest.raises(UserError, match="1 rows carry key other"):
        joined(pieces(tmp_path, [response_row("a")], [response_row("b", key="other")]), "k", requests)
    with pytest.raises(UserError, match="a was answered by two of them. Delete the folder and run snakemake again"):
        joined(pieces(tmp_path, [response_row("a")], [response_row("a")]), "k", requests)
    with pytest.raises(UserError, match="c is none of the run's"):
        joined(pieces(tmp_path, [response_row("a")], [response_row("c")]), "k", requests)
