"""Replies of other machines, read no further than a size: counted as they come, and again as they are unpacked."""

import zlib

GZIP = b"\x1f\x8b"


class TooLargeError(Exception):
    """More came than was allowed, or than was announced."""

    def __init__(self, most: int, how: str = "") -> None:
        super().__init__(f"a reply of more than {most:,} bytes{how}")


class PackedError(Exception):
    """It is packed in a way that nobody asked for, or that does not unpack."""


class UnpackError(PackedError):
    """It does not unpack, because it is cut, damaged or mislabelled: the next one may."""


class BoundedReader:
    """Takes a reply piece by piece and gives its content at the end; `most` bytes of either, packed or not."""

    def __init__(self, most: int, encoding: str = "") -> None:
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise PackedError(f"a reply that is packed by {encoding[:20]!r}")
        self._most, self._is_packed = most, encoding not in ("", "identity")
        self._content = bytearray()

    def feed(self, piece: bytes) -> None:
        self._content += piece
        if len(self._content) > self._most:
            raise TooLargeError(self._most)

    def end(self) -> bytes:
        packed = bytes(self._content)
        if not self._is_packed or not packed:
            return packed
        content = bytearray()
        try:
            while packed:  # gzip may have several members
                unpacks = zlib.decompressobj(_window_bits(packed))
                content += unpacks.decompress(packed, self._most + 1 - len(content))
                if len(content) > self._most:
                    raise TooLargeError(self._most, " when it is unpacked")
                if not unpacks.eof:
                    raise UnpackError("a packed reply that is cut short")
                packed = unpacks.unused_data if unpacks.unused_data.startswith(GZIP) else b""
        except zlib.error as error:
            raise UnpackError(f"a packed reply that does not unpack: {error}") from error
        return bytes(content)


def _window_bits(packed: bytes) -> int:
    """Tell zlib the format: gzip, zlib, or the bare stream that some servers send as `deflate`."""
    is_zlib = packed[0] & 0x0F == zlib.DEFLATED and int.from_bytes(packed[:2]) % 31 == 0
    return zlib.MAX_WBITS | 32 if is_zlib or packed.startswith(GZIP) else -zlib.MAX_WBITS
