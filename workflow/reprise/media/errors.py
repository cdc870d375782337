"""Define the statuses of media files that cannot be used."""

from reprise.core.plain import sanitize_line

# Status -> explanation for the user.
STATUSES = {
    "missing": "there is no such file",
    "empty": "the file has no bytes",
    "not_media": "not a video or picture of a supported format",
    "no_video": "there is no video stream, only audio or text",
    "no_frames": "the video stream has no frames",
    "truncated": "the file is shorter than its index or header states",
    "corrupt": "frames cannot be decoded",
    "bad_range": "the start is not before the end",
    "out_of_range": "the span is outside the video",
    "no_black": "a concatenation has no black span",
    "encode_failed": "ffmpeg could not write the clip",
    "unsafe_path": "the name leaves its folder",
    "unreadable": "the operating system cannot read the file",
    "unsupported_rotation": "the rotation is not a multiple of 90 degrees",
    "too_many_pixels": "the picture exceeds `limits.pixels`",
    "too_long": "the duration, frame rate or number of frames exceeds `limits`",
}


class MediaError(Exception):
    """A media file cannot be used; `status` is one of STATUSES, which the manifest records."""

    def __init__(self, status: str, message: str) -> None:
        self.status = status
        self.message = sanitize_line(message)
        super().__init__(self.message)


def ffmpeg_message(error: Exception) -> str:
    """Return the message of an ffmpeg error without the file's path."""
    return getattr(error, "strerror", None) or str(error)
