"""How long each step of recorded products takes: the clock of thread 0 behind the first barrier of the loop, by CTA.

    python3 steps.py DATA NAME > rows.csv   # DATA: calibrate/data; one process for each kernel, because CuPy keeps modules by their path

The kernel's text gets stores of time stamps, which can change what ptxas makes of a short loop. Columns: name, first CTA of 132 in launch
order; least, median and most cycles of a CTA, the same of its mean step, and the medians before the loop and behind it. The data of all
kernels is ../data/h100_steps.csv.
"""

import gzip
import os
import re
import statistics
import subprocess
import sys

STRIDE, MOST = 272, 4200
START = f"""\t.reg .b64 %tq<4>;\n\t.reg .b32 %tr<8>;\n\t.reg .pred %tp;
\tmov.u32 %tr0, %tid.x;\n\tsetp.eq.u32 %tp, %tr0, 0;
\tmov.u32 %tr1, %ctaid.z;\n\tmov.u32 %tr2, %nctaid.y;\n\tmov.u32 %tr3, %ctaid.y;\n\tmad.lo.u32 %tr1, %tr1, %tr2, %tr3;
\tmov.u32 %tr2, %nctaid.x;\n\tmov.u32 %tr3, %ctaid.x;\n\tmad.lo.u32 %tr1, %tr1, %tr2, %tr3;
\tmov.u64 %tq0, stamps;\n\tmad.wide.u32 %tq0, %tr1, {STRIDE * 8}, %tq0;"""
STAMP = "\tmov.u64 %tq1, %clock64;\n\t@%tp st.global.u64 [%tq0], %tq1;\n\tadd.s64 %tq0, %tq0, 8;"


def stamped(text):
    """The text of a kernel with time stamps at its start, behind the first barrier of its loop, and at its end."""
    out, declared, started, loop = [], False, False, 0
    for line in text.split("\n"):
        if ".visible .entry" in line:
            out.append(f".visible .global .align 8 .b8 stamps[{STRIDE * 8 * MOST}];")
        registers = line.strip().startswith(".reg")
        if declared and not started and line.strip() and not registers:
            out += [START, STAMP]
            started = True
        declared |= registers
        if line.strip() == "ret;":
            out.append(STAMP)
        out.append(line)
        if loop == 0 and "Inner Loop Header" in line:
            loop = 1
        if loop == 1 and "bar.sync" in line:
            out.append(STAMP)
            loop = 2
    return "\n".join(out)


def main():
    import cupy
    import triton

    from stalls import launched, rows

    data, name = sys.argv[1:3]
    listed, row = next((listed, row) for listed, row in rows(data) if row["name"] == name)
    with open("/tmp/stamped.ptx", "w") as f:
        f.write(stamped(gzip.open(f"{data}/{listed}/{name}.ptx.gz", "rt").read()))
    ptxas = os.path.dirname(triton.__file__) + "/backends/nvidia/bin/ptxas"
    subprocess.run([ptxas, "-arch=sm_90a", "/tmp/stamped.ptx", "-o", "/tmp/stamped.cubin"], check=True)
    module = cupy.RawModule(path="/tmp/stamped.cubin")
    kernel = module.get_function(row["kernel"])
    stamps = cupy.ndarray((MOST, STRIDE), dtype=cupy.int64, memptr=module.get_global("stamps"))
    flush = cupy.zeros(256 << 20, dtype=cupy.uint8)
    for _ in range(2):
        stamps.fill(0)
        int(flush.sum())
        launched(kernel, row)
    ctas = [[t for t in cta if t > 0] for cta in cupy.asnumpy(stamps).tolist()]
    ctas = [cta for cta in ctas if cta]
    for first in range(0, len(ctas), 132):
        some = ctas[first : first + 132]
        whole, step = [c[-1] - c[0] for c in some], [(c[-2] - c[1]) / (len(c) - 3) for c in some]
        before, behind = (statistics.median(c[b] - c[a] for c in some) for a, b in ((0, 1), (-2, -1)))
        three = [f(x) for x in (whole, step) for f in (min, statistics.median, max)]
        print(",".join([name, str(first)] + [str(round(x)) for x in [*three, before, behind]]))


if __name__ == "__main__":
    main()
