// Latencies and rates of a CDNA compute unit and of what lies behind it.
// Its authors have no AMD device: a compiler took this, and nothing of it was ever run by them.
// Build: hipcc -O3 -std=c++17 --offload-arch=gfx942 cdna.hip -o cdna        gfx90a and gfx950 likewise
// Run:   ./cdna > cdna.csv            rows: probe,parameter,unit,median,low,high,repeats
//
// Cycles are those of s_memtime, a 64-bit counter of the core's clock (CDNA3 ISA, S_MEMTIME). It brings its time some tens of
// cycles after it was issued, so every loop is long. s_memrealtime counts a constant clock of 100 MHz: not used here.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

#define CHECK(x)                                                                             \
    do {                                                                                     \
        hipError_t e = (x);                                                                  \
        if (e != hipSuccess) {                                                               \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, hipGetErrorString(e));        \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

constexpr int REPEATS = 21, LOOP = 256, HOPS = 2048;
typedef uint32_t word4 __attribute__((ext_vector_type(4)));
typedef float float4x __attribute__((ext_vector_type(4)));
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));

static uint64_t* d_out;

static void print(const char* probe, double parameter, const char* unit, std::vector<double> v) {
    std::sort(v.begin(), v.end());
    printf("%s,%.0f,%s,%.3f,%.3f,%.3f,%d\n", probe, parameter, unit, v[v.size() / 2], v.front(), v.back(), (int)v.size());
    fflush(stdout);
}
// Cycles that a launch notes, in the middle of `cells` workgroups, times `scale`; a negative one divides: bytes over cycles.
static void row(const char* probe, double parameter, const char* unit, double scale, const std::function<void()>& go, int cells = 1) {
    std::vector<double> v;
    std::vector<uint64_t> h(cells);
    for (int i = 0; i <= REPEATS; i++) {
        go();
        CHECK(hipGetLastError());
        CHECK(hipDeviceSynchronize());
        CHECK(hipMemcpy(h.data(), d_out, cells * sizeof(uint64_t), hipMemcpyDeviceToHost));
        std::nth_element(h.begin(), h.begin() + cells / 2, h.end());
        double cycles = (double)h[cells / 2];
        if (i) v.push_back(scale < 0 ? -scale / cycles : cycles * scale);  // the first launch is a warm-up
    }
    print(probe, parameter, unit, v);
}

__device__ __forceinline__ uint64_t now() {
    asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)" ::: "memory");
    return __builtin_amdgcn_s_memtime();
}
__device__ __forceinline__ void note(uint64_t* out, uint64_t t) {
    t = now() - t;
    if (threadIdx.x == 0) out[blockIdx.x] = t;
}
__device__ __forceinline__ uint32_t lds(const void* p) {
    return (uint32_t)(size_t)(__attribute__((address_space(3))) const unsigned char*)p;
}

// ---- barriers -------------------------------------------------------------------------------------------------------

__global__ void k_barrier(uint64_t* out) {
    asm volatile("s_barrier");
    uint64_t t = now();
#pragma unroll 16
    for (int i = 0; i < LOOP; i++) asm volatile("s_barrier");
    note(out, t);
}

// ---- LDS ------------------------------------------------------------------------------------------------------------

