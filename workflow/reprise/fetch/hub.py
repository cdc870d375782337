"""Hugging Face repositories at a pinned revision: whole snapshots, and archives and loose files of data sets."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Literal

from httpx2 import HTTPError
from huggingface_hub import HfApi, hf_hub_download, snapshot_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
    XetDownloadError,
)
from huggingface_hub.utils import tqdm

from reprise.core.bounded import TooLargeError
from reprise.core.errors import UserError
from reprise.core.plain import plain
from reprise.core.store import Store
from reprise.fetch.archives import gather
from reprise.fetch.local import Members
from reprise.fetch.outcome import Fetched, Fetcher, FetchError, safe_name
from reprise.fetch.retry import status_of_http, wait_asked, with_retries, within
from reprise.fetch.settings import Huggingface


class Announced(tqdm):  # type: ignore[misc]
    """The progress of one download, or of several together; its total is what their servers announced."""

    def __init__(self, *given: Any, initial: int = 0, **named: Any) -> None:
        super().__init__(*given, initial=initial, **named)
        self._came = initial

    def update(self, n: float | None = 1) -> bool | None:
        """Called with each piece before it is written."""
        self._came += int(n or 0)
        if self.total and self._came > self.total:
            raise TooLargeError(int(self.total), ", which were announced")
        shown: bool | None = super().update(n)
        return shown


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


def huggingface(settings: Huggingface, store: Store) -> Fetcher:
    """Members of a repository's archives, or its loose files where no archive is named."""
    if settings.revision == "unpinned":
        raise UserError(
            f"route.revision: {settings.repo} is 'unpinned'. Run `python -m reprise pin` with network access first, or "
            "use a folder or an archive on this machine as the route."
        )
    repository = _Repository(settings, store)
    return Fetcher(
        lambda source_id: ["huggingface", settings.repo, settings.revision, safe_name(settings.member, source_id)],
        repository.fetch,
        repository.estimate,
        attempts=settings.attempts,
        is_remote=True,
    )


@dataclass
class _Repository:
    settings: Huggingface
    store: Store
    _members: Members | None = None
    _refused: FetchError | None = field(default=None)

    def fetch(self, source_id: str, folder: Path) -> Fetched:
        if not self.settings.files:
            # Moved out of the hub's cache, which would give a copy that was damaged there again.
            path = self._download(safe_name(self.settings.member, source_id))
            target = folder / path.name
            path.resolve().replace(target)
            path.unlink(missing_ok=True)
            return Fetched(target)
        if self._refused is not None:  # after a failure the archives are not asked for again for every source
            raise self._refused
        if self._members is None:
            try:
                files = [self._download(name) for name in self._files()]
            except FetchError as error:
                self._refused = error
                raise
            self._members = Members(gather(files), self.settings.member, self.store, self.settings.max_mb)
        return self._members.fetch(source_id, folder)

    def estimate(self, source_ids: Sequence[str]) -> int:
        """The sizes that the server states; double for archives, which are kept with their extracted members."""
        loose = [safe_name(self.settings.member, source_id) for source_id in source_ids if ".." not in source_id]
        try:
            here = self.store.root / "hub"
            at = f"*/snapshots/{self.settings.revision}"
            names = [name for name in self._files() if not any(here.glob(f"{at}/{name}"))] or loose
            found = HfApi().get_paths_info(
                self.settings.repo, names, revision=self.settings.revision, repo_type="dataset"
            )
        except (FetchError, HTTPError, OSError, ValueError):
            return self.settings.estimate(source_ids)
        return sum(getattr(entry, "size", 0) for entry in found) * (2 if self.settings.files else 1)

    def _files(self) -> list[str]:
        """The archives by name; a pattern stands for the files of the repository that fit it."""
        patterns = [name for name in self.settings.files if "*" in name]
        plain = [name for name in self.settings.files if "*" not in name]
        if not patterns:
            return plain
        try:
            listed = HfApi().list_repo_files(self.settings.repo, revision=self.settings.revision, repo_type="dataset")
        except (HTTPError, OSError, ValueError) as error:
            raise FetchError("network", f"{self.settings.repo}: {_first_line(error)}") from error
        return plain + sorted(name for name in listed if any(fnmatch(name, pattern) for pattern in patterns))

    def _download(self, name: str) -> Path:
        with within(self.settings.max_s):
            return with_retries(lambda: self._download_once(name), self.settings)

    def _download_once(self, name: str) -> Path:
        repo = self.settings.repo
        try:
            found: str = hf_hub_download(
                repo,
                name,
                repo_type="dataset",
                revision=self.settings.revision,
                cache_dir=self.store.root / "hub",
                etag_timeout=self.settings.timeout_s,
                tqdm_class=Announced,
            )
        except TooLargeError as error:
            raise FetchError("too_large", f"{repo}: {name}: {error}") from error
        except GatedRepoError as error:
            page = f"https://huggingface.co/datasets/{repo}"
            raise FetchError("gated", f"{repo} is gated: accept its licence at {page}, then set HF_TOKEN") from error
        except LocalEntryNotFoundError as error:
            cause = error.__cause__
            if isinstance(cause, HfHubHTTPError):
                raise _refusal(cause, f"{repo}: {name}") from error
            raise FetchError("network", f"{repo}: {name}: {_first_line(cause or error)}") from error
        except (EntryNotFoundError, RepositoryNotFoundError, RevisionNotFoundError) as error:
            raise FetchError("not_found", f"{repo}@{self.settings.revision}: {name}: {_first_line(error)}") from error
        except HfHubHTTPError as error:
            raise _refusal(error, repo) from error
        except (HTTPError, ValueError) as error:
            raise FetchError("network", f"{repo}: {name}: {_first_line(error)}") from error
        return Path(found)


def _refusal(error: HfHubHTTPError, what: str) -> FetchError:
    status, wait_s = status_of_http(error.response.status_code), wait_asked(error.response.headers.get("Retry-After"))
    return FetchError(status, f"{what}: {_first_line(error)}", wait_s)


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
