"""Compresses PTX files into this folder, without their debug sections.

    python3 oracles/ptx/pack.py --producer triton FOLDER/*.ptx
    python3 oracles/ptx/pack.py --producer emit --entry kernel FOLDER/*.ptx

The same text gives the same bytes. `--entry` keeps only kernels whose (mangled) names match.
"""

import argparse
import gzip
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent


ENTRY = re.compile(r"^(\.\w+ )?\.entry (\w+)", flags=re.M)


def stripped(text):
    """Without debug sections; `.file` names keep their last part, and no path of the machine that compiled."""
    text = re.sub(r"^\s*\.section\s+\.debug_\w+\s*\{[^}]*\}[ \t]*\n?", "", text, flags=re.M)
    return re.sub(r'^(\s*\.file\s+\d+\s+)"[^"]*?([^"/]*)".*$', r'\1"\2"', text, flags=re.M)


def packed(text):
    """Without debug sections, compressed."""
    return gzip.compress(stripped(text).encode(), 9, mtime=0)


def kernels(text):
    """(name, start, end) of each kernel, in the order of the text."""
    for start in ENTRY.finditer(text):
        depth = 0
        for brace in re.compile("[{}]").finditer(text, start.end()):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                yield start[2], start.start(), brace.end()
                break


def only(text, entry):
    """Without kernels whose names do not match."""
    for name, start, end in reversed(list(kernels(text))):
        if not re.search(entry, name):
            text = text[:start] + text[end:]
    return text


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("--producer", required=True)
    parse.add_argument("--entry", default="", help="a regular expression")
    parse.add_argument("--folder", type=pathlib.Path, default=HERE)
    parse.add_argument("files", nargs="+", type=pathlib.Path)
    args = parse.parse_args()
    for path in args.files:
        text = only(path.read_text(), args.entry)
        (args.folder / f"{args.producer}.{path.stem}.ptx.gz").write_bytes(packed(text))


if __name__ == "__main__":
    main()
