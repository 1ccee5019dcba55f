"""What ptxas makes of PTX instructions that only compute: machine instructions of small kernels, less those of a kernel without.

    python3 arithmetic.py FOLDER_OF_PTXAS_AND_NVDISASM > ../data/ptxas_arithmetic.csv

No GPU is needed. `4 of` is four instructions with operands of their own; `3 by one` are three divisions by one register.
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

TEXT = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 a) {{
.reg .b64 %rd<4>; .reg .b32 %r<64>; .reg .b16 %h<16>;
ld.param.u64 %rd1, [a];
ld.global.v4.b32 {{%r1, %r2, %r3, %r4}}, [%rd1];
{body}
st.global.v4.b32 [%rd1], {{%r11, %r12, %r13, %r14}};
ret; }}"""
UNARY = """ex2.approx.f32 ex2.approx.ftz.f32 lg2.approx.f32 lg2.approx.ftz.f32 rcp.approx.f32 rcp.approx.ftz.f32 rsqrt.approx.f32
rsqrt.approx.ftz.f32 sqrt.approx.f32 sqrt.approx.ftz.f32 sin.approx.f32 cos.approx.f32 tanh.approx.f32""".split()
BINARY = ["div.full.f32", "div.approx.f32", "div.full.ftz.f32", "max.f32"]


def counted(tools, body):
    """Machine instructions of a kernel with these statements, by opcode."""
    with tempfile.TemporaryDirectory() as folder:
        ptx, cubin = pathlib.Path(folder, "k.ptx"), pathlib.Path(folder, "k.cubin")
        ptx.write_text(TEXT.format(body=body))
        subprocess.run([f"{tools}/ptxas", "-arch=sm_90a", ptx, "-o", cubin], check=True)
        text = subprocess.run([f"{tools}/nvdisasm", "-c", cubin], check=True, capture_output=True, text=True).stdout
    codes = re.findall(r"^\s+/\*[0-9a-f]{4}\*/\s+(?:@!?U?P\w+ )?\s*([A-Z0-9]+)", text, re.M)
    return collections.Counter(c for c in codes if c not in ("NOP", "MOV", "IMAD"))


def main():
    tools = sys.argv[1]
    release = subprocess.run([f"{tools}/ptxas", "--version"], capture_output=True, text=True).stdout.split("release ")[1].split(",")[0]
    print(f"# calibrate/probes/arithmetic.py, ptxas {release} for sm_90a; without NOP, MOV and IMAD, which copy registers")
    print("kernel,instructions")
    idle = counted(tools, "".join(f"mov.b32 %r1{i}, %r{i};" for i in "1234"))
    kernels = [(f"4 of {op}", "".join(f"{op} %r1{i}, %r{i};" for i in "1234")) for op in UNARY]
    for op in BINARY:
        kernels.append((f"4 of {op}", "".join(f"{op} %r1{i}, %r{i}, %r{int(i) % 4 + 1};" for i in "1234")))
        kernels.append((f"3 by one {op}", "".join(f"{op} %r1{i}, %r{i}, %r4;" for i in "123") + "mov.b32 %r14, %r4;"))
    for name, body in kernels:
        more = counted(tools, body)
        more.subtract(idle)
        print(f"{name}," + " ".join(f"{n} {code}" for code, n in sorted(more.items()) if n))


if __name__ == "__main__":
    main()
