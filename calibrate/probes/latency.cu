// Latency of dependent instructions of one warp, in cycles: chains of 256 instructions, the median of 21 runs.
//
//     nvcc -arch=sm_90a -o latency latency.cu && ./latency
//
// The numbers are `alu.latency` of a machine, and the multiples of it that runs of compiled kernels charge for special
// functions, conversions and shuffles (import/src/lift/timed.rs).
#include <algorithm>
#include <cstdio>
#include <vector>

#define CHAIN(NAME, TYPE, START, STEP)                                                  \
    __global__ void NAME(TYPE *out, long long *cycles, TYPE other) {                    \
        TYPE x = START;                                                                 \
        for (int i = 0; i < 4; i++) { STEP }                                            \
        __syncwarp();                                                                   \
        long long from = clock64();                                                     \
        _Pragma("unroll") for (int i = 0; i < 256; i++) { STEP }                        \
        out[threadIdx.x] = x;                                                           \
        __threadfence_block();                                                          \
        long long to = clock64();                                                       \
        if (threadIdx.x == 0) *cycles = to - from;                                      \
    }

CHAIN(add_f32, float, other, asm volatile("add.f32 %0, %0, %1;" : "+f"(x) : "f"(other));)
CHAIN(fma_f32, float, other, asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(other));)
CHAIN(max_f32, float, other, asm volatile("max.f32 %0, %0, %1;\n\tadd.f32 %0, %0, %1;" : "+f"(x) : "f"(other));)
CHAIN(ex2_f32, float, other, asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));)
CHAIN(rcp_f32, float, other, asm volatile("rcp.approx.ftz.f32 %0, %0;" : "+f"(x));)
CHAIN(add_s32, int, other, asm volatile("add.s32 %0, %0, %1;" : "+r"(x) : "r"(other));)
CHAIN(mad_s32, int, other, asm volatile("mad.lo.s32 %0, %0, %1, %1;" : "+r"(x) : "r"(other));)
CHAIN(xor_b32, int, other, asm volatile("xor.b32 %0, %0, %1;\n\tadd.s32 %0, %0, %1;" : "+r"(x) : "r"(other));)
CHAIN(shfl_b32, int, other, asm volatile("shfl.sync.idx.b32 %0, %0, %0, 31, -1;" : "+r"(x));)
CHAIN(cvt_f32_s32, int, other,
      asm volatile("{.reg .f32 f;\n\tcvt.rn.f32.s32 f, %0;\n\tmov.b32 %0, f;}" : "+r"(x));)
CHAIN(cvt_bf16x2, int, other,
      asm volatile("{.reg .f32 f;\n\tmov.b32 f, %0;\n\tcvt.rn.bf16x2.f32 %0, f, f;}" : "+r"(x));)

template <typename T> void run(const char *name, void (*kernel)(T *, long long *, T), T other) {
    T *out;
    long long *cycles;
    cudaMalloc(&out, 32 * sizeof(T));
    cudaMallocManaged(&cycles, sizeof(long long));
    std::vector<double> all;
    for (int i = 0; i < 21; i++) {
        kernel<<<1, 32>>>(out, cycles, other);
        cudaDeviceSynchronize();
        all.push_back(*cycles / 256.0);
    }
    std::sort(all.begin(), all.end());
    printf("latency.%s,1,cycles,%.3f,%.3f,%.3f,21\n", name, all[10], all[0], all[20]);
}

int main() {
    cudaDeviceProp p;
    cudaGetDeviceProperties(&p, 0);
    printf("# device: %s, %d SMs\nprobe,parameter,unit,median,low,high,repeats\n", p.name, p.multiProcessorCount);
    run<float>("add.f32", add_f32, 1.5f);
    run<float>("fma.f32", fma_f32, 0.5f);
    run<float>("max+add.f32", max_f32, 0.5f);
    run<float>("ex2.f32", ex2_f32, 0.5f);
    run<float>("rcp.f32", rcp_f32, 0.5f);
    run<int>("add.s32", add_s32, 3);
    run<int>("mad.s32", mad_s32, 3);
    run<int>("xor+add.b32", xor_b32, 3);
    run<int>("shfl.b32", shfl_b32, 3);
    run<int>("cvt.f32.s32", cvt_f32_s32, 3);
    run<int>("cvt.bf16x2.f32", cvt_bf16x2, 3);
    return cudaGetLastError() != cudaSuccess;
}