// Each lane goes round and round at its own place, whose first word is that place.
template <int BYTES>
__global__ void k_lds_chase(uint64_t* out) {
    __shared__ uint32_t words[1024];
    uint32_t at = lds(words) + threadIdx.x * BYTES;
    words[threadIdx.x * BYTES / 4] = at;
    __syncthreads();
    word4 v = {at, 0, 0, 0};
    uint64_t t = now();
#pragma unroll 16
    for (int i = 0; i < HOPS; i++) {
        if (BYTES == 16) asm volatile("ds_read_b128 %0, %1\n s_waitcnt lgkmcnt(0)" : "=&v"(v) : "v"(at));
        else asm volatile("ds_read_b32 %0, %1\n s_waitcnt lgkmcnt(0)" : "=&v"(v.x) : "v"(at));
        at = v.x;
    }
    note(out, t);
    if (at == ~0u) out[0] = 0;
}
// Reads or writes of 16 bytes a lane, one behind the other; waves have places of their own.
template <bool WRITE>
__global__ void k_lds_rate(uint64_t* out) {
    __shared__ word4 words[1024];
    words[threadIdx.x] = word4{0, 0, 0, 0};
    uint32_t at = lds(words + threadIdx.x);
    word4 v = {at, 1, 2, 3};
    __syncthreads();
    uint64_t t = now();
#pragma unroll 16
    for (int i = 0; i < LOOP; i++) {
        if (WRITE) asm volatile("ds_write_b128 %0, %1" ::"v"(at), "v"(v) : "memory");
        else asm volatile("ds_read_b128 %0, %1" : "=v"(v) : "v"(at));
    }
    note(out, t);
}

// ---- global memory --------------------------------------------------------------------------------------------------

// A chain of loads; every line of 128 bytes holds the offset of the next. `at` goes on where the launch before ended.
__device__ uint32_t chased;
__global__ void k_chase(uint64_t* out, const uint32_t* next, int warm) {
    uint32_t at = chased;
    for (int i = 0; i < warm; i++) asm volatile("global_load_dword %0, %0, %1\n s_waitcnt vmcnt(0)" : "+v"(at) : "s"(next));
    uint64_t t = now();
#pragma unroll 16
    for (int i = 0; i < HOPS; i++) asm volatile("global_load_dword %0, %0, %1\n s_waitcnt vmcnt(0)" : "+v"(at) : "s"(next));
    note(out, t);
    chased = at;
}
// 16 bytes a lane from lines that are in the first-level cache, one load behind the other.
__global__ void k_load_issue(uint64_t* out, const word4* src) {
    word4 v;
    const uint32_t at = threadIdx.x * 16;
    for (int i = 0; i < 2; i++) asm volatile("global_load_dwordx4 %0, %1, %2\n s_waitcnt vmcnt(0)" : "=v"(v) : "v"(at), "s"(src));
    uint64_t t = now();
#pragma unroll 16
    for (int i = 0; i < LOOP; i++) asm volatile("global_load_dwordx4 %0, %1, %2" : "=v"(v) : "v"(at), "s"(src));
    note(out, t);
}
// Every compute unit reads `n` pieces of 16 bytes, all the same ones, twice: the second time is counted.
__global__ void k_l2_rate(uint64_t* out, const word4* src, size_t n) {
    uint32_t sum = 0;
    uint64_t t = 0;
    for (int pass = 0; pass < 2; pass++) {
        __syncthreads();
        if (pass) t = now();
        for (size_t i = threadIdx.x; i + 3 * blockDim.x < n; i += 4 * blockDim.x) {
            word4 v[4];
#pragma unroll
            for (int j = 0; j < 4; j++) v[j] = src[i + j * blockDim.x];
#pragma unroll
            for (int j = 0; j < 4; j++) sum ^= v[j].x ^ v[j].y ^ v[j].z ^ v[j].w;
        }
    }
    if (sum == 0x12345678) out[gridDim.x] = sum;
    __syncthreads();
    note(out, t);
}
// All compute units read `n` pieces of 16 bytes once.
__global__ void k_stream(uint64_t* out, const word4* src, size_t n) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    uint32_t sum = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i + 3 * stride < n; i += 4 * stride) {
        word4 v[4];
#pragma unroll
        for (int j = 0; j < 4; j++) v[j] = src[i + j * stride];
#pragma unroll
        for (int j = 0; j < 4; j++) sum ^= v[j].x ^ v[j].y ^ v[j].z ^ v[j].w;
    }
    if (sum == 0x12345678) out[0] = sum;
}

// ---- products -------------------------------------------------------------------------------------------------------

