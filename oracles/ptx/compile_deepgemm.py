"""Compiles kernels of DeepGEMM with nvcc. No GPU is needed.

    python3 -m venv n && n/bin/pip install nvidia-cuda-nvcc==13.5.37 nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl
    n/bin/pip install --no-deps --target d sgl-deep-gemm==0.2.5
    python3 oracles/ptx/compile_deepgemm.py FOLDER --include d/deep_gemm/include --nvcc n/lib/python3.11/site-packages/nvidia/cu13/bin/nvcc

DeepGEMM chooses a kernel's template parameters at run time. Those below are in the order of the templates, with tiles and
threads of DeepGEMM's own choices for large products. The stages are ours. Six kernels have one more than fits into shared
memory, and `verify` refuses them: bf16 `s8`, masked `s7`, contiguous `s5` and `mc2_s6`, fp8 `1d1d_mc2_s5`, fp4 `s6`.
"""

import pathlib
import re
import tempfile

import compiling

BF16, FP8, FP4 = "cutlass::bfloat16_t", "cutlass::float_e4m3_t", "cutlass::detail::float_e2m1_unpacksmem_t"
K_MAJOR, MN_MAJOR = "cute::UMMA::Major::K", "cute::UMMA::Major::MN"
NORMAL, CONTIGUOUS, MASKED, K_GROUPED, BATCHED, PSUM = (f"GemmType::{name}" for name in (
    "Normal", "MGroupedContiguous", "MGroupedMasked", "KGroupedContiguous", "Batched", "MGroupedContiguousWithPsumLayout"))
IDENTITY = "epilogue::operators::Identity"


def math(tile):
    """Threads of the warpgroups that multiply."""
    return 256 if tile[0] > 64 else 128


def sm90_bf16(groups, tile, swizzle_d, stages, multicast, kind, accumulate, d):
    return ("sm90_bf16_gemm", "sm90_bf16_gemm_impl",
            [K_MAJOR, K_MAJOR, 0, 4096, 4096, groups, *tile, 128, 128, swizzle_d, stages, 128, math(tile), multicast, "false", 132,
             kind, accumulate, d])


def sm90_1d1d(groups, tile, stages, multicast, kind):
    return ("sm90_fp8_gemm_1d1d", "sm90_fp8_gemm_1d1d_impl",
            [0, 4096, 4096, groups, *tile, 128, 128, stages, 128, math(tile), multicast, "false", 132, kind, "float"])


def sm90_1d2d(groups, tile, stages, multicast, on_a, kind):
    return ("sm90_fp8_gemm_1d2d", "sm90_fp8_gemm_1d2d_impl",
            [K_MAJOR, 0, 4096, 7168, groups, *tile, 128, 128, 128 if tile[1] % 64 == 0 else 32, stages, 128, math(tile), multicast,
             on_a, 132, kind, BF16])


def sm100_bf16(groups, tile, stages, multicast, swap, kind, accumulate, d):
    return ("sm100_bf16_gemm", "sm100_bf16_gemm_impl",
            [K_MAJOR, K_MAJOR, 0, 4096, 4096, *tile, groups, 128, 128, 128, stages, 128, 128, multicast, "false", 148, 128, swap,
             "false", kind, accumulate, d, IDENTITY, 100])


def sm100_fp8(groups, tile, stages, multicast, swap, kind, a, b, d):
    return ("sm100_fp8_fp4_gemm_1d1d", "sm100_fp8_fp4_gemm_1d1d_impl",
            [K_MAJOR, K_MAJOR, 128, 128 if b == FP8 else 32, 128, 0, 4096, 7168, *tile, groups, 128, 128, 128, stages, 2, 128, 128,
             multicast, "false", 148, swap, "false", kind, "false", a, b, d, IDENTITY])


