"""Fetch from Hugging Face repositories at a pinned revision: snapshots, and archives or single files of data sets."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from glob import has_magic
from pathlib import Path
from typing import Any, Literal

from httpx2 import Client, HTTPError, Request
from huggingface_hub import HfApi, hf_hub_download, set_client_factory, snapshot_download
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
from huggingface_hub.utils._http import default_client_factory

from reprise.core.bounded import TooLargeError
from reprise.core.errors import UserError
from reprise.core.plain import sanitize_line, summarize_list
from reprise.core.store import Store
from reprise.fetch.archives import group_parts
from reprise.fetch.local import Members
from reprise.fetch.outcome import FetchedFile, Fetcher, FetchError, fill_safe_name
from reprise.fetch.retry import call_with_retries, classify_http_code, parse_wait_s, time_limit
from reprise.fetch.settings import Huggingface

TIMEOUT_S = 30.0  # Maximum seconds of each phase of a request: connect, read, write, and wait for a connection.


def _create_client() -> Client:
    """Return the client of `huggingface_hub` with a timeout; many of its calls have none and would wait forever."""
    client: Client = default_client_factory()
    client.event_hooks["request"].append(_add_timeout)
    return client


def _add_timeout(request: Request) -> None:
    """Add the timeout to each phase of a request that has none."""
    timeouts = request.extensions.get("timeout", {})
    request.extensions["timeout"] = {
        phase: timeouts.get(phase) or TIMEOUT_S for phase in ("connect", "read", "write", "pool")
    }


set_client_factory(_create_client)


class BoundedProgress(tqdm):  # type: ignore[misc]
    """Progress bar that aborts downloads of more bytes than their servers announced."""

    def __init__(self, *args: Any, initial: int = 0, **kwargs: Any) -> None:
        super().__init__(*args, initial=initial, **kwargs)
        self._received = initial

    def update(self, n: float | None = 1) -> bool | None:
        """Count a chunk of `n` bytes, which the hub's client reports before it writes the chunk."""
        self._received += int(n or 0)
        if self.total and self._received > self.total:
            raise TooLargeError(int(self.total), ", which were announced")
        is_displayed: bool | None = super().update(n)
        return is_displayed


MAX_LISTED = 30  # Files of a repository that a message lists.
PAGES = {"model": "https://huggingface.co/", "dataset": "https://huggingface.co/datasets/"}


def fetch_snapshot(
    context: str, kind: Literal["model", "dataset"], repo: str, revision: str, folder: Path, patterns: Sequence[str]
) -> None:
    """Fetch the files of a repository that match the patterns into a folder; error messages begin with `context`."""
    allowed_patterns = list(patterns)
    try:
        snapshot_download(
            repo,
            repo_type=kind,
            revision=revision,
            local_dir=folder,
            allow_patterns=allowed_patterns,
            tqdm_class=BoundedProgress,
        )
    except GatedRepoError as error:
        raise UserError(
            f"{context}: {repo} is gated. Accept its licence at {PAGES[kind]}{repo}, then set HF_TOKEN."
        ) from error
    except (RepositoryNotFoundError, RevisionNotFoundError) as error:
        raise UserError(
            f"{context}: {repo}@{revision} was not found. Correct `repo` or `revision` (see {PAGES[kind]}{repo}); "
            "a private repository needs HF_TOKEN."
        ) from error
    except (HTTPError, LocalEntryNotFoundError, XetDownloadError, TooLargeError, ValueError) as error:
        raise UserError(
            f"{context}: {repo}@{revision} could not be fetched: {sanitize_line(str(error))} Run the same command "
            "again when the network is available: fetched files are kept."
        ) from error
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    if allowed_patterns and not any(fnmatch(name, pattern) for name in names for pattern in allowed_patterns):
        try:
            available_files = _list_files(kind, repo, revision)
        except FetchError as error:
            raise UserError(f"{context}: {error}. Run the same command again.") from error
        raise _no_match_error(context, allowed_patterns, f"{repo}@{revision}", available_files)


def _list_files(kind: Literal["model", "dataset"], repo: str, revision: str) -> list[str]:
    """Return the names of all files of a repository."""
    try:
        return list(HfApi().list_repo_files(repo, revision=revision, repo_type=kind))
    except (HTTPError, OSError, ValueError) as error:
        raise FetchError("network", f"{repo}: {_first_line(error)}") from error


def _no_match_error(
    context: str, patterns: Sequence[str], repository: str, available_files: Sequence[str]
) -> UserError:
    """Return the error for patterns that match no file of a repository."""
    file_list = ", ".join(summarize_list(sorted(available_files), MAX_LISTED)) or "nothing"
    missing_files = ", ".join(f"'{pattern}'" for pattern in patterns)
    return UserError(
        f"{context}: {repository} has no file {missing_files}. It has: {sanitize_line(file_list)}. Correct the names "
        "or patterns, or the revision."
    )


def create_hub_fetcher(settings: Huggingface, store: Store) -> Fetcher:
    """Return the fetcher of members of a repository's archives, or of single files if `files` is empty."""
    if settings.revision == "unpinned":
        raise UserError(
            f"route.revision: {settings.repo} is 'unpinned'. Run `reprise pin` with network access first, or "
            "use a folder or an archive on this machine as the route."
        )
    repository = _Repository(settings, store)
    return Fetcher(
        lambda source_id: ["huggingface", settings.repo, settings.revision, fill_safe_name(settings.member, source_id)],
        repository.fetch,
        repository.estimate_bytes,
        attempts=settings.attempts,
        is_remote=True,
    )