// Products of 16 x 16 from operands of f16, K deep.
template <int K>
struct Mfma {
    typedef half4 operand;
    static __device__ float4x go(half4 a, half4 b, float4x c) { return __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0); }
};
template <>
struct Mfma<32> {
    typedef half8 operand;
    static __device__ float4x go(half8 a, half8 b, float4x c) {
#if defined(__gfx950__)
        return __builtin_amdgcn_mfma_f32_16x16x32_f16(a, b, c, 0, 0, 0);
#else
        return c;  // not launched elsewhere
#endif
    }
};
// Each takes what the one before gave as its left operand.
template <int K>
__global__ void k_mfma_chain(uint64_t* out) {
    typename Mfma<K>::operand a{};
    float4x d{};
    uint64_t t = now();
#pragma unroll 16
    for (int i = 0; i < LOOP; i++) {
        d = Mfma<K>::go(a, {}, float4x{});
        __builtin_memcpy(&a, &d, sizeof a);
    }
    note(out, t);
    asm volatile("" ::"v"(d));  // so that somebody wants it
}
// Four sums that take turns.
template <int K>
__global__ void k_mfma(uint64_t* out) {
    float4x d[4] = {};
    uint64_t t = now();
#pragma unroll 4
    for (int i = 0; i < LOOP; i++)
#pragma unroll
        for (int c = 0; c < 4; c++) d[c] = Mfma<K>::go({}, {}, d[c]);
    note(out, t);
    for (float4x r : d) asm volatile("" ::"v"(r));
}

// ---- the vector unit ------------------------------------------------------------------------------------------------

enum { FMA, EXP, ADD };
template <int WHAT>
__global__ void k_valu(uint64_t* out) {
    float v[8];
    for (int c = 0; c < 8; c++) v[c] = threadIdx.x;
    uint64_t t = now();
#pragma unroll 4
    for (int i = 0; i < LOOP; i++)
#pragma unroll
        for (int c = 0; c < 8; c++) {
            if (WHAT == FMA) asm volatile("v_fma_f32 %0, %0, %0, %0" : "+v"(v[c]));
            else if (WHAT == EXP) asm volatile("v_exp_f32 %0, %0" : "+v"(v[c]));
            else asm volatile("v_add_u32 %0, %0, %0" : "+v"(v[c]));
        }
    note(out, t);
}

__global__ void k_empty() {}

