// How much the second-level cache keeps of what all SMs read, and what loads to registers take of shared memory's port.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a cache.cu -o cache
// Run:   ./cache > ../data/h200_cache.csv        rows: probe,parameter,unit,median,low,high,repeats
#include "probe.cuh"

constexpr int HOPS = 2048;

// Every SM reads all of it, twice, in the same order.
__global__ void k_fill(const uint4* p, size_t n, long long* out) {
    uint32_t s = 0;
    for (int r = 0; r < 2; r++)
        for (size_t i = threadIdx.x; i < n; i += blockDim.x) {
            uint4 v;
            asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p + i));
            s ^= v.x ^ v.w;
        }
    if (s == 0x12345678u) *out = 0;
}
// Of HOPS lines at random, how many are found in the second-level cache: memory takes more than 480 cycles.
__global__ void k_kept(long long* out, const uint32_t* p, uint32_t lines, uint32_t seed) {
    long long found = 0;
    for (int i = 0; i < HOPS; i++) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t v, line = (uint32_t)(((unsigned long long)seed * lines) >> 32);
        long long t = clock64();
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(p + (size_t)line * 32) : "memory");
        asm volatile("" ::"r"(v) : "memory");
        if (v == 0x12345678u) t = 0;
        found += clock64() - t < 480;
    }
    *out = found;
}
// LDS and LDG of 16 bytes a lane, turn by turn: what the port of both takes. A load's lanes read pieces of PIECE x 16 bytes, a
// kilobyte apart, from the second-level cache.
template <int LDS, int LDG, int PIECE>
__global__ void __launch_bounds__(1024) k_port(long long* out, const uint4* src) {
    extern __shared__ uint4 pool[];
    uint32_t p = (uint32_t)__cvta_generic_to_shared(pool) + threadIdx.x % 32 * 16, s = 0;
    const uint4* g = src + threadIdx.x / PIECE * 64 + threadIdx.x % PIECE;
    __syncthreads();
    long long t = clock64();
#pragma unroll 2
    for (int i = 0; i < LOOP; i++) {
        uint4 v[LDS + LDG];
#pragma unroll
        for (int d = 0; d < LDG; d++) asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v[LDS + d].x), "=r"(v[LDS + d].y), "=r"(v[LDS + d].z), "=r"(v[LDS + d].w) : "l"(g + (i % 8 * LDG + d) * 16384));
#pragma unroll
        for (int d = 0; d < LDS; d++) asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v[d].x), "=r"(v[d].y), "=r"(v[d].z), "=r"(v[d].w) : "r"(p + (i * 5 + d) % 16 * 512));
#pragma unroll
        for (int d = 0; d < LDS + LDG; d++) s = s * 3 + (v[d].x ^ v[d].y ^ v[d].z ^ v[d].w);
    }
    t = clock64() - t;
    __syncthreads();
    if (threadIdx.x == 0) *out = s == 0x12345678u ? 0 : t;
}

int main() {
    const int sms = head();
    uint32_t* buf;
    CHECK(cudaMalloc(&buf, (size_t)128 << 20));
    CHECK(cudaMemset(buf, 0, (size_t)128 << 20));
    // How much of what all SMs read stays, in MB: the fraction found again times the size.
    for (size_t mb : {16u, 24u, 28u, 32u, 40u, 48u, 56u, 64u, 96u}) {
        size_t bytes = mb << 20;
        uint32_t seed = 1;
        row("l2.kept", mb, "MiB", (double)mb / HOPS, [&] {
            k_fill<<<sms, 1024>>>((uint4*)buf, bytes / 16, d_out);
            k_kept<<<1, 1>>>(d_out, buf, (uint32_t)(bytes / 128), seed += 77);
        });
    }
    // Cycles of a warp's turn: eight LDS; with one LDG whose lanes read whole lines, and one of 64 bytes of each of eight lines.
    row("port.lds", 8, "cycles", 1.0 / LOOP / 32, [=] { k_port<8, 0, 32><<<1, 1024, 16384>>>(d_out, (uint4*)buf); });
    row("port.lds_ldg", 512, "cycles", 1.0 / LOOP / 32, [=] { k_port<8, 1, 32><<<1, 1024, 16384>>>(d_out, (uint4*)buf); });
    row("port.lds_ldg", 128, "cycles", 1.0 / LOOP / 32, [=] { k_port<8, 1, 8><<<1, 1024, 16384>>>(d_out, (uint4*)buf); });
    row("port.lds_ldg", 64, "cycles", 1.0 / LOOP / 32, [=] { k_port<8, 1, 4><<<1, 1024, 16384>>>(d_out, (uint4*)buf); });
    row("port.lds_ldg", 32, "cycles", 1.0 / LOOP / 32, [=] { k_port<8, 1, 2><<<1, 1024, 16384>>>(d_out, (uint4*)buf); });
    return 0;
}