KERNELS = {
    "sm90_bf16_gemm_s4": sm90_bf16(1, (128, 128, 64), 128, 4, 1, NORMAL, "false", BF16),
    "sm90_bf16_gemm_mc2_s6": sm90_bf16(1, (128, 160, 64), 64, 6, 2, NORMAL, "false", BF16),
    "sm90_bf16_gemm_masked_s8": sm90_bf16(8, (64, 128, 64), 128, 8, 1, MASKED, "false", BF16),
    "sm90_bf16_gemm_contiguous_s5": sm90_bf16(8, (128, 192, 64), 128, 5, 1, CONTIGUOUS, "false", BF16),
    "sm90_fp8_gemm_1d1d_mc2_s5": sm90_1d1d(1, (128, 128, 128), 5, 2, NORMAL),
    "sm90_fp8_gemm_1d1d_64_s6": sm90_1d1d(1, (64, 128, 128), 6, 1, NORMAL),
    "sm90_fp8_gemm_1d2d_s5": sm90_1d2d(1, (128, 128, 128), 5, 1, "false", NORMAL),
    "sm90_fp8_gemm_1d2d_mc2_s5": sm90_1d2d(1, (128, 160, 128), 5, 2, "true", NORMAL),
    "sm90_fp8_gemm_1d2d_masked_s8": sm90_1d2d(8, (64, 128, 128), 8, 1, "false", MASKED),
    "sm90_fp8_gemm_1d2d_contiguous_s5": sm90_1d2d(8, (128, 128, 128), 5, 2, "false", CONTIGUOUS),
    "sm90_bmn_bnk_mn_s4": ("sm90_bmk_bnk_mn", "sm90_bmn_bnk_mn_gemm_impl", [128, 128, 4096, 128, 128, 64, 1, 4, 128, 256]),
    "sm90_fp8_mqa_logits": ("sm90_fp8_mqa_logits", "sm90_fp8_mqa_logits", [64, 128, 4, 256, 3, 3, 132, 128, 512, "float"]),
    "sm90_fp8_paged_mqa_logits": ("sm90_fp8_paged_mqa_logits", "sm90_fp8_paged_mqa_logits",
                                  [1, 64, 128, 64, "false", "false", 3, 3, 256, 128, 512, "float"]),
    "sm90_tf32_hc_prenorm_gemm": ("sm90_tf32_hc_prenorm_gemm", "sm90_tf32_hc_prenorm_gemm_impl",
                                  [24, 7168, 64, 32, 64, 1, 128, 12, 128, 128]),
    "sm100_bf16_gemm_s8": sm100_bf16(1, (128, 128, 64), 8, 1, "false", NORMAL, "false", BF16),
    "sm100_bf16_gemm_mc2_192_s5": sm100_bf16(1, (128, 192, 64), 5, 2, "false", NORMAL, "false", BF16),
    "sm100_bf16_gemm_swap_s7": sm100_bf16(1, (64, 128, 64), 7, 1, "true", NORMAL, "false", BF16),
    "sm100_bf16_gemm_accumulate_s6": sm100_bf16(1, (128, 128, 64), 6, 1, "false", NORMAL, "true", "float"),
    "sm100_bf16_gemm_masked_s7": sm100_bf16(8, (128, 128, 64), 7, 1, "false", MASKED, "false", BF16),
    "sm100_fp8_gemm_mc2_s5": sm100_fp8(1, (128, 128, 128), 5, 2, "false", NORMAL, FP8, FP8, BF16),
    "sm100_fp8_gemm_192_s4": sm100_fp8(1, (128, 192, 128), 4, 1, "false", NORMAL, FP8, FP8, BF16),
    "sm100_fp8_gemm_swap_s7": sm100_fp8(1, (64, 128, 128), 7, 1, "true", NORMAL, FP8, FP8, BF16),
    "sm100_fp8_gemm_psum_s5": sm100_fp8(8, (128, 128, 128), 5, 2, "false", PSUM, FP8, FP8, BF16),
    "sm100_fp8_fp4_gemm_s6": sm100_fp8(1, (128, 128, 128), 6, 1, "false", NORMAL, FP8, FP4, BF16),
    "sm100_bmn_bnk_mn_s6": ("sm100_bmk_bnk_mn", "sm100_bmn_bnk_mn_gemm_impl", [128, 128, 4096, 128, 128, 64, 1, 128, 128, 6, 256]),
    "sm100_tf32_hc_prenorm_gemm": ("sm100_tf32_hc_prenorm_gemm", "sm100_tf32_hc_prenorm_gemm_impl",
                                   [24, 7168, 64, 32, 64, 1, 128, 12, 128, 128]),
}


def main():
    args = compiling.arguments(__doc__, include={"type": pathlib.Path, "required": True}, nvcc={"default": "nvcc"})
    for name, (header, function, parameters) in KERNELS.items():
        if not re.search(args.only, name):
            continue
        if args.list:
            print(name, function, *parameters)
            continue
        source = (f"#include <deep_gemm/impls/{header}.cuh>\nusing namespace deep_gemm;\n"
                  f"static void instantiate() {{ auto p = reinterpret_cast<void*>(\n"
                  f"    &{function}<{', '.join(map(str, parameters))}>); (void)p; }}\n")
        with tempfile.TemporaryDirectory() as temporary:
            path = pathlib.Path(temporary) / f"{name}.cu"
            path.write_text(source)
            arch = "sm_100a" if name.startswith("sm100") else "sm_90a"
            flags = ["-std=c++20", "-w", "--expt-relaxed-constexpr", "--expt-extended-lambda", f"-I{args.include}"]
            text = compiling.nvcc(args.nvcc, path, arch, flags, args.limit)
        if text:
            compiling.write_spread(args.folder, "deepgemm", name, text, f"deep_gemm/impls/{header}.cuh {function}", arch, 1)


main()
