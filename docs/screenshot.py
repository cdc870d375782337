"""Takes the README's pictures of the demo's report, and that of its card of time: `python docs/screenshot.py` after
`make demo`; needs Debian's `chromium`.

Another page or folder: `python docs/screenshot.py --report results/report --page tables/velociti.html --out x.png`.
"""

import argparse
import os
import shutil
import subprocess
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from reprise.core.errors import UserError, run_command

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# The first page, and the item that the browser opens on.
PICTURES = {"index.html": Path("docs/images/first-page.png"), "items.html": Path("docs/images/report.png")}
CARD, CARD_PICTURE = Path("results/time/all.png"), Path("docs/images/time.png")
WIDTH, HEIGHT = 1440, 900
LARGEST = 200_000  # bytes of a committed picture
COLOURS = (256, 128, 64, 32)
WAIT_MS = 400_000  # of the page's own clock, which waits for no decoder of clips: hence several pictures
TAKEN = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", type=Path, default=Path("results/report"))
    parser.add_argument("--page")
    parser.add_argument("--out", type=Path, default=Path("page.png"))
    args = parser.parse_args()
    for page, out in ({args.page: args.out} if args.page else PICTURES).items():
        out.write_bytes(fullest(args.report, page))
        print(f"{out}: {out.stat().st_size / 1000:.0f} kB")
    if not args.page:
        shutil.copyfile(CARD, CARD_PICTURE)


def fullest(report: Path, page: str) -> bytes:
    """Of several pictures the largest: on a busy machine frames of the clip are missing in some. Look at it."""
    return max((small_enough(taken(report, page)) for _ in range(TAKEN)), key=len)


def taken(report: Path, page: str) -> Image.Image:
    """The page as a browser shows it."""
    file, mark, place = page.partition("#")
    path = (report / file).resolve()
    if not path.is_file():
        raise UserError(f"{report / file}: not found. Run `make demo` first.")
    with TemporaryDirectory() as folder:
        picture = Path(folder) / "page.png"
        options = ["--headless", "--hide-scrollbars", "--disable-gpu", f"--user-data-dir={folder}/profile"]
        options += [f"--window-size={WIDTH},{HEIGHT}", f"--virtual-time-budget={WAIT_MS}", f"--screenshot={picture}"]
        as_root = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium has no sandbox for root
        done = subprocess.run(
            [browser(), *options, *as_root, f"{path.as_uri()}{mark}{place}"],
            capture_output=True,
            text=True,
            timeout=120,
        )
        if not picture.is_file():
            raise UserError(f"the browser took no picture: {done.stderr.strip()[-500:]}")
        return Image.open(BytesIO(picture.read_bytes())).convert("RGB")


def browser() -> str:
    """A browser that takes pictures without a screen."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise UserError(f"none of {', '.join(BROWSERS)} found. On Debian or Ubuntu: apt-get install chromium")
    return found


def small_enough(picture: Image.Image) -> bytes:
    """The picture as PNG, with as many colours as the size of a committed picture allows."""
    for colours in COLOURS:
        content = BytesIO()
        picture.quantize(colours, dither=Image.Dither.NONE).save(content, "PNG", optimize=True)
        if content.tell() <= LARGEST:
            return content.getvalue()
    raise UserError(
        f"the picture has more than {LARGEST} bytes with {COLOURS[-1]} colours. Take a smaller part of the page."
    )


if __name__ == "__main__":
    run_command(main)