@dataclass
class _Repository:
    """A data set repository; its archives are downloaded when the first source is fetched."""

    settings: Huggingface
    store: Store
    _members: Members | None = None
    _failure: FetchError | None = None  # why the archives could not be downloaded

    def fetch(self, source_id: str, folder: Path) -> FetchedFile:
        """Fetch a video: a file of the repository, or a member of its archives if the settings name archives."""
        if not self.settings.files:
            # Move the file out of the hub's cache, which would return a damaged copy again.
            path = self._download(fill_safe_name(self.settings.member, source_id))
            target = folder / path.name
            path.resolve().replace(target)
            path.unlink(missing_ok=True)
            return FetchedFile(target)
        if self._failure is not None:  # Do not request the archives again for each source.
            raise self._failure
        if self._members is None:
            try:
                files = [self._download(name) for name in self._list_archives()]
            except FetchError as error:
                if error.status == "not_found":
                    self._raise_if_misnamed(error)
                self._failure = error
                raise
            self._members = Members(group_parts(files), self.settings.member, self.store, self.settings.max_mb)
        return self._members.fetch(source_id, folder)

    def estimate_bytes(self, source_ids: Sequence[str]) -> int:
        """Return the total size of the files to download according to the server.

        Archives count twice, because their members are stored too.
        """
        # An id with `..` may give an unsafe path. It is left out here; only its own fetch fails.
        source_files = [
            fill_safe_name(self.settings.member, source_id) for source_id in source_ids if ".." not in source_id
        ]
        try:
            cache = self.store.root / "hub"
            snapshot = f"*/snapshots/{self.settings.revision}"
            new_archives = [name for name in self._list_archives() if not any(cache.glob(f"{snapshot}/{name}"))]
            # If all archives are cached, the names of their members are sent instead. The server does not know them, so
            # the total is 0.
            path_infos = HfApi().get_paths_info(
                self.settings.repo, new_archives or source_files, revision=self.settings.revision, repo_type="dataset"
            )
        except (FetchError, HTTPError, OSError, ValueError):
            return self.settings.estimate_bytes(source_ids)
        # A folder has no size.
        return sum(getattr(info, "size", 0) for info in path_infos) * (2 if self.settings.files else 1)

    def _list_archives(self) -> list[str]:
        """Return the names of the archives, with patterns replaced by the matching files of the repository."""
        if not any(map(has_magic, self.settings.files)):
            return list(self.settings.files)
        return self._matching_files(_list_files("dataset", self.settings.repo, self.settings.revision))

    def _matching_files(self, available_files: Sequence[str]) -> list[str]:
        """Return the available files that the settings name, or raise an error that lists available files."""
        names: list[str] = []
        for pattern in self.settings.files:
            matches = (
                [pattern]
                if pattern in available_files
                else [name for name in available_files if fnmatch(name, pattern)]
            )
            if not matches:
                raise _no_match_error(
                    "route.files", [pattern], f"{self.settings.repo}@{self.settings.revision}", available_files
                )
            names += sorted(matches)
        return list(dict.fromkeys(names))

    def _raise_if_misnamed(self, error: FetchError) -> None:
        """Raise a `UserError` if the repository has no such files.

        A `FetchError` would be recorded for each source, and the records would survive a correction of the names.
        """
        with suppress(FetchError):
            available_files = _list_files("dataset", self.settings.repo, self.settings.revision)
            try:
                self._matching_files(available_files)
            except UserError as name_error:
                raise name_error from error

    def _download(self, name: str) -> Path:
        """Return the path of a file in the hub's cache; download it if it is missing, with retries."""
        with time_limit(self.settings.max_s):
            return call_with_retries(lambda: self._download_once(name), self.settings)

    def _download_once(self, name: str) -> Path:
        """Try once to download a file, and convert the hub's errors to a `FetchError`."""
        repo = self.settings.repo
        try:
            path: str = hf_hub_download(
                repo,
                name,
                repo_type="dataset",
                revision=self.settings.revision,
                cache_dir=self.store.root / "hub",
                etag_timeout=self.settings.timeout_s,
                tqdm_class=BoundedProgress,
            )
        except TooLargeError as error:
            raise FetchError("too_large", f"{repo}: {name}: {error}") from error
        except GatedRepoError as error:
            page = f"https://huggingface.co/datasets/{repo}"
            raise FetchError("gated", f"{repo} is gated: accept its licence at {page}, then set HF_TOKEN") from error
        except LocalEntryNotFoundError as error:
            cause = error.__cause__
            if isinstance(cause, HfHubHTTPError):
                raise _status_error(cause, f"{repo}: {name}") from error
            raise FetchError("network", f"{repo}: {name}: {_first_line(cause or error)}") from error
        except (EntryNotFoundError, RepositoryNotFoundError, RevisionNotFoundError) as error:
            raise FetchError("not_found", f"{repo}@{self.settings.revision}: {name}: {_first_line(error)}") from error
        except HfHubHTTPError as error:
            raise _status_error(error, repo) from error
        except (HTTPError, ValueError) as error:
            raise FetchError("network", f"{repo}: {name}: {_first_line(error)}") from error
        return Path(path)


def _status_error(error: HfHubHTTPError, subject: str) -> FetchError:
    """Return the error for an HTTP status of the hub."""
    headers = error.response.headers
    status = classify_http_code(error.response.status_code)
    wait_s = parse_wait_s(headers.get("Retry-After"), headers.get("Date"))
    return FetchError(status, f"{subject}: {_first_line(error)}", wait_s)


def _first_line(error: BaseException) -> str:
    """Return the first nonempty line of an error's message, or the error's type."""
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
