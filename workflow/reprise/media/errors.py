"""Named statuses of media files that cannot be used."""

from reprise.core.plain import plain

STATUSES = {
    "missing": "there is no such file",
    "empty": "the file has no bytes",
    "not_media": "the bytes are no video or picture of a format that is read",
    "no_video": "there is no video stream, only audio or text",
    "no_frames": "the video stream has no frames",
    "truncated": "the file ends before its own index or header says",
    "corrupt": "frames cannot be decoded",
    "bad_range": "the start is not before the end",
    "out_of_range": "the span is outside the video",
    "no_black": "a concatenation has no black span",
    "encode_failed": "ffmpeg could not write the clip",
    "unsafe_path": "the name leaves its folder",
    "unreadable": "the operating system refuses to read the file",
    "unsupported_rotation": "the picture is shown at an angle that is no multiple of 90 degrees",
    "too_many_pixels": "the picture is larger than `limits.pixels` allows",
    "too_long": "the video is longer, faster, or has more frames, than `limits` allows",
}


class MediaError(Exception):
    """A media file cannot be used; `status` is its named status in the manifest."""

    def __init__(self, status: str, message: str) -> None:
        self.status = status
        self.message = plain(message)
        super().__init__(self.message)


def ffmpeg_message(error: Exception) -> str:
    """Return the message of an ffmpeg error without the path in it."""
    return getattr(error, "strerror", None) or str(error)
