"""Which key of a key file changed since a result was made, from what to what: the reason of most reruns, in words."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from reprise.core.files import canonical_json, keys_of, text_digest
from reprise.core.paths import Results
from reprise.core.plain import plain
from reprise.core.settings import Settings
from reprise.core.store import append_line, read_lines

ABSENT = "(none)"
LONGEST = 60
FORMER = Path("keys/former.jsonl")


class Change(NamedTuple):
    """One key whose value is another one now; texts are cut to the place where they differ."""

    name: str
    before: str
    after: str

    @property
    def words(self) -> str:
        if "code_versions." in self.name:
            return f"version of {self.name.rpartition('.')[2]}: {self.before} -> {self.after}"
        return f"{self.name}: {self.before} -> {self.after}"


class KeyChange(NamedTuple):
    """A key file whose content is another one than a result was made under."""

    path: Path
    changes: tuple[Change, ...] | None  # None where nobody knows what the content was

    @property
    def words(self) -> tuple[str, ...]:
        if "retries" in self.path.parts:
            return ("what failed is tried again",)
        if self.changes is None:
            return ("changed; what it was is not recorded",)
        return tuple(change.words for change in self.changes)


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    """The keys in which two contents of a key file differ, by their dotted names."""
    one, other = dict(leaves(before)), dict(leaves(after))
    for name in sorted(one.keys() | other.keys()):
        if one.get(name) != other.get(name) and name != "key":  # the digest of what else the file says
            yield Change(name.removeprefix("answers."), *_shown(one.get(name), other.get(name)))


def leaves(content: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every value by its dotted name; entries of a list are counted from 1."""
    if isinstance(content, Mapping) and content:
        for key, value in content.items():
            yield from leaves(value, f"{name}.{key}" if name else str(key))
    elif isinstance(content, list) and any(isinstance(one, Mapping | list) for one in content):
        for number, value in enumerate(content, start=1):
            yield from leaves(value, f"{name}.{number}")
    elif content not in (None, [], {}):
        yield name, content


def _shown(before: Any, after: Any) -> tuple[str, str]:
    texts = [
        ABSENT if one is None else plain(one if isinstance(one, str) else canonical_json(one))
        for one in (before, after)
    ]
    if all(text == ABSENT or re.fullmatch(r"[0-9a-f]{32,}", text) for text in texts):  # digests
        return texts[0][:12], texts[1][:12]
    same = next((at for at, (one, other) in enumerate(zip(*texts, strict=False)) if one != other), min(map(len, texts)))
    start = max(0, same - 20) if max(map(len, texts)) > LONGEST else 0
    return _cut(texts[0], start), _cut(texts[1], start)


def _cut(text: str, start: int) -> str:
    end = start + LONGEST
    return text if text == ABSENT else f"{'...' if start else ''}{text[start:end]}{'...' if text[end:] else ''}"


def key_texts(keys: Mapping[Path, Settings]) -> dict[Path, str]:
    """The content that every key file has once it is written."""
    return {
        path: json.dumps(key.model_dump(mode="json"), indent=1, sort_keys=True) + "\n" for path, key in keys.items()
    }


# Former contents


def remember(results: Results, path: Path) -> None:
    """Record what a key file says before it is replaced: results that were made under it have its digest alone."""
    text = _content(path)
    if text is not None:
        log = results.folder / FORMER
        if log.is_file() and log.stat().st_size > 20_000_000:
            log.unlink()  # what is older is not explained any more
        append_line(log, canonical_json([str(path), text_digest(text), text]), to_disk=False)


def _content(path: Path) -> str | None:
    """What a key file says; none where it is not there, or so damaged that it is no JSON."""
    try:
        text = path.read_text(encoding="utf-8")
        json.loads(text)
    except (FileNotFoundError, ValueError):
        return None
    return text


class KeyChanges:
    def __init__(self, results: Results, now: Mapping[Path, str] | None = None) -> None:
        """`now` holds the texts of the key files, those on the disk where it is not given."""
        self._results = results
        self._now = now
        self._former: list[tuple[str, str, str]] | None = None

    def since(self, result: Path) -> list[KeyChange]:
        """The key files that say something else than when this table was made; none for another kind of file."""
        made_under = keys_of(result) if result.suffix == ".parquet" and result.is_file() else None
        changes = (self._change(Path(name), digest) for name, digest in (made_under or {}).items())
        return [change for change in changes if change is not None]

    def since_input(self, result: Path, key: Path) -> KeyChange | None:
        """The change of a key file that a result of another kind was made from: it is to be, or was, written later."""
        before = _content(key)
        if not result.is_file() or before is None:
            return None
        after = before if self._now is None else self._now.get(key, before)
        if before == after:
            if key.stat().st_mtime <= result.stat().st_mtime:
                return None
            before = next((text for path, _, text in reversed(self._recorded()) if path == str(key)), "")
        return KeyChange(key, tuple(changes_between(json.loads(before), json.loads(after))) if before else None)

    def _change(self, path: Path, digest: str) -> KeyChange | None:
        written = _content(path)
        text = written if self._now is None else self._now.get(path)
        if text is None or text_digest(text).startswith(digest):
            return None
        before = written  # a key file that is to be written has the content of then, or it is recorded
        if before is None or not text_digest(before).startswith(digest):
            before = next((text for _, known, text in self._recorded() if known.startswith(digest)), None)
        return KeyChange(path, tuple(changes_between(json.loads(before), json.loads(text))) if before else None)

    def _recorded(self) -> list[tuple[str, str, str]]:
        """Key file, digest and content, of all that were replaced."""
        if self._former is None:
            lines = read_lines(self._results.folder / FORMER, skip_damaged=True)
            self._former = [(str(path), str(digest), str(text)) for path, digest, text in lines]
        return self._former
