"""Render the films of a rehearsal: a few seconds of a moving test picture each."""

import subprocess
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path

from reprise.core.errors import raise_if_ffmpeg_machine_fault
from reprise.fetch.outcome import FetchedFile, Fetcher
from reprise.fetch.settings import Rehearsal
from reprise.media.encode import concatenate
from reprise.media.ffmpeg import BIT_EXACT, QUIET, ffmpeg_executable
from reprise.media.settings import Concat, Encode

FILMS = 12  # Each id is mapped to one of this number of films.
SIZE, RATE = 32, 12  # width and height in pixels, frames per second
SECONDS = (2, 3, 4)  # the lengths of films
HUE_STEP = 360 // FILMS  # degrees on the colour wheel between two films
ENCODE = Encode(preset="ultrafast")


def fetcher(settings: Rehearsal) -> Fetcher:
    """Return a fetcher that maps each id to a film. The film's number is its identity, so it is rendered once."""

    def is_concatenation(source_id: str) -> bool:
        return settings.joined is not None and fnmatchcase(source_id, settings.joined)

    def identity(source_id: str) -> list[object]:
        kind = "joined" if is_concatenation(source_id) else "film"
        return ["rehearsal", kind, film_number(source_id), [FILMS, SIZE, RATE, SECONDS]]

    def fetch(source_id: str, folder: Path) -> FetchedFile:
        number = film_number(source_id)
        first = render(number, folder / "first.mp4")
        if not is_concatenation(source_id):
            return FetchedFile(first)
        second = render((number + 1) % FILMS, folder / "second.mp4")
        concatenate(first, second, folder / "joined.mp4", ENCODE, Concat())
        return FetchedFile(folder / "joined.mp4")

    return Fetcher(identity, fetch)


def film_number(source_id: str) -> int:
    """Return the number of the film that an id maps to."""
    return int(sha256(source_id.encode()).hexdigest()[:8], 16) % FILMS


def render(number: int, target: Path) -> Path:
    """Render a film: a test picture with a clock, whose hue and length depend on the number."""
    seconds = SECONDS[number % len(SECONDS)]
    picture = f"testsrc=size={SIZE}x{SIZE}:rate={RATE}:duration={seconds},hue=h={number * HUE_STEP}"
    options = [word for name, value in BIT_EXACT.items() for word in (f"-{name}", str(value))]
    encoder = ["-c:v", "libx264", "-preset", ENCODE.preset, "-pix_fmt", "yuv420p", *options]
    command = [ffmpeg_executable(), *QUIET, "-y", "-f", "lavfi", "-i", picture, *encoder, str(target)]
    process = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    raise_if_ffmpeg_machine_fault(process.returncode, process.stderr, target)
    process.check_returncode()
    return target
