"""Compiles what `warpline emit` writes, for machines that nobody here has, and records what a compiler took.

    python3 oracles/emit/compile.py hip --warpline W [--only NAME] [--write]
    python3 oracles/emit/compile.py metal --warpline W
    python3 oracles/emit/compile.py sm100a --warpline W --nvcc nvcc

W is the built program. Each prints rows of compiled.tsv for its target, those of calibrate's probes for it among them; `--write`
puts them into the file. The clang is that of
the PyPI package `ziglang` (of the Python that runs this), which knows amdgcn; it has no HIP headers, so `hip/hip_runtime.h`
here stands in for them. nvcc is that of PyPI's nvidia-cuda-nvcc, nvidia-nvvm, nvidia-cuda-crt, nvidia-cuda-runtime and
nvidia-cuda-cccl. Metal has no compiler outside macOS: for it clang looks at syntax, types and address spaces only, against
`metal/`, which stands in for Apple's headers; `[[threadgroup(0)]]` is taken out first, as `threadgroup` is a macro there.
"""

import argparse
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
FILE = HERE / "compiled.tsv"
HEAD = "target\tscenario\tmachine\tarch\tcompiler\toutcome\tregisters\tspilled\n"
ARCH = {"mi250x": "gfx90a", "mi300x": "gfx942", "mi355x": "gfx950", "b200": "sm_100a", "m4-max": "apple9", "m4-max-32": "apple9"}


