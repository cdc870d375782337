"""Replies of other machines, read no further than a size: counted as they come, and again as they are unpacked."""

import zlib


class TooLargeError(Exception):
    """More came than was allowed, or than was announced."""

    def __init__(self, most: int, how: str = "") -> None:
        super().__init__(f"a reply of more than {most:,} bytes{how}")


class PackedError(Exception):
    """It is packed in a way that nobody asked for, or that does not unpack."""


class BoundedReader:
    """Takes a reply piece by piece, and gives what is in it; `most` is of either, packed or not."""

    def __init__(self, most: int, encoding: str = "") -> None:
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise PackedError(f"a reply that is packed by {encoding[:20]!r}")
        self._most, self._came, self._gave = most, 0, 0
        self._unpacks = zlib.decompressobj(zlib.MAX_WBITS | 32) if encoding not in ("", "identity") else None

    def feed(self, piece: bytes) -> bytes:
        self._came += len(piece)
        if self._came > self._most:
            raise TooLargeError(self._most)
        if self._unpacks is None:
            return piece
        found = bytearray()
        try:
            while piece:
                step = self._unpacks.decompress(piece, 1 << 16)
                piece, found = self._unpacks.unconsumed_tail, found + step
                if self._gave + len(found) > self._most:
                    raise TooLargeError(self._most, " when it is unpacked")
                if not step and self._unpacks.eof:
                    break
        except zlib.error as error:
            raise PackedError(f"a packed reply that does not unpack: {error}") from error
        self._gave += len(found)
        return bytes(found)

    def end(self) -> None:
        if self._unpacks is not None and self._came and not self._unpacks.eof:
            raise PackedError("a packed reply that is cut short")
