"""The fixed files of the report, and the templates of its pages: what shapes it beside data and code."""

from pathlib import Path

from reprise.tables.render.html import CSS

SITE = Path(__file__).with_name("site")
TEMPLATES = Path(__file__).with_name("templates")
BROWSER = "items.html"


def site_files() -> dict[str, Path]:
    """Name in the report -> file. The item browser is at the top, what it loads in `assets/`."""
    names = {path: path.relative_to(SITE).as_posix() for path in sorted(SITE.rglob("*")) if path.is_file()}
    found = {name if name == BROWSER else f"assets/{name}": path for path, name in names.items()}
    return found | {"assets/tables.css": CSS}


def own_files() -> dict[str, Path]:
    """The same with the templates."""
    return site_files() | {f"templates/{path.name}": path for path in sorted(TEMPLATES.glob("*.html"))}
