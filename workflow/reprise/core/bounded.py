"""Read replies of other machines up to a size limit for the received and for the decompressed bytes."""

import zlib

GZIP = b"\x1f\x8b"


class TooLargeError(Exception):
    """A reply is larger than the limit, or larger than its announced size."""

    def __init__(self, limit: int, detail: str = "") -> None:
        super().__init__(f"a reply of more than {limit:,} bytes{detail}")


class ContentEncodingError(Exception):
    """A reply has an unsupported content encoding, or cannot be decompressed."""


class DecompressionError(ContentEncodingError):
    """A reply is truncated, damaged or mislabelled and cannot be decompressed; a retry may succeed."""


class BoundedReader:
    """Reader that collects the chunks of a reply: at most `limit` bytes, before and after decompression."""

    def __init__(self, limit: int, encoding: str = "") -> None:
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise ContentEncodingError(f"a reply with content encoding {encoding[:20]!r}")
        self._limit, self._is_compressed = limit, encoding not in ("", "identity")
        self._content = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Add a chunk of the reply; raise an error if the reply is then too large."""
        self._content += chunk
        if len(self._content) > self._limit:
            raise TooLargeError(self._limit)

    def decompress(self) -> bytes:
        """Return the collected content, decompressed if it is compressed."""
        compressed = bytes(self._content)
        if not self._is_compressed or not compressed:
            return compressed
        decompressed = bytearray()
        try:
            while compressed:  # A gzip stream may have several members.
                decompressor = zlib.decompressobj(_window_bits(compressed))
                # One byte above the limit is enough to detect that the content is too large.
                decompressed += decompressor.decompress(compressed, self._limit + 1 - len(decompressed))
                if len(decompressed) > self._limit:
                    raise TooLargeError(self._limit, " when it is decompressed")
                if not decompressor.eof:
                    raise DecompressionError("a truncated compressed reply")
                # Bytes after the stream that are no further member are ignored.
                compressed = decompressor.unused_data if decompressor.unused_data.startswith(GZIP) else b""
        except zlib.error as error:
            raise DecompressionError(f"a compressed reply that cannot be decompressed: {error}") from error
        return bytes(decompressed)


def _window_bits(compressed: bytes) -> int:
    """Return zlib's argument for the format: gzip, zlib, or the raw stream that some servers send as `deflate`."""
    # By RFC 1950, the low half of a zlib stream's first byte is the method; its first two bytes are a multiple of 31.
    is_zlib = compressed[0] & 0x0F == zlib.DEFLATED and int.from_bytes(compressed[:2]) % 31 == 0
    # 32 detects gzip and zlib; a negative number stands for a raw stream.
    return zlib.MAX_WBITS | 32 if is_zlib or compressed.startswith(GZIP) else -zlib.MAX_WBITS
