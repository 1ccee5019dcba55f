// When a warp goes on behind its wgmma: arithmetic between the commit and the wait ends the later, the longer they held it up.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a handover.cu -o handover
// Run:   ./handover > ../data/h200_handover.csv
#include "probe.cuh"

constexpr int TIMES = 64, MORE = 80;

// fence, COUNT products of 64 x N x 16, commit, `more` times four dependent operations, wait: cycles of a warpgroup.
template <int N, int COUNT>
__global__ void __launch_bounds__(128) k_products(long long* out, int more) {
    extern __shared__ unsigned char raw[];
    const uint32_t tiles = aligned(raw);
    for (uint32_t i = threadIdx.x * 16; i < 8192 + 32768; i += blockDim.x * 16) asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(tiles + i), "r"(0) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    float d[N / 2];
    for (auto& x : d) x = 0;
    int x = threadIdx.x;
    const uint64_t a = descriptor(tiles), b = descriptor(tiles + 8192);
    const long long t0 = clock64();
#pragma unroll 1
    for (int r = 0; r < TIMES; r++) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int k = 0; k < COUNT; k++) wgmma<N>(d, a + k % 4 * 2, b + k % 4 * 2);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#pragma unroll 1  // or ptxas mixes them with the products
        for (int i = 0; i < more; i++)
            asm volatile("mad.lo.s32 %0, %0, %0, 1; mad.lo.s32 %0, %0, %0, 1; mad.lo.s32 %0, %0, %0, 1; mad.lo.s32 %0, %0, %0, 1;" : "+r"(x));
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    const long long t1 = clock64();
    float s = 0;
    for (float y : d) s += y;
    if (threadIdx.x == 0) out[0] = t1 - t0 + (s == 1.2345f) + (x == 77);
}
template <int N, int COUNT>
static double cycles(int more) {
    CHECK(cudaFuncSetAttribute(k_products<N, COUNT>, cudaFuncAttributeMaxDynamicSharedMemorySize, 50000));
    std::vector<long long> v(REPEATS + 1);
    for (auto& x : v) {
        k_products<N, COUNT><<<1, 128, 50000>>>(d_out, more);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(&x, d_out, sizeof x, cudaMemcpyDeviceToHost));
    }
    std::sort(v.begin() + 1, v.end());
    return (double)v[1 + REPEATS / 2] / TIMES;
}
// What is left of long ones when the arithmetic is taken off; its pace hangs on where its loop lies.
template <int N, int COUNT>
static double behind() {
    return 2 * cycles<N, COUNT>(MORE) - cycles<N, COUNT>(2 * MORE);
}
template <int N, int... COUNTS>
static void all() {
    const double none = behind<N, 0>();
    auto one = [&](int count, double whole, double rest) { printf("%d,%d,%.1f,%.1f\n", N, count, whole, rest - none); };
    (one(COUNTS, cycles<N, COUNTS>(0), behind<N, COUNTS>()), ...);
    fflush(stdout);
}

int main() {
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    CHECK(cudaMalloc(&d_out, sizeof(long long)));
    printf("# device: %s, cycles are clock64 of the SM, medians of %d\n", p.name, REPEATS);
    printf("n,products,cycles,held_up\n");
    all<64, 1, 2, 3, 4, 5, 6, 8, 12>(), all<128, 1, 2, 3, 4, 5, 6, 8, 12>(), all<256, 1, 2, 3, 4, 5, 6, 8, 12>();
    return 0;
}
