"""Shared by the scripts that compile kernels of other producers.

A script gives nvcc one source after the other and writes each kernel as FOLDER/PRODUCER/PRODUCER.NAME.ptx, one kernel a file,
without debug sections and paths. It adds a line to FOLDER/index.tsv: file, producer, source, architecture.
"""

import argparse
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import pack

# Kernels without any of these have no pipeline to check.
COPIES = re.compile(r"\b(mbarrier\.|cp\.async|cp\.reduce\.async|tcgen05\.)")
BARRIERS = re.compile(r"\b(bar\.(sync|arrive|red)|barrier\.)")
INDEX = "file\tproducer\tsource\tarch\n"


def arguments(doc, **more):
    """The arguments that all scripts take, and `more` of the script's own."""
    parse = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("folder", type=pathlib.Path)
    parse.add_argument("--only", default="", help="only sources whose names match this regular expression")
    parse.add_argument("--limit", type=int, default=300, help="seconds that one compilation may take")
    parse.add_argument("--list", action="store_true", help="say what would be compiled")
    for name, options in more.items():
        parse.add_argument(f"--{name}", **options)
    return parse.parse_args()


def short(text):
    """Six hexadecimal digits that stand for a long name."""
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def entries(text):
    """Names of the kernels that copy asynchronously or, if none does, of those with barriers, in the order of the text."""
    kernels = list(pack.kernels(text))
    for what in (COPIES, BARRIERS):
        found = [name for name, start, end in kernels if what.search(text, start, end)]
        if found:
            return found
    return []


def alone(text, name):
    """The text without all other kernels."""
    return pack.only(text, f"^{re.escape(name)}$")


def spread(items, count):
    """`count` of the items at equal distances, the middle one if it is one."""
    count = min(count, len(items))
    return [items[(2 * i + 1) * len(items) // (2 * count)] for i in range(count)]


def nvcc(program, source, arch, flags, limit):
    """PTX of one source, or None if nvcc rejects it or takes too long."""
    with tempfile.TemporaryDirectory() as temporary:
        out = pathlib.Path(temporary) / "k.ptx"
        command = [program, "-ptx", f"-arch={arch}", "-o", str(out), *flags, str(source)]
        began = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return failed(source, f"longer than {limit} s")
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if "error" in line]
            return failed(source, (errors or [done.stderr])[0][-300:])
        print(f"{time.monotonic() - began:.0f} s {pathlib.Path(source).name} {arch}", flush=True)
        return out.read_text()


def failed(source, why):
    print("not compiled", source, why, file=sys.stderr, flush=True)


def write(folder, producer, name, text, source, arch):
    """Writes one kernel and its line of the index."""
    file = f"{producer}.{name}.ptx"
    (folder / producer).mkdir(parents=True, exist_ok=True)
    (folder / producer / file).write_text(pack.stripped(text))
    index = folder / "index.tsv"
    lines = index.read_text().splitlines(keepends=True) if index.exists() else [INDEX]
    lines = [line for line in lines if not line.startswith(f"{file}\t")]
    index.write_text("".join(lines) + f"{file}\t{producer}\t{source}\t{arch}\n")


def write_spread(folder, producer, name, text, source, arch, count):
    """Writes at most `count` kernels of one text, those that synchronize, at equal distances."""
    found = entries(text)
    for name_of_kernel in spread(found, count):
        number = found.index(name_of_kernel)
        file = name if len(found) == 1 else f"{name}_k{number}"
        write(folder, producer, file, alone(text, name_of_kernel), source, arch)
    return len(found)
