"""Asks SentryWard and warpline about the same kernels in one run, and writes `sentryward.tsv`.

    python3 -m venv v && v/bin/pip install sentryward==0.1.1
    python3 oracles/ptx/sentryward.py --warpline W --sentryward v/lib/python3.11/site-packages

W is the built program. warpline gets the file alone. SentryWard needs a launch: here a grid of 2x1x1 CTAs, 256 for every
integer argument, and tensor maps whose boxes are those of the kernel's name. Both have 10 seconds of processor time and one
thread. Columns: for each tool its word, seconds of processor time, and megabytes. `known` says what is known of the kernel: `fence` where the producer
is known to leave out a proxy fence (docs/import.md), nothing where no fault is known.
"""

import argparse
import gzip
import json
import os
import pathlib
import re
import resource
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 10
FENCES = ("no `fence", "with no `fence async`")


def measured(command, env):
    """Output, exit status, seconds and megabytes of a command; status None where its time was up."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(list(map(str, command)), stdout=out, stderr=subprocess.DEVNULL, env=env, preexec_fn=limit)
        _, status, usage = os.wait4(child.pid, 0)
        out.seek(0)
        text = out.read().decode(errors="replace")
    code = os.waitstatus_to_exitcode(status)
    return text, code if code >= 0 else None, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def warpline(program, path):
    text, code, seconds, memory = measured([program, "verify", path, "--json"], {**os.environ, "RAYON_NUM_THREADS": "1"})
    word = {0: "proved", 1: "violated", 2: "rejected", None: "out of time"}.get(code, "inconclusive")
    message = re.search(r'"message":\s*"([^"]*)"', text)
    return word, seconds, memory, message[1] if message and word == "violated" else ""


def boxes(name):
    """Boxes of a kernel's tensor maps, rows and columns, in the order of its parameters."""
    tile = [int(n) for n in re.search(r"_(?:d)?(\d+(?:_?x?\d+)*)_sm", name)[1].replace("_", "x").split("x")]
    if "attntma" in name:
        head, rows, columns = tile
        return [(rows, head), (columns, head), (columns, head), (rows, head)]
    rows, columns, depth = tile
    return [(rows, depth), (columns, depth), (rows, columns)]


def descriptor(parameter, rows, columns):
    inner = min(columns, 64)
    return {"parameter": parameter, "element_type": "f16", "rank": 2, "global_shape": [256, 256], "global_strides_bytes": [512],
            "box_shape": [inner, rows], "element_strides": [1, 1], "interleave": "none", "swizzle": f"{2 * inner}B",
            "oob_fill": "zero", "object": parameter}


def launch(name, text):
    """SentryWard's description of a launch."""
    entry = re.search(r"\.entry (\w+)\((.*?)\)", text, flags=re.S)[2]
    block = re.search(r"\.(?:reqntid|maxntid) (\d+)(?:, (\d+))?(?:, (\d+))?", text)
    parameters = [(re.search(r"(\w+)(?:\[\d+\])?$", p.strip())[1], p) for p in entry.split(",") if p.strip()]
    integers = [{"parameter": n, "type": t, "value": 256} for n, p in parameters for t in re.findall(r"\.([us]32) \w+$", p.strip())]
    maps = [n for n, p in parameters if "[128]" in p]
    config = {"schema": "spverify.kernel-input/v1", "arguments": integers,
              "launch": {"grid_dim": [2, 1, 1], "block_dim": [int(n or 1) for n in block.groups()]}}
    if maps:
        config["tma_descriptors"] = [descriptor(m, *box) for m, box in zip(maps, boxes(name))]
    return config


def sentryward(packages, path, config):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(config, file)
        file.flush()
        command = [packages / "sentryward/_native/sentryward-ptx", "--ptx", path, "--config", file.name, "--sync-threads", "1"]
        text, code, seconds, memory = measured(command, {**os.environ, "LD_LIBRARY_PATH": str(packages / "sentryward.libs")})
    if code is None:
        return "out of time", seconds, memory, ""
    try:
        result = json.loads(text)
    except ValueError:
        return "crashed", seconds, memory, ""
    first = (result.get("diagnostics") or [{}])[0].get("code", "")
    return result["result"], seconds, memory, first


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("--warpline", required=True)
    parse.add_argument("--sentryward", required=True, type=pathlib.Path, help="the folder of installed packages")
    parse.add_argument("--only", default="^triton", help="names of kernels")
    parse.add_argument("--longest", type=int, default=25_000, help="bytes of the longest text")
    parse.add_argument("--jobs", type=int, default=1)
    args = parse.parse_args()

    def row(packed):
        name = packed.name.removesuffix(".ptx.gz")
        text = gzip.decompress(packed.read_bytes()).decode(errors="replace")
        if len(text) > args.longest:
            return ""
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
            file.write(text)
            file.flush()
            ours = warpline(args.warpline, file.name)
            try:
                config = launch(name, text)
            except (TypeError, ValueError):
                config = None
            theirs = sentryward(args.sentryward, file.name, config) if config else ("no launch", 0, 0, "")
        known = "fence" if any(f in ours[3] for f in FENCES) else ""
        number = lambda tool: f"{tool[0]}\t{tool[1]:.2f}\t{tool[2]:.0f}"
        line = f"{name}\t{known}\t{number(ours)}\t{number(theirs)}\t{theirs[3]}\n"
        print(line, end="", flush=True)
        return line

    files = sorted(p for p in HERE.glob("*.ptx.gz") if re.search(args.only, p.name))
    with ThreadPoolExecutor(args.jobs) as pool:
        rows = list(pool.map(row, files))
    head = "kernel\tknown\twarpline\tseconds\tMB\tSentryWard\tseconds\tMB\treason\n"
    (HERE / "sentryward.tsv").write_text(head + "".join(rows))


main()
