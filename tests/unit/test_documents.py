"""The documents: their links and anchors exist, their pages are found, what they name is there, and the README is short."""

import re
from functools import cache
from pathlib import Path

import pytest
import write_rows
import yaml
from reprise.__main__ import app
from reprise.config.load import load
from typer.main import get_command

ROOT = Path(__file__).parents[2]
PATTERNS = ("*.md", "config/*.md", "docs/**/*.md", "resources/*/*.md", "tests/data/**/*.md")
DOCUMENTS = [str(path.relative_to(ROOT)) for pattern in PATTERNS for path in sorted(ROOT.glob(pattern))]
PAGES = [name for name in DOCUMENTS if name.startswith("docs/")]
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
COMMANDS = set(get_command(app).commands)  # type: ignore[attr-defined]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
README_BYTES, PICTURE_BYTES = 5_000, 300_000


@cache
def prose(name: str) -> str:
    """A document without what it shows as typed or printed."""
    return FENCE.sub("", (ROOT / name).read_text())


@cache
def anchors(name: str) -> set[str]:
    """The anchors that forges and generators give to the headings of a document."""
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in HEADING.findall(prose(name))
    }


def links(name: str) -> list[str]:
    return [link for link in LINK.findall(prose(name)) if not re.match(r"https?:", link)]


def target(name: str, link: str) -> str:
    path = (ROOT / name).parent / link.partition("#")[0] if not link.startswith("#") else ROOT / name
    return str(path.resolve().relative_to(ROOT))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_anchors_commands_and_targets_that_it_names_exist(name: str) -> None:
    for link in links(name):
        assert (ROOT / target(name, link)).exists(), f"{name}: {link}"
        anchor = link.partition("#")[2]
        assert not anchor or anchor in anchors(target(name, link)), f"{name}: {link}"
    named = set(re.findall(r"`(?:python -m )?reprise ([a-z]+)[ `]", prose(name)))
    assert named <= COMMANDS, f"{name}: {sorted(named - COMMANDS)}"
    made = set(re.findall(r"`make ([a-z-]+)`", prose(name)))
    assert made <= TARGETS, f"{name}: {sorted(made - TARGETS)}"


def test_every_page_is_reached_from_the_index_and_listed_in_the_site() -> None:
    reached = {"docs/index.md"} | {target("docs/index.md", link) for link in links("docs/index.md")}
    assert reached & set(PAGES) == set(PAGES)
    nav = re.findall(r"- (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(f"docs/{page}" for page in nav) == sorted(PAGES)


def test_no_page_of_the_site_links_outside_it() -> None:
    outside = [(page, link) for page in PAGES for link in links(page) if not target(page, link).startswith("docs/")]
    assert outside == []


def test_the_readme_is_short_and_its_pictures_are_small() -> None:
    assert len((ROOT / "README.md").read_bytes()) <= README_BYTES
    pictures = [ROOT / link for link in links("README.md") if link.startswith("docs/images/")]
    assert len(pictures) == 3 and all(picture.stat().st_size <= PICTURE_BYTES for picture in pictures)


def test_the_readme_counts_the_rows_as_they_are() -> None:
    counts = {kind: found.total() for kind, found in write_rows.kinds(load(ROOT, {"suite": "paper"})).items()}
    here = {kind.gpus: number for kind, number in counts.items() if kind.gpus}
    text = (ROOT / "README.md").read_text()
    (told,) = re.findall(r"^\[Of the papers' rows\].*?\n\n", text, re.MULTILINE | re.DOTALL)
    shown = [int(number) for number in re.findall(r"\b\d+(?= (?:have|on|come|are)\b)", told)]
    of_all, known = sum(here.values()), counts[write_rows.DATA] + counts[write_rows.CHANCE]
    assert shown == [of_all, here[1], of_all - here[1], counts[write_rows.FILES], counts[write_rows.SOME_FILES], known]


def test_the_catalog_s_metadata_name_what_exists() -> None:
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert set(usage) == {"mandatory-flags", "software-stack-deployment", "report"}
    assert (ROOT / "config/README.md").is_file() and "make setup" in usage["mandatory-flags"]["desc"]
