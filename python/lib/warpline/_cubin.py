"""Registers of the kernels in a cubin, the ELF file that the assembler of CUDA writes.

The section `.nv.info` is a list of attributes: one byte for the format, one for the attribute, two for a value or a size.
The attribute `REGCOUNT` has the index of a symbol and its registers. `cuobjdump --dump-resource-usage` prints the same
numbers.
"""

from __future__ import annotations

import struct
from typing import Iterator, NamedTuple

_REGCOUNT = 0x2F
_SIZED = 0x04
"""The format of an attribute whose value follows, after its size in bytes."""


class _Section(NamedTuple):
    name: str
    data: bytes
    link: int


def _text(table: bytes, at: int) -> str:
    return table[at : table.index(b"\0", at)].decode()


def _sections(data: bytes) -> list[_Section]:
    offset = struct.unpack_from("<Q", data, 0x28)[0]
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    raw = []
    for i in range(count):
        name, _, _, _, start, length, link = struct.unpack_from("<IIQQQQI", data, offset + i * size)
        raw.append((name, data[start : start + length], link))
    return [_Section(_text(raw[names][1], name), content, link) for name, content, link in raw]


def _attributes(info: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(info):
        form, attribute, value = struct.unpack_from("<BBH", info, at)
        at += 4
        if form == _SIZED:
            yield attribute, info[at : at + value]
            at += value


def registers(data: bytes) -> dict[str, int]:
    """Registers of a thread for each kernel and function of a cubin, by name; empty where it is no such file."""
    if data[:5] != b"\x7fELF\x02":
        return {}
    try:
        sections = _sections(data)
        symbols = next(s for s in sections if s.name == ".symtab")
        names = sections[symbols.link].data
        found = {}
        for section in sections:
            if section.name == ".nv.info":
                for attribute, value in _attributes(section.data):
                    if attribute == _REGCOUNT:
                        symbol, count = struct.unpack("<II", value)
                        found[_text(names, struct.unpack_from("<I", symbols.data, 24 * symbol)[0])] = count
        return found
    except (struct.error, StopIteration, ValueError, IndexError, UnicodeDecodeError):
        return {}
