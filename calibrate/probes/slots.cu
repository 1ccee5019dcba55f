// What an instruction takes of its scheduler's issue slots, and how long its own warp waits.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a slots.cu -o slots
// Run:   ./slots > ../data/h200_slots.csv      rows: probe,parameter,unit,median,low,high,repeats
//
// `warp`: cycles from one such instruction to the next in a warp, with one warp a scheduler (parameter 1), two and four.
// `beside`: cycles of 32768 FFMA of another warp of each scheduler, with no, one and two warps of it that issue 1024 of the instruction
// each. The FFMA leave a sixth of the slots.
#include "probe.cuh"

constexpr int EACH = 8;

enum What { FFMA, COMMIT, WAIT, FENCE_ASYNC, WGMMA_FENCE, WGMMA_COMMIT, WGMMA_WAIT, WARP_SYNC, BARRIER, STORE, COPY };
static const char* names[] = {"ffma", "cp_commit", "cp_wait", "fence_async", "wgmma_fence", "wgmma_commit", "wgmma_wait", "warp_sync", "barrier", "st_shared", "cp_async"};

template <int W>
__device__ __forceinline__ void go(uint32_t at, int group, const uint4* from, float& x) {
    if (W == FFMA) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(x));
    if (W == COMMIT) asm volatile("cp.async.commit_group;" ::: "memory");
    if (W == WAIT) asm volatile("cp.async.wait_group 0;" ::: "memory");
    if (W == FENCE_ASYNC) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    if (W == WGMMA_FENCE) asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    if (W == WGMMA_COMMIT) asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    if (W == WGMMA_WAIT) asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (W == WARP_SYNC) asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
    if (W == BARRIER) asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
    if (W == STORE) asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(at), "r"(group) : "memory");
    if (W == COPY) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
}

// The first GROUPS warpgroups repeat the instruction. Where BESIDE, one behind them issues FFMA all the while, and is timed.
template <int W, int GROUPS, bool BESIDE>
__global__ void k_slots(long long* out, int turns, int long_turns, const uint4* src, float* sink) {
    extern __shared__ uint4 pool[];
    const int group = threadIdx.x / 128;
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(pool) + threadIdx.x * 16;
    float x = threadIdx.x, d[8];
    for (int i = 0; i < 8; i++) d[i] = x + i;
    __syncthreads();
    long long t = clock64();
    if (group < GROUPS) {
#pragma unroll 1
        for (int i = 0; i < turns; i++)
#pragma unroll
            for (int j = 0; j < EACH; j++) go<W>(at, group, src + threadIdx.x, x);
        t = clock64() - t;
        asm volatile("cp.async.wait_all;" ::: "memory");
    } else {
#pragma unroll 1
        for (int i = 0; i < long_turns; i++)
#pragma unroll
            for (int j = 0; j < 64; j++) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(d[j % 8]) : "f"(x));
        t = clock64() - t;
    }
    if (threadIdx.x == (BESIDE ? 128 * GROUPS : 0)) out[0] = t;
    float s = x;
    for (int i = 0; i < 8; i++) s += d[i];
    if (s == 1.5f) sink[threadIdx.x] = s;
}

static uint4* buf;
static float* sink;

template <int W, int GROUPS, bool BESIDE>
static void launch(int turns, int long_turns) {
    k_slots<W, GROUPS, BESIDE><<<1, 128 * (GROUPS + (BESIDE ? 1 : 0)), 128 * 5 * 16>>>(d_out, turns, long_turns, buf, sink);
}

template <int W>
static void one() {
    constexpr int TURNS = 128, LONG = 512;
    char name[64];
    snprintf(name, 64, "warp.%s", names[W]);
    row(name, 1, "cycles", 1.0 / (TURNS * EACH), [] { launch<W, 1, false>(TURNS, 0); });
    row(name, 2, "cycles", 1.0 / (TURNS * EACH), [] { launch<W, 2, false>(TURNS, 0); });
    row(name, 4, "cycles", 1.0 / (TURNS * EACH), [] { launch<W, 4, false>(TURNS, 0); });
    // Cycles of 32768 FFMA of one warp of each scheduler, beside no, one and two warps with 1024 of the instruction each.
    snprintf(name, 64, "beside.%s", names[W]);
    row(name, 0, "cycles", 1.0, [] { launch<W, 1, true>(0, LONG); });
    row(name, 1, "cycles", 1.0, [] { launch<W, 1, true>(TURNS, LONG); });
    row(name, 2, "cycles", 1.0, [] { launch<W, 2, true>(TURNS, LONG); });
}

int main() {
    head();
    CHECK(cudaMalloc(&buf, 1 << 20));
    CHECK(cudaMemset(buf, 0, 1 << 20));
    CHECK(cudaMalloc(&sink, 1 << 16));
    one<FFMA>();
    one<COMMIT>();
    one<WAIT>();
    one<FENCE_ASYNC>();
    one<WGMMA_FENCE>();
    one<WGMMA_COMMIT>();
    one<WGMMA_WAIT>();
    one<WARP_SYNC>();
    one<BARRIER>();
    one<STORE>();
    one<COPY>();
    return 0;
}
