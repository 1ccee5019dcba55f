"""What apart.py and places.py share: kernels that `warpline emit` writes, patched, built and timed launch by launch."""
import os
import subprocess

SMS = 132


def emit(warpline, scenario, settings, folder):
    """The kernel's source, with `settings` as `m=4096 stages=3`."""
    source = os.path.join(folder, "k.cu")
    sets = [word for s in settings.split() for word in ("--set", s)]
    subprocess.run([warpline, "emit", scenario, *sets, "--target", "cuda", "-o", source], check=True, stdout=subprocess.DEVNULL)
    with open(source) as f:
        return f.read()


def build(text, folder):
    """The program of a source."""
    source, program = os.path.join(folder, "k.cu"), os.path.join(folder, "k")
    with open(source, "w") as f:
        f.write(text)
    subprocess.run(["nvcc", "-O3", "-std=c++17", "-gencode", "arch=compute_90a,code=sm_90a", "-o", program, source], check=True)
    return program


def time(program, launch, folder):
    """Times a program with cold caches: what it says, and the lines of what it notes of each CTA of its last launch."""
    out = os.path.join(folder, "ctas.csv")
    said = subprocess.run([program, "--time", str(launch), "--cold", "--no-reference", "--ctas", out], check=True, capture_output=True, text=True).stdout
    with open(out) as f:
        return said, f.read().splitlines()


def tile(cta, rows, columns):
    """Row and column of a CTA's tile, in groups of eight rows."""
    group, inside = divmod(cta, 8 * columns)
    high = min(8, rows - group * 8)
    return group * 8 + inside % high, inside // high
