"""Maps messages of YouTube and yt-dlp to named reasons; the raw words stay in the ledger."""

import re

# Order matters: the first that fits names the reason. `checked` wordings are in yt-dlp's source (2026.10.26) or were
# seen from a server; the others come from YouTube's servers and are from memory.
_PATTERNS: tuple[tuple[str, str, bool], ...] = (
    ("disk_full", r"no space left on device", True),
    ("format_missing", r"requested format is not available|only images are available", True),
    ("bot_check", r"confirm you'?re not a bot", False),
    ("rate_limited", r"rate-limited by youtube|content isn't available, try again later|http error 429", True),
    ("bot_check", r"your ip is likely being blocked", True),
    ("captcha", r"captcha challenge", True),
    ("age_restricted", r"confirm your age|age-restricted|inappropriate for some users", True),
    ("private", r"private video|video is private", True),
    ("members_only", r"members-only|join this channel", False),
    ("geo_blocked", r"in your country|from your location|geo restriction", True),
    ("paid", r"requires payment|\brent(al|ed)?\b|purchase", False),
    ("copyright", r"copyright", False),
    ("account_terminated", r"account .{0,60}terminated|terminated account", False),
    ("removed", r"has been removed|no longer available", False),
    ("not_yet", r"premieres in|live event will begin", True),
    ("drm", r"\bdrm\b", True),
    ("bad_id", r"incomplete youtube id", True),
    ("unavailable", r"video unavailable|is not available|this video isn't available", True),
    ("not_found", r"http error (404|410)", True),
    ("forbidden_media", r"unable to download video data.*http error 403", True),
    ("forbidden", r"http error 40[13]", True),
    ("server_error", r"http error (408|5\d\d)", True),
    ("empty_download", r"did not get any data blocks|downloaded file is empty", True),
    ("wrong_type", r"unsupported url", True),
    ("network", r"timed out|connection|network|resolve|bytes read|transporterror|incompleteread|unreachable", True),
)
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def reason_of(message: str) -> str:
    """The named reason behind a message; `failed` where no wording fits."""
    text = _ANSI.sub("", message).replace("\u2019", "'").lower()
    return next((status for status, pattern, _ in _PATTERNS if re.search(pattern, text)), "failed")


def unchecked() -> list[str]:
    """The reasons whose wording has not been verified against a server."""
    return sorted({status for status, _, is_checked in _PATTERNS if not is_checked})