def run(*words):
    done = subprocess.run([w for part in words for w in (shlex.split(part) if isinstance(part, str) else part)],
                          capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def version(compiler):
    out = run(compiler, "--version")[1]
    return re.search(r"release [\d.]+, V[\d.]+|clang version [\d.]+", out)[0].replace("release ", "nvcc ").split(", V")[0]


def scenarios(machines):
    """The built-in scenarios whose machine is one of these."""
    root = HERE.parent.parent / "scenarios"
    for path in sorted(p for p in root.glob("*/**/*.toml") if "tests" not in p.parts):
        machine = tomllib.loads(path.read_text()).get("machine")
        if machine in machines:
            yield str(path.relative_to(root).with_suffix("")), machine


def taken(args, source, arch):
    """What clang has against a HIP file, and its device's assembly."""
    common = ["-x", "hip", f"--offload-arch={arch}", "-nogpulib", "-nogpuinc", "-fdeclspec", f"-I{HERE}", f"-isystem{args.include}",
              "-O3", "-std=c++17", "-Wall", "-Wno-unused", "-Wno-unused-command-line-argument", "-Werror"]
    text = source.with_suffix(".s")
    assemble = ["-x", "assembler", "-target", "amdgcn-amd-amdhsa", f"-mcpu={arch}", "-c", "-o", f"{text}.o", str(text)]
    for words in ([*common, "--cuda-device-only", "-S", "-o", str(text), str(source)], assemble,
                  [*common, "--cuda-host-only", "-fsyntax-only", str(source)]):
        code, _, err = run(args.clang, words)
        if code:
            return err, ""
    return "", text.read_text()


def hip(args, source, arch):
    error, found = taken(args, source, arch)
    if error:
        return error, "", ""
    number = lambda key: re.search(rf"_Z6kernel\S*\.{key}, (\d+)", found)[1]
    spilled = re.search(r"\.name:\s+_Z6kernel.*?\.vgpr_spill_count: (\d+)", found, re.S)[1]
    return "", str(int(number("num_vgpr")) + int(number("num_agpr"))), spilled


def metal(args, source, _):
    source.write_text(source.read_text().replace(" [[threadgroup(0)]]", ""))
    code, _, err = run(args.clang, ["-x", "c++", "-std=c++17", "-fsyntax-only", "-Wall", "-Werror", "-Wno-unused", "-Wno-unknown-attributes",
                                    "-nostdinc++", f"-I{HERE}/metal", str(source)])
    return err if code else "", "", ""


def probes(args, source):
    """The probes of calibrate for the target: rows without registers."""
    folder = HERE.parent.parent / "calibrate" / "probes"
    if args.target == "hip":
        source.write_text((folder / "cdna.hip").read_text())
        return [(f"probes/cdna.hip@{arch}", arch, taken(args, source, arch)[0]) for arch in ["gfx90a", "gfx942", "gfx950"]]
    if args.target == "metal":
        source.write_text((folder / "apple.metal").read_text())
        return [("probes/apple.metal@apple9", "apple9", metal(args, source, "")[0])]
    return []


def sm100a(args, source, arch):
    """As it is run, which the numbers are of; with everything that is recorded; and for sm_90a, which emulates."""
    told = ""
    for target, flags in [(arch, ["-Xptxas=-v"]), (arch, ["-DWL_WATCH", "-DWL_DELAY", "-DWL_STAMP"]),
                          ("sm_90a", ["-DWL_EMULATE", "-DWL_WATCH", "-DWL_DELAY"])]:
        code, _, err = run(args.nvcc, ["-O3", "-std=c++17", "-gencode", f"arch=compute_{target[3:]},code={target}", "-cubin",
                                       *flags, "-o", str(source) + ".cubin", str(source)])
        if code:
            return err, "", ""
        told = told or err[err.index("_Z6kernel"):]
    return "", re.search(r"Used (\d+) registers", told)[1], re.search(r"(\d+) bytes spill stores", told)[1]


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("target", choices=["hip", "metal", "sm100a"])
    parse.add_argument("--warpline", required=True)
    parse.add_argument("--nvcc", default="nvcc")
    parse.add_argument("--only", default="", help="scenarios whose names begin so")
    parse.add_argument("--write", action="store_true")
    args = parse.parse_args()
    language = {"hip": "hip", "metal": "metal", "sm100a": "cuda"}[args.target]
    machines = {"hip": ["mi250x", "mi300x", "mi355x"], "metal": ["m4-max", "m4-max-32"], "sm100a": ["b200"]}[args.target]
    if args.target != "sm100a":
        import ziglang
        folder = pathlib.Path(ziglang.__file__).parent
        args.clang, args.include = [str(folder / "zig"), "clang"], str(folder / "lib" / "include")
    compiler = version(args.nvcc if args.target == "sm100a" else args.clang)
    rows, bad = [], 0
    done = "parsed" if args.target == "metal" else "compiled"
    with tempfile.TemporaryDirectory() as folder:
        found = probes(args, pathlib.Path(folder) / f"x.{language}") if "probes".startswith(args.only) else []
        for name, arch, error in found:
            bad += bool(error)
            if error:
                print(f"{name}:\n{error[:3000]}", file=sys.stderr)
            rows.append([args.target, name, "", arch, compiler, "error" if error else done, "", ""])
            print(*rows[-1], sep="\t", flush=True)
        for name, machine in scenarios(machines):
            if not name.startswith(args.only):
                continue
            source = pathlib.Path(folder) / ("x." + {"cuda": "cu"}.get(language, language))
            code, _, err = run([args.warpline, "emit", name, "--target", language, "-o", str(source)])
            if code:
                rows.append([args.target, name, machine, ARCH[machine], "", "refused", "", ""])
                continue
            error, registers, spilled = globals()[args.target](args, source, ARCH[machine])
            if error:
                bad += 1
                print(f"{name}:\n{error[:3000]}", file=sys.stderr)
            rows.append([args.target, name, machine, ARCH[machine], compiler, "error" if error else done, registers, spilled])
            print(*rows[-1], sep="\t", flush=True)
    if args.write:
        old = FILE.read_text().splitlines()[1:] if FILE.exists() else []
        kept = [r for r in old if not r.startswith(args.target + "\t")]
        FILE.write_text(HEAD + "".join(f"{r}\n" for r in sorted(kept + ["\t".join(r) for r in rows])))
    return bad > 0


sys.exit(main())
