"""Whole files against stored ones; `REPRISE_UPDATE_SNAPSHOTS=1` writes them anew."""

import os
from pathlib import Path

import pytest
from reprise.tables.render import FORMATS, Number, collect, render

from tests.unit.tables.render.render_examples import full_table, one_cell

SNAPSHOTS = Path(__file__).with_name("snapshots")


def check_snapshot(name: str, text: str) -> None:
    """Compare with the stored file, or store it when asked to."""
    path = SNAPSHOTS / name
    if os.environ.get("REPRISE_UPDATE_SNAPSHOTS") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("form", FORMATS)
def test_a_full_table(form: str) -> None:
    check_snapshot(f"full.{form}", render(full_table(), form))


@pytest.mark.parametrize("form", FORMATS)
def test_rendering_twice_gives_the_same(form: str) -> None:
    assert render(full_table(), form) == render(full_table(), form)


class TestCollect:
    @pytest.mark.parametrize("form", ["tex", "md"])
    def test_texts_follow_each_other_whole(self, form: str) -> None:
        parts = [render(full_table(), form), render(one_cell(Number(1)), form)]
        joined = collect("Table 5", parts, form)
        assert joined.endswith("\n".join(parts))
        assert joined.splitlines()[0] == {"tex": "% Table 5", "md": "## Table 5"}[form]

    def test_pages_become_one_page(self) -> None:
        joined = collect("Tables <5>", [render(full_table(), "html"), render(one_cell(Number(1)), "html")], "html")
        assert joined.count("<!DOCTYPE html>") == joined.count("<main>") == joined.count("<style>") == 1
        assert joined.count("<table>") == 2
        assert "<h1>Tables &lt;5&gt;</h1>" in joined

    def test_collected_pages_can_be_collected(self) -> None:
        page = render(one_cell(Number(1)), "html")
        assert collect("A", [collect("A", [page], "html")], "html").count("<table>") == 1

    def test_another_page_is_refused(self) -> None:
        with pytest.raises(ValueError, match="not a page of rendered tables"):
            collect("A", ["<html></html>"], "html")
