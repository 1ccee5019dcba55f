"""Compiles kernels of FlashInfer with nvcc. No GPU is needed.

    python3 -m venv n && n/bin/pip install nvidia-cuda-nvcc==13.5.37 nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl \\
        nvidia-curand nvidia-cublas
    python3 -m venv v && v/bin/pip install torch apache-tvm-ffi tqdm requests einops click tabulate filelock packaging ninja \\
        nvidia-ml-py numpy && v/bin/pip install --no-deps flashinfer-python==0.7.4
    v/bin/python oracles/ptx/compile_flashinfer.py FOLDER --cuda n/lib/python3.11/site-packages/nvidia/cu13

Two versions of CUDA's headers would meet in one environment: that is why there are two.

Two lists of sources, each with a rule that does not ask what warpline says of a kernel:
  modules  what `flashinfer.aot` compiles ahead of time for sm_80, sm_90a and sm_100a. Modules that differ only in parameters are
           one family. A family is compiled for the first of these architectures that has it. Of each family the middle module is
           taken, of large ones two or three at equal distances, and of each module its middle source, or one of the next two if that
           has no kernel that synchronizes or takes too long. Modules whose sources are downloaded are left out.
  folders  sources of `csrc` that stand alone, with a kernel and without host code. The middle file of each folder is taken,
           of large folders two or three at equal distances.
Of each source at most two kernels are taken, at equal distances among those that synchronize.
"""

import os
import pathlib
import re
import sys
import types

import compiling

ARCHES = {"8.0": "sm_80", "9.0a": "sm_90a", "10.0a": "sm_100a"}
# Parameters begin here in the name of a module.
PARAMETERS = re.compile(r"_(dtype|input|s|c|C|hs|r)_?(\d|f16|bf16|f32|i16|q_|kv_).*?(?=(_sm\d+)?$)|_h\d{3}.*|_[0-9a-f]{8,}.*|"
                        r"_(float16|bfloat16|bf16|f16)\b.*|_tp\d.*")
# Families of which oracles/ptx has a kernel.
RECORDED = ("alphamoe_nvfp4_sm100", "blackwell_softmax")
# Sources of host code.
HOST = re.compile(r"binding|wrapper|_plan|launcher|runner|_config|logging|instantiation|cublas")


def modules(arch):
    """Modules that FlashInfer compiles ahead of time for an architecture."""
    os.environ["FLASHINFER_CUDA_ARCH_LIST"] = arch
    from flashinfer import aot
    from flashinfer.jit import core
    core.refresh_current_compilation_context()
    left_out = types.SimpleNamespace(name="left out")

    def or_left_out(generate):
        def inner(*args, **kwargs):
            try:
                made = generate(*args, **kwargs)
                return list(made) if isinstance(made, types.GeneratorType) else made
            except Exception as why:
                print("left out", generate.__name__, why, file=sys.stderr)
                return left_out
        return inner

    def nothing(*_args, **_kwargs):
        raise ValueError("its sources are downloaded")

    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("flashinfer"):
            for name in ("get_artifact", "download_file"):
                if hasattr(module, name):
                    setattr(module, name, nothing)
    for name, value in list(vars(aot).items()):
        if name.startswith("gen_") and name.endswith("_module") and not hasattr(value, "wrapped"):
            wrapper = or_left_out(value)
            wrapper.wrapped = True
            setattr(aot, name, wrapper)
    config = {name if name.startswith("add_") else f"{name}_": value for name, value in aot.get_default_config().items()}
    made = aot.gen_all_modules(sm_capabilities=aot.detect_sm_capabilities(), **config)
    return [m for m in made if isinstance(m, core.JitSpecNvcc)]


def sources(module):
    return [s for s in module.sources if s.suffix == ".cu" and not HOST.search(s.name)]


