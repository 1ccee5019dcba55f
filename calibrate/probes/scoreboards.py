"""Loads that an instruction waits for only because it shares a scoreboard with them, in loops with products of recorded kernels of one stage.

    python3 scoreboards.py DATA DIR > ../data/h100_scoreboards.txt   # DATA: calibrate/data; needs the ptxas of Triton, and nvdisasm; cubins go to DIR

A warp has six scoreboards. A load sets one until its result is there, and a store until it has read its operand. Bits 105 to 125 of an
instruction name the scoreboards that it sets and those that it waits for. A line: kernel, number of loops of machine code with products
and loads to registers, and in order the loads of a step (`LDG`), stores (`STS`), products (`HGMMA`), waits for products and barriers; `!n`
before an instruction that waits for `n` loads whose registers it does not name.
"""

import glob
import gzip
import os
import re
import subprocess
import sys

from loops import assembled

SHOWN = re.compile(r"LDG|STS|HGMMA|WARPGROUP\.DEPBAR|BAR\.SYNC")


def instructions(cubin):
    """The instructions of a kernel: text, scoreboard set by the result, by the operands, and those waited for. Labels are strings."""
    lines = subprocess.run(["nvdisasm", "-c", "-hex", cubin], check=True, capture_output=True, text=True).stdout.split("\n")
    for line, below in zip(lines, lines[1:] + [""]):
        label = re.match(r"(\.L_x_\d+):", line)
        found = re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(.*?);\s+/\* 0x[0-9a-f]+ \*/", line)
        if label:
            yield label[1]
        elif found:
            control = int(re.search(r"0x[0-9a-f]+", below)[0], 16) >> 41
            boards = [None if (control >> at & 7) == 7 else control >> at & 7 for at in (5, 8)]
            yield found[1].strip(), *boards, [b for b in range(6) if control >> 11 + b & 1]


def registers(text):
    """The registers that the operands of an instruction name; four for each that it loads or stores by 128 bits."""
    wide = {"128": 4, "64": 2}.get((re.search(r"(?:LDG|STS)\S*\.(\d+) ", text) or [0, ""])[1], 1)
    found = set()
    for number, pair in re.findall(r"\bR(\d+)(\.64)?", text):
        found.update(range(int(number), int(number) + max(wide, 2 if pair else 1)))
    return found


def shared(loop):
    """The instructions of a loop that are shown, each with the number of loads that it waits for and does not name."""
    out, open_ = [], {b: [] for b in range(6)}
    for text, result, operands, waits in loop:
        bare = re.sub(r"^@!?U?P\d+ ", "", text)
        foreign = 0
        for board in waits:
            loads = [r for kind, r in open_[board] if kind == "LDG"]
            if loads and not any(r & registers(bare) for r in loads):
                foreign += len(loads)
            open_[board] = []
        kind = SHOWN.match(bare)
        if kind or foreign:
            out.append((f"!{foreign} " if foreign else "") + (kind[0] if kind else bare.split()[0]))
        if result is not None:
            is_load = bare.startswith("LDG.")
            destination = re.search(r"LDG\S* (R\d+)", bare) if is_load else None
            of = registers(f"LDG.E.128 {destination[1]}") if destination else set()
            open_[result].append(("LDG" if is_load else "", of))
        if operands is not None:
            open_[operands].append(("", set()))
    return " ".join(out)


def main():
    import triton

    data, folder = sys.argv[1:]
    ptxas = os.path.join(os.path.dirname(triton.__file__), "backends/nvidia/bin/ptxas")
    print("# calibrate/probes/scoreboards.py with ptxas of Triton 3.6.0")
    texts = {}
    for source in sorted(glob.glob(data + "/h100_kernels*/[gp][el]*_s1.ptx.gz")):
        # Several launches have one text.
        texts.setdefault(gzip.open(source, "rt").read(), source)
    for source in texts.values():
        name, _ = assembled(source, folder, ptxas)
        code, labels = [], {}
        for i in instructions(f"{folder}/{name}.cubin"):
            if isinstance(i, str):
                labels[i] = len(code)
                continue
            code.append(i)
            back = re.search(r"BRA.*`\((\.L_x_\d+)\)", i[0])
            first = labels.get(back[1]) if back else None
            loop = code[first:] if first is not None else []
            if any("HGMMA" in x[0] for x in loop) and any("LDG." in x[0] for x in loop):
                print(name, len(loop), shared(loop))


if __name__ == "__main__":
    main()
