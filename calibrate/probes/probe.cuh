// What the probes have in common: a kernel writes cycles to `d_out`; the first launch is a warm-up, and the median over REPEATS
// launches is printed with the smallest and largest.
#pragma once
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#define CHECK(x)                                                                             \
    do {                                                                                     \
        cudaError_t e = (x);                                                                 \
        if (e != cudaSuccess) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e));       \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

constexpr int REPEATS = 21;
constexpr int LOOP = 256;

// The chip's nanoseconds.
__device__ __forceinline__ unsigned long long now() {
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}
// Until the phase of an mbarrier with this parity is complete.
__device__ __forceinline__ void wait_for(uint32_t bar, uint32_t phase) {
    uint32_t done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(bar), "r"(phase) : "memory");
}
// A matrix of bf16, row after row, in boxes of 64 columns (128 bytes) and so many rows, swizzled.
inline CUtensorMap tensor_map(void* base, uint64_t cols, uint64_t rows, uint32_t box) {
    void* f = nullptr;
    cudaDriverEntryPointQueryResult q;
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault, &q));
    CUtensorMap m;
    cuuint64_t dims[2] = {cols, rows}, strides[1] = {cols * 2};
    cuuint32_t boxes[2] = {64, box}, steps[2] = {1, 1};
    CUresult r = ((decltype(&cuTensorMapEncodeTiled))f)(&m, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, base, dims, strides, boxes, steps,
                                                        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                                        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (r != CUDA_SUCCESS) fprintf(stderr, "cuTensorMapEncodeTiled: %d\n", (int)r), exit(1);
    return m;
}


static long long* d_out;
// Prints `probe,parameter,unit,median,low,high,repeats`. A negative scale divides: bytes over cycles.
static void row(const char* probe, double parameter, const char* unit, double scale, const std::function<void()>& go, int cells = 1) {
    std::vector<double> v;
    std::vector<long long> h(cells);
    for (int i = 0; i <= REPEATS; i++) {
        go();
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(h.data(), d_out, cells * sizeof(long long), cudaMemcpyDeviceToHost));
        std::nth_element(h.begin(), h.begin() + cells / 2, h.end());
        if (i) v.push_back(h[cells / 2]);
    }
    std::sort(v.begin(), v.end());
    auto at = [&](size_t i) { return scale < 0 ? -scale / v[i] : v[i] * scale; };
    double a = at(0), b = at(v.size() - 1);
    printf("%s,%g,%s,%.3f,%.3f,%.3f,%d\n", probe, parameter, unit, at(v.size() / 2), std::min(a, b), std::max(a, b), REPEATS);
    fflush(stdout);
}
// The first line of every file of measurements.
static int head() {
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    int driver = 0;
    CHECK(cudaDriverGetVersion(&driver));
    printf("# device: %s, %d SMs, driver %d, cycles are clock64 of the SM\n", p.name, p.multiProcessorCount, driver);
    printf("probe,parameter,unit,median,low,high,repeats\n");
    CHECK(cudaMalloc(&d_out, 4096 * sizeof(long long)));
    return p.multiProcessorCount;
}