def of_modules():
    """(name, sources, architecture, flags, origin) of the chosen modules."""
    families = {}
    for version, arch in ARCHES.items():
        found = {}
        for module in modules(version):
            family = (PARAMETERS.sub("", module.name), tuple(s.name for s in sources(module) if "_kernel" not in s.name))
            if sources(module) and "sm12" not in module.name and module.name not in RECORDED:
                found.setdefault(family, []).append(module)
        for family, members in found.items():
            families.setdefault(family, (arch, members))
    for (family, _), (arch, members) in sorted(families.items(), key=lambda item: item[0]):
        for module in compiling.spread(members, 1 + min(2, len(members) // 30)):
            middle = len(sources(module)) // 2
            flags = [f for f in module.extra_cuda_cflags if "gencode" not in f and "compress" not in f]
            flags += [f"-I{d}" for d in module.extra_include_dirs or []]
            name = family if module.name == family else f"{family}_{compiling.short(module.name)}"
            ordered = sources(module)[middle:] + sources(module)[:middle]
            yield name, ordered, arch, flags, module.name


def of_folders(csrc):
    """(name, sources, architecture, flags, origin) of the chosen sources that stand alone."""
    folders = {}
    for path in sorted(csrc.rglob("*.cu")):
        name = str(path.relative_to(csrc).with_suffix(""))
        if HOST.search(name) or re.search(r"sm_?1(03|07|1|2)", name) or path.parent == csrc:
            continue
        text = path.read_text(errors="replace")
        if "tvm/ffi" in text or "tvm_ffi" in text or "__global__" not in text or "sm_120" in text[:3000]:
            continue
        blackwell = "blackwell" in name or re.search(r"tcgen05|e2m1|ue8m0", text)
        arch = "sm_100a" if blackwell else "sm_90a" if re.search(r"wgmma|cp\.async\.bulk|cluster", text) else "sm_80"
        folders.setdefault(path.parent, []).append((path, arch))
    for folder, members in folders.items():
        for path, arch in compiling.spread(members, 1 + min(2, len(members) // 40)):
            name = re.sub(r"_kernel$", "", path.stem)
            name = re.sub(r"_([0-9a-f]{6})[0-9a-f]{6,}", r"_\1", name)
            if not name.startswith("cake") and folder.name not in name:
                name = f"{folder.name}_{name}"
            yield name, [path], arch, ["-std=c++17", "--fmad=false"], str(path.parent.relative_to(csrc))


def main():
    args = compiling.arguments(__doc__, cuda={"type": pathlib.Path, "required": True, "help": "CUDA's folder: bin/nvcc, include"},
                               lists={"default": "modules,folders"})
    os.environ["CUDA_HOME"] = str(args.cuda)
    os.environ.setdefault("FLASHINFER_WORKSPACE_BASE", str(args.folder.resolve() / "generated"))
    os.environ.setdefault("FLASHINFER_LOGGING_LEVEL", "error")
    from flashinfer.jit import env
    import tvm_ffi
    includes = [env.FLASHINFER_INCLUDE_DIR, env.FLASHINFER_CSRC_DIR, *env.CCCL_INCLUDE_DIRS, *env.CUTLASS_INCLUDE_DIRS,
                env.SPDLOG_INCLUDE_DIR, tvm_ffi.libinfo.find_include_path(), tvm_ffi.libinfo.find_dlpack_include_path()]
    common = ["-w", "--expt-relaxed-constexpr", "-DFLASHINFER_ENABLE_FP8_E8M0", "-DFLASHINFER_ENABLE_FP4_E2M1",
              *(f"-I{d}" for d in includes)]
    jobs = list(of_modules()) if "modules" in args.lists else []
    jobs += of_folders(env.FLASHINFER_CSRC_DIR) if "folders" in args.lists else []
    for name, paths, arch, flags, described in jobs:
        if not re.search(args.only, name):
            continue
        if args.list:
            print(name, arch, described)
            continue
        for source in paths[:3]:
            text = compiling.nvcc(str(args.cuda / "bin/nvcc"), source, arch, common + flags, args.limit)
            if text and compiling.write_spread(args.folder, "flashinfer", name, text, f"{described}/{source.name}", arch, 2):
                break
        else:
            print("no kernel that synchronizes", name, flush=True)


main()
