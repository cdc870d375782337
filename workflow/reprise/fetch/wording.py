"""Maps messages of YouTube and yt-dlp to named reasons; the raw words stay in the ledger."""

import re

# Order matters: the first that fits names the reason. Wordings are in yt-dlp's source (2026.10.26), were seen from a
# server, or are YouTube's from memory.
PATTERNS = (
    ("disk_full", r"no space left on device"),
    ("format_missing", r"requested format is not available|only images are available"),
    ("bot_check", r"confirm you'?re not a bot"),  # from memory
    ("rate_limited", r"rate-limited by youtube|content isn't available, try again later|http error 429"),
    ("bot_check", r"your ip is likely being blocked"),
    ("captcha", r"captcha challenge"),
    ("age_restricted", r"confirm your age|age-restricted|inappropriate for some users"),
    ("private", r"private video|video is private"),
    ("members_only", r"members-only|join this channel"),  # from memory
    ("geo_blocked", r"in your country|from your location|geo restriction"),
    ("paid", r"requires payment|\brent(al|ed)?\b|purchase"),  # from memory
    ("copyright", r"copyright"),  # from memory
    ("account_terminated", r"account .{0,60}terminated|terminated account"),  # from memory
    ("removed", r"has been removed|no longer available"),  # from memory
    ("not_yet", r"premieres in|live event will begin"),
    ("drm", r"\bdrm\b"),
    ("bad_id", r"incomplete youtube id"),
    ("unavailable", r"video unavailable|is not available|this video isn't available"),
    ("not_found", r"http error (404|410)"),
    ("forbidden_media", r"unable to download video data.*http error 403"),
    ("forbidden", r"http error 40[13]"),
    ("server_error", r"http error (408|5\d\d)"),
    ("empty_download", r"did not get any data blocks|downloaded file is empty"),
    ("wrong_type", r"unsupported url"),
    ("network", r"timed out|connection|network|resolve|bytes read|transporterror|incompleteread|unreachable"),
)
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def reason_of(message: str) -> str:
    """The named reason behind a message; `failed` where no wording fits."""
    text = _ANSI.sub("", message).replace("\u2019", "'").lower()
    return next((status for status, pattern in PATTERNS if re.search(pattern, text)), "failed")