int main() {
    int units = 0;
    CHECK(hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, 0));
    char name[256];
    CHECK(hipDeviceGetName(name, 255, 0));
    printf("# device: %s, %d CUs, cycles are s_memtime's\nprobe,parameter,unit,median,low,high,repeats\n", name, units);
    const size_t big = 4294967296;
    uint32_t* buf;
    CHECK(hipMalloc(&d_out, 4096 * sizeof(uint64_t)));
    CHECK(hipMalloc(&buf, big));
    CHECK(hipMemset(buf, 0, big));
    const double each = 1.0 / LOOP;
    for (int w : {2, 4, 8, 16}) row("s_barrier", w, "cycles", each, [=] { k_barrier<<<1, 64 * w>>>(d_out); });
    row("lds.latency", 4, "cycles", 1.0 / HOPS, [=] { k_lds_chase<4><<<1, 64>>>(d_out); });
    row("lds.latency", 16, "cycles", 1.0 / HOPS, [=] { k_lds_chase<16><<<1, 64>>>(d_out); });
    row("ds_read_b128.issue", 1, "cycles", each, [=] { k_lds_rate<false><<<1, 64>>>(d_out); });
    row("ds_write_b128.issue", 1, "cycles", each, [=] { k_lds_rate<true><<<1, 64>>>(d_out); });
    row("lds.read", 16, "bytes/cycle", -1024.0 * 16 * LOOP, [=] { k_lds_rate<false><<<1, 1024>>>(d_out); });
    row("lds.write", 16, "bytes/cycle", -1024.0 * 16 * LOOP, [=] { k_lds_rate<true><<<1, 1024>>>(d_out); });
    // One round through lines of 128 bytes in random order: sets of 8 KB (L1), 1 MB (L2), 64 MB (Infinity Cache), 2 GB.
    std::mt19937 random(7);
    for (size_t kb : {8u, 1024u, 65536u, 2097152u}) {
        const size_t lines = kb * 1024 / 128;
        std::vector<uint32_t> order(lines), next(lines * 32, 0);
        for (size_t i = 0; i < lines; i++) order[i] = (uint32_t)i;
        std::shuffle(order.begin() + 1, order.end(), random);
        for (size_t i = 0; i < lines; i++) next[(size_t)order[i] * 32] = order[(i + 1) % lines] * 128;
        CHECK(hipMemcpy(buf, next.data(), next.size() * 4, hipMemcpyHostToDevice));
        // What a cache holds is walked through first.
        const int warm = kb <= 65536 ? (int)lines : 0;
        const uint32_t start = 0;
        CHECK(hipMemcpyToSymbol(HIP_SYMBOL(chased), &start, 4));
        row("global.latency", kb, "cycles", 1.0 / HOPS, [=] { k_chase<<<1, 1>>>(d_out, buf, warm); });
    }
    row("global_load_dwordx4.issue", 1, "cycles", each, [=] { k_load_issue<<<1, 64>>>(d_out, (word4*)buf); });
    const size_t mb = ((size_t)1 << 20) / 16;
    row("l2.read", 1024, "bytes/cycle/CU", -1048576.0, [=] { k_l2_rate<<<units, 1024>>>(d_out, (word4*)buf, mb); }, units);
    hipEvent_t e0, e1;
    CHECK(hipEventCreate(&e0));
    CHECK(hipEventCreate(&e1));
    auto timed = [&](int launches, const std::function<void()>& go) {  // microseconds of a launch, REPEATS times
        std::vector<double> v;
        for (int i = 0; i <= REPEATS; i++) {
            float ms;
            CHECK(hipEventRecord(e0, nullptr));
            for (int j = 0; j < launches; j++) go();
            CHECK(hipEventRecord(e1, nullptr));
            CHECK(hipEventSynchronize(e1));
            CHECK(hipEventElapsedTime(&ms, e0, e1));
            if (i) v.push_back(ms * 1000 / launches);
        }
        return v;
    };
    std::vector<double> gbps = timed(1, [=] { k_stream<<<4 * units, 512>>>(d_out, (word4*)buf, big / 16); });
    for (double& v : gbps) v = (double)big / v / 1000;
    print("dram.read", (double)big, "GB/s", gbps);
    print("launch.empty", 1, "us", timed(20, [] { k_empty<<<1, 64>>>(); }));
    row("mfma.f16.latency", 16, "cycles", each, [=] { k_mfma_chain<16><<<1, 64>>>(d_out); });
    row("mfma.f16.interval", 16, "cycles", each / 4, [=] { k_mfma<16><<<1, 64>>>(d_out); });
    int minor = 0;
    CHECK(hipDeviceGetAttribute(&minor, hipDeviceAttributeComputeCapabilityMinor, 0));
    if (minor == 5) {  // gfx950
        row("mfma.f16.latency", 32, "cycles", each, [=] { k_mfma_chain<32><<<1, 64>>>(d_out); });
        row("mfma.f16.interval", 32, "cycles", each / 4, [=] { k_mfma<32><<<1, 64>>>(d_out); });
    }
    const double lanes = -1024.0 * 8 * LOOP;
    row("v_fma_f32.rate", 16, "lane-ops/cycle", lanes, [=] { k_valu<FMA><<<1, 1024>>>(d_out); });
    row("v_exp_f32.rate", 16, "lane-ops/cycle", lanes, [=] { k_valu<EXP><<<1, 1024>>>(d_out); });
    row("v_add_u32.rate", 16, "lane-ops/cycle", lanes, [=] { k_valu<ADD><<<1, 1024>>>(d_out); });
    return 0;
}
