"""Hugging Face repositories at a pinned revision: whole snapshots, and archives and loose files of data sets."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatch
from glob import has_magic
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
from reprise.core.plain import first_of, plain
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


MOST_LISTED = 30
PAGES = {"model": "https://huggingface.co/", "dataset": "https://huggingface.co/datasets/"}


def fetch_snapshot(
    where: str, kind: Literal["model", "dataset"], repo: str, revision: str, folder: Path, patterns: Sequence[str]
) -> None:
    """Fetch the files that fit these patterns; an error names `where` the repository is configured."""
    wanted = list(patterns)
    try:
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
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    if wanted and not any(fnmatch(name, pattern) for name in names for pattern in wanted):
        try:
            available = _files_of(kind, repo, revision)
        except FetchError as error:
            raise UserError(f"{where}: {error}. Run the same command again.") from error
        raise _no_match(where, wanted, f"{repo}@{revision}", available)


def _files_of(kind: Literal["model", "dataset"], repo: str, revision: str) -> list[str]:
    """Return the names of all files of a repository."""
    try:
        return list(HfApi().list_repo_files(repo, revision=revision, repo_type=kind))
    except (HTTPError, OSError, ValueError) as error:
        raise FetchError("network", f"{repo}: {_first_line(error)}") from error


def _no_match(where: str, patterns: Sequence[str], repository: str, available: Sequence[str]) -> UserError:
    listed = ", ".join(first_of(sorted(available), MOST_LISTED)) or "nothing"
    missing = ", ".join(f"'{pattern}'" for pattern in patterns)
    return UserError(
        f"{where}: {repository} has no file {missing}. It has: {plain(listed)}. Correct the names or "
        "patterns, or the revision."
    )


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
                if error.status == "not_found":
                    self._refuse_wrong_name(error)
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
        if not any(map(has_magic, self.settings.files)):
            return list(self.settings.files)
        return self._matches(_files_of("dataset", self.settings.repo, self.settings.revision))

    def _matches(self, listed: Sequence[str]) -> list[str]:
        """Return the files of the repository that the settings name, or raise an error that lists what it has."""
        found: list[str] = []
        for pattern in self.settings.files:
            matches = [pattern] if pattern in listed else [name for name in listed if fnmatch(name, pattern)]
            if not matches:
                raise _no_match("route.files", [pattern], f"{self.settings.repo}@{self.settings.revision}", listed)
            found += sorted(matches)
        return list(dict.fromkeys(found))

    def _refuse_wrong_name(self, error: FetchError) -> None:
        """End the job where the server lists other files: a record of each source would outlive the correction."""
        with suppress(FetchError):
            listed = _files_of("dataset", self.settings.repo, self.settings.revision)
            try:
                self._matches(listed)
            except UserError as mistake:
                raise mistake from error

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
    headers = error.response.headers
    status, wait_s = (
        status_of_http(error.response.status_code),
        wait_asked(headers.get("Retry-After"), headers.get("Date")),
    )
    return FetchError(status, f"{what}: {_first_line(error)}", wait_s)


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
