"""Take the README's pictures of the demo's report and of temporal profiles.

Run `python docs/screenshot.py` after `make demo`. It needs Debian's `chromium`.

The demo has too few clips for temporal profiles. Their picture comes from another suite: run
`snakemake results/temporal/all.html --cores 2 --config suite=temporal`, then `python docs/screenshot.py --profiles`.

Another page or folder: `python docs/screenshot.py --report results/report --page tables/velociti.html --out x.png`.
"""

import argparse
import shutil
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright
from reprise.core.errors import UserError, run_command

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Page of the report -> picture: the first page, and the first item of the item browser.
PICTURES = {"index.html": Path("docs/images/first-page.png"), "items.html": Path("docs/images/report.png")}
PROFILES, PROFILES_PICTURE = Path("results/temporal/all.png"), Path("docs/images/temporal.png")
WIDTH, HEIGHT = 1440, 900
LARGEST = 200_000  # bytes of a committed picture
COLOURS = (256, 128, 64, 32)
WAIT_MS = 5_000  # time in which the browser decodes an item's frames


def main() -> None:
    """Take the pictures of the README, or of one page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", type=Path, default=Path("results/report"))
    parser.add_argument("--page")
    parser.add_argument("--out", type=Path, default=Path("page.png"))
    parser.add_argument("--profiles", action="store_true", help="only copy the figure of temporal profiles")
    args = parser.parse_args()
    if args.profiles:
        shutil.copyfile(PROFILES, PROFILES_PICTURE)
        return
    for page, out in ({args.page: args.out} if args.page else PICTURES).items():
        out.write_bytes(compress(take_picture(args.report, page)))
        print(f"{out}: {out.stat().st_size / 1000:.0f} kB")


def take_picture(report: Path, page: str) -> Image.Image:
    """Take a picture of a page in a browser."""
    file, separator, fragment = page.partition("#")
    path = (report / file).resolve()
    if not path.is_file():
        raise UserError(f"{report / file}: not found. Run `make demo` first.")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser(), args=["--no-sandbox"])
        window = chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        window.goto(f"{path.as_uri()}{separator}{fragment}")
        window.wait_for_timeout(WAIT_MS)
        picture = window.screenshot()
        chromium.close()
    return Image.open(BytesIO(picture)).convert("RGB")


def browser() -> str:
    """Return the path of a browser that can take pictures without a screen."""
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        raise UserError(f"none of {', '.join(BROWSERS)} found. On Debian or Ubuntu: apt-get install chromium")
    return executable


def compress(picture: Image.Image) -> bytes:
    """Return the picture as PNG, with as many colours as the size limit of a committed picture allows."""
    for colours in COLOURS:
        png = BytesIO()
        picture.quantize(colours, dither=Image.Dither.NONE).save(png, "PNG", optimize=True)
        if png.tell() <= LARGEST:
            return png.getvalue()
    raise UserError(
        f"the picture has more than {LARGEST} bytes with {COLOURS[-1]} colours. Take a smaller part of the page."
    )


if __name__ == "__main__":
    run_command(main)
