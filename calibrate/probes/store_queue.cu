// How many stores to global memory a warp issues before it waits: when each store of a burst is issued, by warps that store and
// by SMs that do so at once.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a store_queue.cu -o store_queue
// Run:   ./store_queue > ../data/h200_store_queue.csv
// A store is 16 bytes of each lane: 512 bytes of whole lines. Cycles of clock64 from the first one of the CTA to the issue of the
// k-th of the warp that is last; median of the SMs, after two launches that warm up.
#include "probe.cuh"

constexpr int STORES = 48;

__global__ void k_burst(uint4* to, long long* out, int value) {
    __shared__ long long begin, when[32][STORES];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    uint4* at = to + ((size_t)blockIdx.x * warps + warp) * STORES * 32 + lane;
    if (threadIdx.x == 0) begin = clock64();
    __syncthreads();
#pragma unroll
    for (int k = 0; k < STORES; k++) {
        asm volatile("st.global.v4.b32 [%0], {%1, %1, %1, %1};" ::"l"(at + k * 32), "r"(value) : "memory");
        if (lane == 0) when[warp][k] = clock64();
    }
    __syncthreads();
    for (int k = threadIdx.x; k < STORES; k += blockDim.x) {
        long long last = 0;
        for (int w = 0; w < warps; w++) last = max(last, when[w][k]);
        out[blockIdx.x * STORES + k] = last - begin;
    }
}

int main() {
    cudaDeviceProp prop;
    CHECK(cudaGetDeviceProperties(&prop, 0));
    const int sms = prop.multiProcessorCount;
    uint4* to;
    long long* out;
    CHECK(cudaMalloc(&to, (size_t)sms * 32 * STORES * 512));
    CHECK(cudaMalloc(&out, sms * STORES * sizeof(long long)));
    CHECK(cudaMemset(to, 0, (size_t)sms * 32 * STORES * 512));
    printf("# device: %s, %d SMs, cycles are clock64 of the SM\nsms,warps,store,cycles\n", prop.name, sms);
    std::vector<long long> got(sms * STORES);
    for (int ctas : {1, sms})
        for (int warps : {1, 2, 4, 8, 16, 32}) {
            for (int i = 0; i < 3; i++) k_burst<<<ctas, warps * 32>>>(to, out, i);
            CHECK(cudaDeviceSynchronize());
            CHECK(cudaMemcpy(got.data(), out, sms * STORES * sizeof(long long), cudaMemcpyDeviceToHost));
            for (int k = 0; k < STORES; k++) {
                std::vector<long long> v;
                for (int c = 0; c < ctas; c++) v.push_back(got[c * STORES + k]);
                std::sort(v.begin(), v.end());
                printf("%d,%d,%d,%lld\n", ctas, warps, k + 1, v[v.size() / 2]);
            }
        }
}
