"""The loops with products in the machine code of recorded kernels.

    python3 loops.py DATA DIR > ../data/h100_loops.txt   # DATA: calibrate/data; needs the ptxas of Triton, and nvdisasm; cubins go to DIR

A line: kernel, instructions of the loop, and in order its loads, copies, stores, barriers and products, with the number of others in parentheses.
"""

import glob
import gzip
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

SHOWN = re.compile(r"(?:@!?U?P\d+ )?(LDGSTS|LDGDEPBAR|LDG|STS|BAR\.SYNC|HGMMA|WARPGROUP\.DEPBAR|DEPBAR|MEMBAR|SHFL|UTMALDG|SYNCS)")


def assembled(source, folder, ptxas):
    """Assembles a kernel. Returns its name and its machine code."""
    name = os.path.basename(source)[: -len(".ptx.gz")]
    path = f"{folder}/{name}"
    with open(path + ".ptx", "w") as f:
        f.write(gzip.open(source, "rt").read())
    subprocess.run([ptxas, "-arch=sm_90a", path + ".ptx", "-o", path + ".cubin"], check=True)
    return name, subprocess.run(["nvdisasm", "-c", path + ".cubin"], check=True, capture_output=True, text=True).stdout


def loops(text):
    """The loops of machine code: each is a list of instructions."""
    code, labels = [], {}
    for line in text.split("\n"):
        line = re.sub(r"^/\*[0-9a-f]+\*/\s*", "", line.strip())
        label = re.match(r"(\.L_x_\d+):", line)
        if label:
            labels[label[1]] = len(code)
        elif line and not line.startswith((".", "//")):
            code.append(line)
            back = re.search(r"BRA.*(\.L_x_\d+)", line)
            if back and back[1] in labels:
                yield code[labels[back[1]] :]


def shown(loop):
    """The instructions of a loop that are shown, each with how many of it and how many others follow."""
    out = []
    for line in loop:
        kind = SHOWN.match(line)
        if not kind:
            if out:
                out[-1][2] += 1
        elif out and out[-1][0] == kind[1] and out[-1][2] == 0:
            out[-1][1] += 1
        else:
            out.append([kind[1], 1, 0])
    return " ".join(k + (f"x{n}" if n > 1 else "") + (f"({others})" if others else "") for k, n, others in out)


def main():
    import triton

    data, folder = sys.argv[1:3]
    os.makedirs(folder, exist_ok=True)
    ptxas = os.path.dirname(triton.__file__) + "/backends/nvidia/bin/ptxas"
    lists = ["h100_kernels", "h100_kernels_second", "h100_kernels_waves"]
    sources = sorted(f for name in lists for f in glob.glob(f"{data}/{name}/*.ptx.gz"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, text in sorted(pool.map(lambda s: assembled(s, folder, ptxas), sources)):
            for line in dict.fromkeys(f"{len(loop)} {shown(loop)[:600]}" for loop in loops(text) if "HGMMA" in shown(loop)):
                print(name, line)


if __name__ == "__main__":
    main()
