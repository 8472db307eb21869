"""The content of an ELF file, or an archive of them, without the commit and the build-id.

Two builds of the same sources in different folders and at different commits have equal content.
"""

import struct

IDENTITY = (b".zp_build", b".note.gnu.build-id")
NOBITS = 8  # a section of this type has no bytes in the file


ELF = b"\x7fELF\x02\x01"  # 64 bits, little-endian
ARCHIVE = b"!<arch>\n"


def sections(data):
    """(name, offset, size) of each section that has bytes in the file."""
    (table,) = struct.unpack_from("<Q", data, 0x28)
    entry, count, names = struct.unpack_from("<HHH", data, 0x3A)
    if not table or not count:
        return []
    rows = [struct.unpack_from("<IIQQQQ", data, table + i * entry) for i in range(count)]
    start = rows[names][4]
    found = []
    for name, kind, _flags, _address, offset, size in rows:
        end = data.index(b"\0", start + name)
        if kind != NOBITS:
            found.append((data[start + name : end], offset, size))
    return found


def without_identity(data):
    """The bytes of a file, zeros where an ELF file in it names its commit and its build."""
    if data[:8] == ARCHIVE:
        return b"".join(without_identity(member) for member in members(data))
    if data[:6] != ELF:
        return data
    plain = bytearray(data)
    for name, offset, size in sections(data):
        if name in IDENTITY:
            plain[offset : offset + size] = bytes(size)
    return bytes(plain)


def members(data):
    """The headers and the contents of an archive's members, in turn."""
    at = len(ARCHIVE)
    while at + 60 <= len(data):
        size = int(data[at + 48 : at + 58])
        yield data[at : at + 60]
        yield data[at + 60 : at + 60 + size]
        at += 60 + size + size % 2
