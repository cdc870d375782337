"""Read replies of other machines up to a size limit, which holds for the bytes received and for the bytes unpacked."""

import zlib

GZIP = b"\x1f\x8b"


class TooLargeError(Exception):
    """A reply is larger than the limit, or than it announced."""

    def __init__(self, limit: int, detail: str = "") -> None:
        super().__init__(f"a reply of more than {limit:,} bytes{detail}")


class PackedError(Exception):
    """A reply has a content encoding that was not requested, or it does not unpack."""


class UnpackError(PackedError):
    """A reply does not unpack because it is cut, damaged or mislabelled; a retry may succeed."""


class BoundedReader:
    """Collects a reply chunk by chunk and returns its content, at most `limit` bytes before and after unpacking."""

    def __init__(self, limit: int, encoding: str = "") -> None:
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise PackedError(f"a reply that is packed by {encoding[:20]!r}")
        self._limit, self._is_packed = limit, encoding not in ("", "identity")
        self._content = bytearray()

    def feed(self, chunk: bytes) -> None:
        self._content += chunk
        if len(self._content) > self._limit:
            raise TooLargeError(self._limit)

    def end(self) -> bytes:
        packed = bytes(self._content)
        if not self._is_packed or not packed:
            return packed
        content = bytearray()
        try:
            while packed:  # A gzip stream may have several members.
                decompressor = zlib.decompressobj(_window_bits(packed))
                content += decompressor.decompress(packed, self._limit + 1 - len(content))
                if len(content) > self._limit:
                    raise TooLargeError(self._limit, " when it is unpacked")
                if not decompressor.eof:
                    raise UnpackError("a packed reply that is cut short")
                packed = decompressor.unused_data if decompressor.unused_data.startswith(GZIP) else b""
        except zlib.error as error:
            raise UnpackError(f"a packed reply that does not unpack: {error}") from error
        return bytes(content)


def _window_bits(packed: bytes) -> int:
    """Tell zlib the format: gzip, zlib, or the bare stream that some servers send as `deflate`."""
    is_zlib = packed[0] & 0x0F == zlib.DEFLATED and int.from_bytes(packed[:2]) % 31 == 0
    return zlib.MAX_WBITS | 32 if is_zlib or packed.startswith(GZIP) else -zlib.MAX_WBITS
