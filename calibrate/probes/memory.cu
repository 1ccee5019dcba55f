// Latencies and rates of memory by level, of matrix and vector issue, and what launches cost.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a memory.cu -o memory
// Run:   ./memory > memory.csv        rows: probe,parameter,unit,median,low,high,repeats
#include "probe.cuh"

#include <numeric>
#include <random>

// ---- latency: a chain of dependent loads ----------------------------------------------------------------------------

constexpr int HOPS = 2048;

// Every line of `next` names the line to go to. `.cg` passes by the first-level cache.
// `at` goes on where the launch before ended, so that a large set is met cold.
__device__ uint32_t chased;
template <bool L1>
__global__ void k_chase(long long* out, const uint32_t* next, int warm) {
    uint32_t at = chased;
    for (int i = 0; i < warm; i++) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(next + at));
    long long t = clock64();
    for (int i = 0; i < HOPS; i++) {
        if (L1) asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(at) : "l"(next + at));
        else asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(next + at));
    }
    *out = clock64() - t;
    chased = at;
}
__global__ void k_shared_chase(long long* out) {
    __shared__ uint32_t next[1024];
    // The words are addresses, so that a hop is one load.
    uint32_t base = (uint32_t)__cvta_generic_to_shared(next), at = base;
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) next[i] = base + (i * 4 + 132) % 4096;
    __syncthreads();
    long long t = clock64();
    for (int i = 0; i < HOPS; i++) {
        asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at));
    }
    t = clock64() - t;
    if (threadIdx.x == 0) *out = at == ~0u ? 0 : t;
}
// Latency of each of 1024 lines in the second-level cache, alone: near and far halves tell apart.
__global__ void k_lines(long long* out, const uint32_t* p) {
    for (int i = 0; i < 1024; i++) {
        uint32_t v = 0;
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(p + i * 32));
        asm volatile("" ::"r"(v));
    }
    for (int i = 0; i < 1024; i++) {
        uint32_t v;
        long long t = clock64();
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(p + i * 32) : "memory");
        if (v == 0x12345678u) t = 0;
        out[i] = clock64() - t;
    }
}

// ---- rate against bytes in flight -----------------------------------------------------------------------------------

// Each thread has DEEP loads of 16 bytes in flight; the grid reads `bytes` once.
template <int DEEP>
__global__ void k_stream(long long* out, const uint4* src, size_t n) {
    size_t stride = (size_t)gridDim.x * blockDim.x;
    uint32_t s = 0;
    long long t = clock64();
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i + (DEEP - 1) * stride < n; i += DEEP * stride) {
        uint4 v[DEEP];
#pragma unroll
        for (int d = 0; d < DEEP; d++) asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v[d].x), "=r"(v[d].y), "=r"(v[d].z), "=r"(v[d].w) : "l"(src + i + d * stride));
#pragma unroll
        for (int d = 0; d < DEEP; d++) s ^= v[d].x ^ v[d].y ^ v[d].z ^ v[d].w;
    }
    t = clock64() - t;
    if (threadIdx.x == 0) out[blockIdx.x] = s == 0x12345678u ? 0 : t;
}

// ---- issue ----------------------------------------------------------------------------------------------------------

