// What becomes of lines that are written: how much leaves the second-level cache at once, and how much room it takes there. And what
// is found again of more than fits.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a written.cu -o written
// Run:   as written.py says; it prints one row a launch of a `k_counted_...`, and Nsight Compute counts them.
#include "probe.cuh"

constexpr int THREADS = 512, CHUNK = 8192;

// As an accumulator lies (a warp writes 16 bytes of each of eight rows at a time), and whole lines.
enum Way { PIECES, WHOLE };

// Every CTA reads it all, or each chunk is read by one.
__device__ __forceinline__ void read(const char* p, size_t bytes, bool all, long long* out) {
    const size_t chunks = bytes / CHUNK, step = all ? 1 : gridDim.x;
    uint32_t s = 0;
    for (size_t i = all ? 0 : blockIdx.x; i < chunks; i += step) {
        uint4 v;
        asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p + i * CHUNK + threadIdx.x * 16));
        s ^= v.x ^ v.w;
    }
    if (s == 0x12345678u) *out = 0;
}
// Two names, since the profiler counts by name.
__global__ void __launch_bounds__(THREADS) k_before(const char* p, size_t bytes, bool all, long long* out) { read(p, bytes, all, out); }
__global__ void __launch_bounds__(THREADS) k_counted_read(const char* p, size_t bytes, bool all, long long* out) { read(p, bytes, all, out); }
// Each chunk is written by one CTA, which then pauses for so many cycles.
__global__ void __launch_bounds__(THREADS) k_counted_write(char* p, size_t bytes, Way way, int pause) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (size_t i = blockIdx.x; i < bytes / CHUNK; i += gridDim.x) {
        char* to = p + i * CHUNK;
        const uint32_t v = (uint32_t)i * 2654435761u + threadIdx.x;
        if (way == WHOLE) asm volatile("st.global.v4.b32 [%0], {%1, %1, %1, %1};" ::"l"(to + threadIdx.x * 16), "r"(v) : "memory");
        // A warp has half of eight rows of 128 bytes.
        if (way == PIECES)
            for (int j = 0; j < 4; j++)
                asm volatile("st.global.b32 [%0], %1;" ::"l"(to + (warp / 2 * 8 + lane / 4) * 128 + (warp % 2 * 4 + j) * 16 + lane % 4 * 4), "r"(v) : "memory");
        for (long long t = clock64(); clock64() - t < pause;) {}
    }
}

int main() {
    cudaDeviceProp prop;
    CHECK(cudaGetDeviceProperties(&prop, 0));
    const int sms = prop.multiProcessorCount;
    const size_t MB = 1 << 20;
    char *other, *a, *b;
    CHECK(cudaMalloc(&d_out, 4096));
    CHECK(cudaMalloc(&other, 256 * MB));
    CHECK(cudaMalloc(&a, 128 * MB));
    CHECK(cudaMalloc(&b, 128 * MB));
    CHECK(cudaMemset(other, 0, 256 * MB));
    CHECK(cudaMemset(a, 0, 128 * MB));
    CHECK(cudaMemset(b, 0, 128 * MB));
    auto say = [](const char* what, const char* way, int before, int mb, const char* launch) { printf("%s,%s,%d,%d,%s\n", what, way, before, mb, launch); };
    // Nothing that is written is left, and nothing that the others read.
    auto clean = [&] { k_before<<<sms, THREADS>>>(other, 256 * MB, false, d_out); };
    auto put = [&](size_t mb, Way way, int pause) { k_counted_write<<<sms, THREADS>>>(b, mb * MB, way, pause); };
    auto get = [&](char* p, size_t mb, bool all) { k_counted_read<<<sms, THREADS>>>(p, mb * MB, all, d_out); };
    // Read for the fourth time, by all SMs, and by one SM each.
    for (bool all : {true, false})
        for (int mb : {20, 24, 26, 28, 29, 30, 31, 32, 34, 36, 38, 40, 42, 44, 48, 52, 56, 64, 80}) {
            clean();
            for (int i = 0; i < 3; i++) k_before<<<sms, THREADS>>>(a, mb * MB, all, d_out);
            get(a, mb, all), say("round", all ? "all" : "one", mb, mb, "again");
        }
    // Read by all SMs, then so much else, then again.
    for (int before : {8, 16})
        for (int mb : {4, 8, 12, 16, 18, 20, 22, 24, 28, 32}) {
            clean();
            k_before<<<sms, THREADS>>>(a, before * MB, true, d_out);
            k_before<<<sms, THREADS>>>(b, mb * MB, true, d_out);
            get(a, before, true), say("between", "all", before, mb, "others");
        }
    for (Way way : {WHOLE, PIECES}) {
        const char* name = way == WHOLE ? "lines" : "pieces";
        // Written into a cache of clean lines, and read again by one SM each.
        for (int mb : {1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 96}) {
            clean();
            put(mb, way, 0), say("alone", name, 0, mb, "write");
            get(b, mb, false), say("alone", name, 0, mb, "again");
        }
        // Written over a longer time: 28 us more a chunk, of which a CTA has 8 to 31.
        for (int mb : {8, 32}) {
            clean();
            put(mb, way, 50000), say("slow", name, 0, mb, "write");
        }
        // Written where every SM has read so much before, which is then read again.
        for (int before : {4, 10, 20})
            for (int mb : {4, 8, 16, 24, 32, 40, 48}) {
                clean();
                k_before<<<sms, THREADS>>>(a, before * MB, true, d_out);
                put(mb, way, 0), say("beside", name, before, mb, "write");
                get(a, before, true), say("beside", name, before, mb, "others");
            }
        // So much is read by every SM after 8 MB were written.
        for (int mb : {4, 8, 16, 20, 24, 28, 32, 48}) {
            clean();
            put(8, way, 0), say("after", name, 8, mb, "write");
            get(a, mb, true), say("after", name, 8, mb, "others");
        }
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}
