"""`pin`: replace `revision: unpinned` by the commit that the hub names now. Nothing else of a file changes."""

import re
from collections.abc import Sequence
from pathlib import Path

from reprise.core.errors import UserError, suggestion
from reprise.core.files import write_text

UNPINNED_MODEL = re.compile(r"^repo:[ ]*(?P<repo>\S+)[ ]*$", re.MULTILINE)
# In a suite, repo and revision are in one block or one line, in this order.
UNPINNED_BLOCK = re.compile(r"(?P<head>repo:[ ]*(?P<repo>[^\s,}]+),?\s+revision:[ ]*)unpinned\b")
REVISION_LINE = re.compile(r"^(revision:[ ]*)unpinned\b", re.MULTILINE)


def pin_files(root: Path, names: Sequence[str]) -> None:
    """Pin the named models and suites, or all."""
    files = {path.stem: path for folder in ("suites", "models") for path in (root / "config" / folder).glob("*.yaml")}
    if not files:
        raise UserError("pin: no models and no suites in config/. Run it in the folder of the Snakefile.")
    for name in names:
        if name not in files:
            raise UserError(
                f"pin: no model or suite '{name}'.{suggestion(name, files)} Allowed: {', '.join(sorted(files))}."
            )
    for name in names or sorted(files):
        _pin_file(files[name])


def _pin_file(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if path.parent.name == "models":
        repo = UNPINNED_MODEL.search(text)
        if repo is None or not REVISION_LINE.search(text):
            return
        revision = _resolve(repo["repo"], "model", path)
        pinned = REVISION_LINE.sub(rf"\g<1>{revision}", text)
    else:
        pinned = UNPINNED_BLOCK.sub(lambda m: f"{m['head']}{_resolve(m['repo'], 'dataset', path)}", text)
    if pinned != text:
        write_text(path, pinned)


def _resolve(repo: str, kind: str, path: Path) -> str:
    """The commit behind a repository's main branch."""
    import httpx2
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        revision: str | None = HfApi().repo_info(repo, repo_type=kind).sha
    except (HfHubHTTPError, httpx2.HTTPError, OSError) as error:
        raise UserError(
            f"{path}: the hub did not resolve {kind} '{repo}' ({error}). It stays unpinned. "
            "Check the name and the network; a gated repository needs HF_TOKEN."
        ) from error
    if not revision or not re.fullmatch(r"[0-9a-f]{40}", revision):
        raise UserError(
            f"{path}: the hub answered '{revision}' for '{repo}', which is not a commit. It stays unpinned."
        )
    print(f"{path}: {repo} is {revision}")
    return revision
