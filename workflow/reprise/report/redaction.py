"""Remove paths, private addresses and secrets of this machine from texts that leave it."""

import os
import re
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

FOLDER, PATH, SERVER, SECRET = "[folder]", "[path]", "[server]", "[secret]"  # texts that replace private ones
MIN_NAME_CHARS = 5  # Shorter names of machines are too likely to be words.
MIN_SECRET_CHARS = 8  # Shorter values of variables are too likely to be parts of other texts.

# An absolute path of at least two parts keeps its last part, such as the name of a checkpoint.
_PART = r"[^\s/\"'<>\\,;:()\[\]{}&|`]+"
_START = r"(?:(?<=[\s\"'=(\[,:>;`])|^)(?:file://)?"
_HOME = re.compile(rf"{_START}/(?:home|Users)/{_PART}", re.MULTILINE)
_ABSOLUTE_PATH = re.compile(rf"{_START}~?/(?:{_PART}/)+({_PART})?", re.MULTILINE)
_PRIVATE_HOST = (
    r"(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|10(?:\.\d+){3}|192\.168(?:\.\d+){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d+){2}"
    r"|\[[0-9a-fA-F:]*:[0-9a-fA-F:]*\])"
)
_ADDRESS_END = r"[^\s\"'<>\\&]*"
# Addresses with a user or a port, of a name without a dot, or of a private network.
_PRIVATE_ADDRESS = re.compile(
    rf"https?://(?:[^\s/\"'<>]*@{_ADDRESS_END}|[^\s/\"'<>:]+:\d+{_ADDRESS_END}"
    rf"|(?:{_PRIVATE_HOST}|[\w-]+|[\w.-]+\.(?:local|lan|internal|intranet))(?![\w.-]){_ADDRESS_END})"
)
_BARE_HOST = re.compile(rf"(?<![\w.]){_PRIVATE_HOST}(?::\d+)?(?![\w.])")
# Tokens of the Hugging Face hub, OpenAI and Anthropic, Google, GitHub and Slack.
_TOKEN = re.compile(r"\b(?:hf_|sk-|AIza|ghp_|github_pat_|xox[abp]-)[\w-]{10,}")


def redact_paths(text: str) -> str:
    """Return the text without absolute paths; the last part of each path stays."""
    text = _HOME.sub(PATH, text)
    return _ABSOLUTE_PATH.sub(lambda match: f"{PATH}/{match[1] or ''}", text)


class Redactor:
    """Replace everything in a text that names this machine or its user."""

    def __init__(
        self, folders: Iterable[Path], servers: Iterable[str] = (), secret_variables: Iterable[str] = ()
    ) -> None:
        """Set the known folders, addresses of servers, and names of environment variables with secrets."""
        paths = {str(form) for folder in folders for form in (folder, folder.absolute(), folder.resolve())}
        environment = (os.environ.get(name, "") for name in secret_variables)
        hostname = socket.gethostname()
        self._replacements: Mapping[str, str] = {
            **{value: SECRET for value in environment if len(value) >= MIN_SECRET_CHARS},
            **{address: SERVER for address in servers if address},
            # A longer path is replaced before the folders above it.
            **{path: FOLDER for path in sorted(paths, key=len, reverse=True) if path.count("/") > 1},
            **({hostname: SERVER} if len(hostname) >= MIN_NAME_CHARS and hostname != "localhost" else {}),
        }

    def redact(self, text: str) -> str:
        """Return the text without paths, private addresses and secrets."""
        for known_text, replacement in self._replacements.items():
            text = text.replace(known_text, replacement)
        text = _TOKEN.sub(SECRET, text)
        text = _PRIVATE_ADDRESS.sub(SERVER, text)
        text = _BARE_HOST.sub(SERVER, text)
        return redact_paths(text)
