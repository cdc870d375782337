"""A whole snapshot of a Hugging Face repository, at a pinned revision."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from httpx2 import HTTPError
from huggingface_hub import snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
    XetDownloadError,
)

from reprise.core.bounded import TooLargeError
from reprise.core.errors import UserError
from reprise.core.plain import plain
from reprise.fetch.announced import Announced

PAGES = {"model": "https://huggingface.co/", "dataset": "https://huggingface.co/datasets/"}


def fetch_snapshot(
    where: str, kind: Literal["model", "dataset"], repo: str, revision: str, folder: Path, patterns: Sequence[str]
) -> None:
    """Fetch the files that fit these patterns; an error names `where` the repository is configured."""
    try:
        wanted = list(patterns)
        snapshot_download(
            repo, repo_type=kind, revision=revision, local_dir=folder, allow_patterns=wanted, tqdm_class=Announced
        )
    except GatedRepoError as error:
        raise UserError(
            f"{where}: {repo} is gated. Accept its licence at {PAGES[kind]}{repo}, then set HF_TOKEN."
        ) from error
    except (RepositoryNotFoundError, RevisionNotFoundError) as error:
        raise UserError(
            f"{where}: {repo}@{revision} was not found. Correct `repo` or `revision` (see {PAGES[kind]}{repo}); "
            "a private repository needs HF_TOKEN."
        ) from error
    except (HTTPError, LocalEntryNotFoundError, XetDownloadError, TooLargeError, ValueError) as error:
        raise UserError(
            f"{where}: {repo}@{revision} could not be fetched: {plain(str(error))} Run the same command again when "
            "the network is there: what has been fetched is kept."
        ) from error
