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
// Where a pool of shared memory begins: swizzled boxes lie at multiples of 1024.
__device__ __forceinline__ uint32_t aligned(unsigned char* raw) { return ((uint32_t)__cvta_generic_to_shared(raw) + 1023) & ~1023u; }
// The first of `n` mbarriers of one arrival each; thread 0 initializes them.
__device__ __forceinline__ uint32_t barriers(uint64_t* full, int n) {
    const uint32_t bar = (uint32_t)__cvta_generic_to_shared(full);
    if (threadIdx.x == 0) {
        for (int i = 0; i < n; i++) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar + i * 8) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    return bar;
}
// Arrives, and so many bytes are to come.
__device__ __forceinline__ void expect(uint32_t bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
// A box of the map from this column and row on.
__device__ __forceinline__ void load_box(uint32_t to, const CUtensorMap* map, int col, int row, uint32_t bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(to), "l"(map), "r"(col), "r"(row), "r"(bar) : "memory");
}
// m64nNk16 of two tiles of bf16 in shared memory, K contiguous, rows of 128 bytes, swizzled.
template <int N>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], uint64_t a, uint64_t b);
#define D8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define D32(i) D8(i), D8(i + 8), D8(i + 16), D8(i + 24)
template <>
__device__ __forceinline__ void wgmma<64>(float (&d)[32], uint64_t a, uint64_t b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,"
        "%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;"
        : D32(0)
        : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void wgmma<128>(float (&d)[64], uint64_t a, uint64_t b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,"
        "%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,"
        "%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, %64, %65, 1, 1, 1, 0, 0;"
        : D32(0), D32(32)
        : "l"(a), "l"(b));
}
template <>
__device__ __forceinline__ void wgmma<256>(float (&d)[128], uint64_t a, uint64_t b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
        "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,"
        "%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,"
        "%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,"
        "%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,"
        "%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,"
        "%119,%120,%121,%122,%123,%124,%125,%126,%127}, %128, %129, 1, 1, 1, 0, 0;"
        : D32(0), D32(32), D32(64), D32(96)
        : "l"(a), "l"(b));
}
#undef D32
#undef D8
// Such a tile: where it is, and groups of eight rows 1024 bytes apart.
__device__ __forceinline__ uint64_t descriptor(uint32_t at) {
    return (uint64_t)((at & 0x3ffff) >> 4) | (uint64_t)1 << 16 | (uint64_t)64 << 32 | (uint64_t)1 << 62;
}
// A matrix of bf16, row after row, in boxes of so many rows of 128 bytes, or 64 or 32, swizzled; L2 fetches so much at once.
inline CUtensorMap tensor_map(void* base, uint64_t cols, uint64_t rows, uint32_t box,
                              CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B, uint32_t wide = 128) {
    void* f = nullptr;
    cudaDriverEntryPointQueryResult q;
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault, &q));
    CUtensorMap m;
    cuuint64_t dims[2] = {cols, rows}, strides[1] = {cols * 2};
    cuuint32_t boxes[2] = {wide / 2, box}, steps[2] = {1, 1};
    const CUtensorMapSwizzle swizzle = wide == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : wide == 64 ? CU_TENSOR_MAP_SWIZZLE_64B : CU_TENSOR_MAP_SWIZZLE_32B;
    CUresult r = ((decltype(&cuTensorMapEncodeTiled))f)(&m, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, base, dims, strides, boxes, steps,
                                                        CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
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