template <int CHAINS>
__global__ void k_mma_interval(long long* out) {
    // Chains that differ: the assembler does equal ones once.
    float d[CHAINS][4];
    for (int c = 0; c < CHAINS; c++) d[c][0] = c, d[c][1] = c + 1, d[c][2] = c + 2, d[c][3] = c + 3;
    uint32_t a[4] = {threadIdx.x, 2, 3, 4}, b[2] = {threadIdx.x, 6};
    __syncthreads();
    long long t = clock64();
    for (int i = 0; i < LOOP; i++)
#pragma unroll
        for (int c = 0; c < CHAINS; c++)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(d[c][0]), "+f"(d[c][1]), "+f"(d[c][2]), "+f"(d[c][3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    t = clock64() - t;
    float s = 0;
    for (auto& r : d) s += r[0] + r[1] + r[2] + r[3];
    if (threadIdx.x == 0) *out = s == 1.2345f ? 0 : t;
}
__global__ void k_sts_issue(long long* out) {
    extern __shared__ uint4 pool[];
    uint32_t p = (uint32_t)__cvta_generic_to_shared(pool) + threadIdx.x * 16;
    __syncthreads();
    long long t = clock64();
    for (int i = 0; i < LOOP; i++)
#pragma unroll
        for (int d = 0; d < 8; d++) asm volatile("st.shared.v4.u32 [%0], {%1,%1,%1,%1};" ::"r"(p + d * 16384), "r"(i) : "memory");
    t = clock64() - t;
    if (threadIdx.x == 0) *out = t;
}
__global__ void k_exp(long long* out, float x) {
    float v[8] = {x, x, x, x, x, x, x, x};
    __syncthreads();
    long long t = clock64();
    for (int i = 0; i < LOOP; i++)
#pragma unroll
        for (int c = 0; c < 8; c++) asm volatile("ex2.approx.f32 %0, %0;" : "+f"(v[c]));
    t = clock64() - t;
    float s = 0;
    for (float y : v) s += y;
    if (threadIdx.x == 0) *out = s == 1.2345f ? 0 : t;
}
__global__ void k_cta(long long* out) {  // when each CTA of a long queue begins on its SM
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (threadIdx.x == 0 && sm == 0) atomicAdd((unsigned long long*)out, 1ull);
}
__global__ void k_bar_init(long long* out) {
    __shared__ uint64_t b[64];
    long long t = clock64();
#pragma unroll 8
    for (int i = 0; i < 64; i++) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"((uint32_t)__cvta_generic_to_shared(b + i)) : "memory");
    t = clock64() - t;
    *out = t;
}

int main() {
    const int sms = head();
    const size_t big = (size_t)2 << 30;
    uint32_t* buf;
    CHECK(cudaMalloc(&buf, big));
    CHECK(cudaMemset(buf, 0, big));
    row("shared.latency", 1, "cycles", 1.0 / HOPS, [=] { k_shared_chase<<<1, 32>>>(d_out); });
    // One cycle through lines of 128 bytes in random order, sets of 16 KB to 1 GB.
    std::mt19937 random(7);
    for (size_t kb : {16u, 64u, 512u, 4096u, 16384u, 262144u, 1048576u}) {
        size_t lines = kb * 1024 / 128;
        std::vector<uint32_t> order(lines), next(lines * 32, 0);
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin() + 1, order.end(), random);
        for (size_t i = 0; i < lines; i++) next[(size_t)order[i] * 32] = order[(i + 1) % lines] * 32;
        CHECK(cudaMemcpy(buf, next.data(), next.size() * 4, cudaMemcpyHostToDevice));
        // What fits the second-level cache is walked through first.
        int warm = kb <= 16384 ? (int)lines : 0;
        const uint32_t start = 0;
        CHECK(cudaMemcpyToSymbol(chased, &start, 4));
        if (kb <= 64) row("l1.latency", kb, "cycles", 1.0 / HOPS, [=] { k_chase<true><<<1, 1>>>(d_out, buf, 0); });
        row("global.latency", kb, "cycles", 1.0 / HOPS, [=] { k_chase<false><<<1, 1>>>(d_out, buf, warm); });
    }
    // Lines in the near and the far half of the second-level cache.
    {
        std::vector<long long> h(1024);
        std::vector<double> near, far;
        for (int i = 0; i <= REPEATS; i++) {
            k_lines<<<1, 1>>>(d_out, buf);
            CHECK(cudaDeviceSynchronize());
            CHECK(cudaMemcpy(h.data(), d_out, 8192, cudaMemcpyDeviceToHost));
            std::sort(h.begin(), h.end());
            if (i) near.push_back(h[256]), far.push_back(h[768]);
        }
        for (auto* v : {&near, &far}) {
            std::sort(v->begin(), v->end());
            printf("l2.line.%s,1,cycles,%.3f,%.3f,%.3f,%d\n", v == &near ? "quarter" : "three_quarters", (*v)[v->size() / 2], v->front(), v->back(), REPEATS);
        }
    }
    CHECK(cudaMemset(buf, 1, big));
    // DRAM rate: all SMs read 1 GB once; the parameter is the bytes in flight of one SM.
    size_t n = ((size_t)1 << 30) / 16;
    double bytes = (double)((size_t)1 << 30) / sms;
    for (int threads : {128, 256, 512, 1024})
        row("dram.rate", threads * 16, "bytes/cycle/SM", -bytes, [=] { k_stream<1><<<sms, threads>>>(d_out, (uint4*)buf, n); }, sms);
    row("dram.rate", 1024 * 32, "bytes/cycle/SM", -bytes, [=] { k_stream<2><<<sms, 1024>>>(d_out, (uint4*)buf, n); }, sms);
    row("dram.rate", 1024 * 64, "bytes/cycle/SM", -bytes, [=] { k_stream<4><<<sms, 1024>>>(d_out, (uint4*)buf, n); }, sms);
    row("dram.rate", 2048 * 64, "bytes/cycle/SM", -bytes, [=] { k_stream<4><<<2 * sms, 1024>>>(d_out, (uint4*)buf, n); }, sms);
    {
        cudaEvent_t e0, e1;
        CHECK(cudaEventCreate(&e0));
        CHECK(cudaEventCreate(&e1));
        std::vector<double> v;
        for (int i = 0; i <= REPEATS; i++) {
            CHECK(cudaEventRecord(e0));
            k_stream<4><<<2 * sms, 1024>>>(d_out, (uint4*)buf, n);
            CHECK(cudaEventRecord(e1));
            CHECK(cudaEventSynchronize(e1));
            float ms;
            CHECK(cudaEventElapsedTime(&ms, e0, e1));
            if (i) v.push_back((double)((size_t)1 << 30) / ms / 1e6);
        }
        std::sort(v.begin(), v.end());
        printf("dram.read,1073741824,GB/s,%.1f,%.1f,%.1f,%d\n", v[v.size() / 2], v.front(), v.back(), REPEATS);
    }
    for (int w : {1, 4, 8, 16}) row("mma.m16n8k16.interval", w, "cycles", 1.0 / LOOP / 8, [=] { k_mma_interval<8><<<1, 32 * w>>>(d_out); });
    CHECK(cudaFuncSetAttribute(k_sts_issue, cudaFuncAttributeMaxDynamicSharedMemorySize, 131072));
    for (int w : {1, 4, 8}) row("st.shared.v4.issue", w, "cycles", 1.0 / LOOP / 8, [=] { k_sts_issue<<<1, 32 * w, 131072>>>(d_out); });
    for (int w : {4, 16}) row("ex2.issue", w, "cycles", 1.0 / LOOP / 8, [=] { k_exp<<<1, 32 * w>>>(d_out, .5f); });
    row("mbarrier.init", 1, "cycles", 1.0 / 64, [=] { k_bar_init<<<1, 1>>>(d_out); });
    // What a CTA costs beyond its work: many empty ones, one resident an SM.
    cudaEvent_t e0, e1;
    CHECK(cudaEventCreate(&e0));
    CHECK(cudaEventCreate(&e1));
    CHECK(cudaFuncSetAttribute(k_cta, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
    for (int waves : {1, 64}) {
        std::vector<double> v;
        for (int i = 0; i <= REPEATS; i++) {
            CHECK(cudaEventRecord(e0));
            k_cta<<<waves * sms, 128, 200 << 10>>>(d_out);
            CHECK(cudaEventRecord(e1));
            CHECK(cudaEventSynchronize(e1));
            float ms;
            CHECK(cudaEventElapsedTime(&ms, e0, e1));
            if (i) v.push_back(ms * 1e6);
        }
        std::sort(v.begin(), v.end());
        printf("cta.queue,%d,ns,%.1f,%.1f,%.1f,%d\n", waves, v[v.size() / 2], v.front(), v.back(), REPEATS);
    }
    return 0;
}
