// Cycles of one iteration of a loop: dependent additions, the branch, and instructions of synchronization.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a branch.cu -o branch
// Run:   ./branch > ../data/h100_branch.csv
// Columns: the instructions of synchronization of an iteration, threads of the CTA, additions and exclusive ors, cycles.
#include <cstdio>
#include <cstdint>
#define ADD4 "add.s32 %0, %0, %1; xor.b32 %0, %0, %2; add.s32 %0, %0, %1; xor.b32 %0, %0, %2;"
template <int V, int N> __global__ void k(long long* out, int a, int b, int turns, int* sink) {
    extern __shared__ int smem[];
    uint32_t at = (uint32_t)__cvta_generic_to_shared(smem) + threadIdx.x * 4;
    int x = threadIdx.x;
    long long best = 1ll << 60;
    for (int r = 0; r < 3; r++) {
        __syncthreads();
        long long t = clock64();
#pragma unroll 1
        for (int i = 0; i < turns; i++) {
#pragma unroll
            for (int j = 0; j < N; j++) asm volatile(ADD4 : "+r"(x) : "r"(a), "r"(b));
            if (V == 1) asm volatile("cp.async.commit_group;" ::: "memory");
            if (V == 2) asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
            if (V == 3) asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            if (V == 4) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            if (V == 5) asm volatile("bar.sync 0;" ::: "memory");
            if (V == 6) asm volatile("shfl.sync.idx.b32 %0, %0, 0, 31, -1;" : "+r"(x));
            if (V == 7) asm volatile("st.shared.b32 [%0], %1; fence.proxy.async.shared::cta;" ::"r"(at), "r"(x) : "memory");
            if (V == 8) asm volatile("st.shared.b32 [%0], %1; fence.proxy.async.shared::cta; bar.sync 0;" ::"r"(at), "r"(x) : "memory");
            if (V == 9) asm volatile("wgmma.fence.sync.aligned; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
            if (V == 10) asm volatile("st.shared.b32 [%0], %1; bar.sync 0;" ::"r"(at), "r"(x) : "memory");
        }
        long long d = clock64() - t;
        if (d < best) best = d;
    }
    sink[threadIdx.x] = x;
    if (threadIdx.x == 0) *out = best;
}
static const char* names[] = {"none", "cp_commit", "cp_commit_wait", "wgmma_fence", "fence_async", "bar", "shfl", "sts_fence", "sts_fence_bar", "wgmma_three", "sts_bar"};
template <int V, int N> void one(int threads) {
    long long* out; int* sink;
    cudaMalloc(&out, 8); long long h = 0; cudaMalloc(&sink, 4096);
    k<V, N><<<1, threads, 8192>>>(out, 3, 5, 1000, sink);
    cudaMemcpy(&h, out, 8, cudaMemcpyDeviceToHost);
    printf("%s,%d,%d,%.2f\n", names[V], threads, 4 * N, h / 1000.0);
}
template <int V> void all() { for (int t : {128, 256}) { one<V, 4>(t); one<V, 16>(t); one<V, 32>(t); } }
int main() { printf("what,threads,additions,cycles\n"); all<0>(); all<1>(); all<2>(); all<3>(); all<4>(); all<5>(); all<6>(); all<7>(); all<8>(); all<9>(); all<10>(); }
