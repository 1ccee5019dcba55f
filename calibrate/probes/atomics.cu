// Rate of `red.global.add.f32` of the whole device, in additions a cycle: every thread adds to words of its own.
//
//     nvcc -arch=sm_90a -o atomics atomics.cu && ./atomics
//
// `lines`: the lanes of a warp add to 32 words of one line. `sectors`: to pairs of words in 8 rows, as the accumulators of a
// tensor core lie. `shared.N`: N CTAs add to the same words, one after the other.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void reds(float *p, long long *begin, long long *end, int words, int share, bool sectors) {
    int warp = (blockIdx.x / share * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    long long t;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t));
    for (int i = 0; i < words; i++) {
        size_t at = (size_t)(warp * words + i) * 32;
        float *q = p + (sectors ? (at / 256 * 256 + lane / 4 * 32 + (lane % 4) * 2 + i % 8 / 2 * 8 + i % 2) : at + lane);
        asm volatile("red.global.add.f32 [%0], %1;" ::"l"(q), "f"(1.0f) : "memory");
    }
    __threadfence();
    long long u;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(u));
    if (threadIdx.x == 0) begin[blockIdx.x] = t, end[blockIdx.x] = u;
}

int main() {
    cudaDeviceProp prop;
    cudaGetDeviceProperties(&prop, 0);
    printf("# device: %s, %d SMs\nprobe,parameter,unit,median,low,high,repeats\n", prop.name, prop.multiProcessorCount);
    float *p;
    long long *b, *e;
    cudaMalloc(&p, 64 << 20);
    cudaMemset(p, 0, 64 << 20);
    int ctas = prop.multiProcessorCount, threads = 256, words = 64;
    cudaMallocManaged(&b, ctas * 8);
    cudaMallocManaged(&e, ctas * 8);
    for (int sectors = 0; sectors < 2; sectors++)
        for (int share : {1, 4, 12}) {
            std::vector<double> all;
            for (int r = 0; r < 22; r++) {
                reds<<<ctas, threads>>>(p, b, e, words, share, sectors);
                cudaDeviceSynchronize();
                double longest = 0;
                for (int i = 0; i < ctas; i++) longest = std::max(longest, double(e[i] - b[i]));
                if (r) all.push_back(double(ctas) * threads * words / longest);
            }
            std::sort(all.begin(), all.end());
            printf("red.f32.%s.shared.%d,1,additions/cycle,%.3f,%.3f,%.3f,21\n", sectors ? "sectors" : "lines", share, all[10], all[0], all[20]);
        }
    return cudaGetLastError() != cudaSuccess;
}
