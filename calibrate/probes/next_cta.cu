// How long after the end of a CTA the next one starts on its SM: by threads, shared memory, and whether the CTA stores.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a next_cta.cu -o next_cta
// Run:   ./next_cta > ../data/h200_next_cta.csv
// CTAs spin for some thousand cycles, each its own number, so that they do not end together. Cycles of clock64 from the last
// instruction of a CTA to the first one of the CTA that takes its place: the k-th CTA to start on an SM, beyond those that fit,
// follows the k-th one to end.
#include "probe.cuh"

constexpr int WAVES = 12, MOST = 132 * 32 * WAVES;

__global__ void k_spin(long long* out, float4* to, bool stores, int uneven) {
    extern __shared__ char room[];
    __shared__ long long begin;
    // One thread spins: the scheduler prefers the oldest warp, and many that spin would leave no slot to a new CTA.
    if (threadIdx.x == 0) {
        begin = clock64();
        const long long length = 4000 + blockIdx.x * 37 % uneven;
        while (clock64() - begin < length) __nanosleep(20);
    }
    __syncthreads();
    if (stores) to[blockIdx.x * (size_t)blockDim.x + threadIdx.x] = make_float4(1, 2, 3, begin);
    __syncthreads();
    if (threadIdx.x == 0) {
        int sm;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        out[blockIdx.x * 3] = sm, out[blockIdx.x * 3 + 1] = begin, out[blockIdx.x * 3 + 2] = clock64();
    }
}

int main() {
    cudaDeviceProp prop;
    CHECK(cudaGetDeviceProperties(&prop, 0));
    const int sms = prop.multiProcessorCount;
    printf("# device: %s, %d SMs, cycles are clock64 of the SM\n", prop.name, sms);
    long long* out;
    float4* to;
    CHECK(cudaMalloc(&out, MOST * 3 * sizeof(long long)));
    CHECK(cudaMalloc(&to, (size_t)sms * 2048 * WAVES * sizeof(float4)));
    CHECK(cudaFuncSetAttribute(k_spin, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024));
    std::vector<long long> got(MOST * 3);
    printf("threads,shared,ctas_of_sm,stores,uneven,first_decile,median,last_decile\n");
    for (int uneven : {1, 4000})
        for (bool stores : {false, true})
            for (int threads : {32, 64, 128, 256, 512, 1024})
                for (int shared : {0, 24 * 1024, 96 * 1024, 192 * 1024}) {
                    int fit = 0;
                    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, k_spin, threads, shared));
                    const int ctas = sms * fit * WAVES;
                    for (int i = 0; i < 2; i++) k_spin<<<ctas, threads, shared>>>(out, to, stores, uneven);
                    CHECK(cudaDeviceSynchronize());
                    CHECK(cudaMemcpy(got.data(), out, ctas * 3 * sizeof(long long), cudaMemcpyDeviceToHost));
                    std::vector<std::vector<long long>> begins(sms), ends(sms);
                    for (int i = 0; i < ctas; i++) begins[got[i * 3]].push_back(got[i * 3 + 1]), ends[got[i * 3]].push_back(got[i * 3 + 2]);
                    std::vector<long long> gaps;
                    for (int s = 0; s < sms; s++) {
                        std::sort(begins[s].begin(), begins[s].end());
                        std::sort(ends[s].begin(), ends[s].end());
                        // Without the first CTAs that end, which start together.
                        for (size_t k = fit; k + fit < begins[s].size(); k++) gaps.push_back(begins[s][k + fit] - ends[s][k]);
                    }
                    std::sort(gaps.begin(), gaps.end());
                    auto at = [&](double x) { return gaps[(size_t)(x * (gaps.size() - 1))]; };
                    printf("%d,%d,%d,%d,%d,%lld,%lld,%lld\n", threads, shared, fit, stores, uneven, at(0.1), at(0.5), at(0.9));
                }
}
