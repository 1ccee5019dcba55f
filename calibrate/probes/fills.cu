// How fast the second-level cache takes lines that come from memory and lines that cores store, alone and together. The lines
// that are read and written are in the cache before, or in memory alone.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a fills.cu -o fills
// Run:   as fills.py says; it prints one row a launch of a `k_counted_...`, and Nsight Compute counts them.
#include "probe.cuh"

constexpr int THREADS = 256;
using size = unsigned long long;

__device__ __forceinline__ float4 get(const float4* p) { return __ldcg(p); }
// Two names, since the profiler counts by name.
__global__ void k_before(const float4* a, float4* o, size n) {
    float s = 0;
    for (size i = blockIdx.x * (size)THREADS + threadIdx.x; i < n; i += (size)gridDim.x * THREADS) s += get(a + i).x;
    if (s == 1.2345f) o[0].x = s;
}
// Each thread has AHEAD loads under way, then as many stores.
template <int AHEAD, typename F>
__device__ __forceinline__ void each(F f) {
#pragma unroll
    for (int j = 0; j < AHEAD; j++) f(j, (blockIdx.x * (size)AHEAD + j) * THREADS + threadIdx.x);
}
template <int AHEAD>
__device__ __forceinline__ void load(float4 (&v)[AHEAD], const float4* a) { each<AHEAD>([&](int j, size i) { v[j] = get(a + i); }); }
template <int AHEAD>
__device__ __forceinline__ void keep(const float4 (&v)[AHEAD], float4* o) {
    float s = 0;
    for (int j = 0; j < AHEAD; j++) s += v[j].x;
    if (s == 1.2345f) o[0].x = s;
}
template <int AHEAD>
__global__ void k_counted_read(const float4* a, float4* o, size n) {
    float4 v[AHEAD];
    load(v, a);
    keep(v, o);
}
template <int AHEAD>
__global__ void k_counted_write(const float4* a, float4* o, size n) {
    each<AHEAD>([&](int, size i) { o[i] = make_float4(1, 2, 3, 4); });
}
template <int AHEAD>
__global__ void k_counted_copy(const float4* a, float4* o, size n) {
    float4 v[AHEAD];
    load(v, a);
    each<AHEAD>([&](int j, size i) { o[i] = v[j]; });
}
// Two arrays are read, and as much is written as each has.
template <int AHEAD>
__global__ void k_counted_add(const float4* a, float4* o, size n) {
    float4 v[AHEAD], w[AHEAD];
    load(v, a);
    load(w, a + n);
    each<AHEAD>([&](int j, size i) { o[i] = make_float4(v[j].x + w[j].x, v[j].y + w[j].y, v[j].z + w[j].z, v[j].w + w[j].w); });
}
// One CTA in two reads, the other writes: none waits for what it loads before it stores.
template <int AHEAD>
__global__ void k_counted_apart(const float4* a, float4* o, size n) {
    const size at = (blockIdx.x / 2) * (size)AHEAD * THREADS + threadIdx.x;
    if (blockIdx.x % 2) {
        for (int j = 0; j < AHEAD; j++) o[at + j * THREADS] = make_float4(1, 2, 3, 4);
    } else {
        float4 v[AHEAD];
        for (int j = 0; j < AHEAD; j++) v[j] = get(a + at + j * THREADS);
        keep(v, o);
    }
}

int main() {
    const size MB = 1 << 20;
    float4 *other, *a, *o;
    CHECK(cudaMalloc(&other, 512 * MB));
    CHECK(cudaMalloc(&a, 256 * MB));
    CHECK(cudaMalloc(&o, 128 * MB));
    CHECK(cudaMemset(other, 0, 512 * MB));
    CHECK(cudaMemset(a, 0, 256 * MB));
    CHECK(cudaMemset(o, 0, 128 * MB));
    auto visit = [&](const float4* p, size bytes) { k_before<<<1056, THREADS>>>(p, o, bytes / 16); };
    using Launch = void (*)(const float4*, float4*, size);
    // Arrays that are read and written; launches by loads under way.
    const struct { const char* name; size reads, writes, parts; Launch launches[3]; } kinds[] = {
        {"read", 1, 0, 1, {k_counted_read<1>, k_counted_read<2>, k_counted_read<4>}},
        {"write", 0, 1, 1, {k_counted_write<1>, k_counted_write<2>, k_counted_write<4>}},
        {"copy", 1, 1, 1, {k_counted_copy<1>, k_counted_copy<2>, k_counted_copy<4>}},
        {"apart", 1, 1, 2, {k_counted_apart<1>, k_counted_apart<2>, k_counted_apart<4>}},
        {"add", 2, 1, 1, {k_counted_add<1>, k_counted_add<2>, k_counted_add<4>}}};
    for (int repeat = 0; repeat < 3; repeat++)
        for (const auto& kind : kinds)
            for (int ahead : {0, 1, 2})
                for (bool cached : {false, true})
                    for (size mb : {4, 8, 12, 16}) {
                        visit(other, 512 * MB);
                        // Each half of the cache gets the lines, so twice.
                        for (int i = 0; cached && i < 2; i++) {
                            visit(a, kind.reads * mb * MB);
                            visit(o, kind.writes * mb * MB);
                        }
                        kind.launches[ahead]<<<kind.parts * mb * MB / 16 / THREADS >> ahead, THREADS>>>(a, o, mb * MB / 16);
                        CHECK(cudaGetLastError());
                        printf("%s,%d,%s,%d\n", kind.name, 1 << ahead, cached ? "cache" : "memory", (int)mb);
                    }
    CHECK(cudaDeviceSynchronize());
}
