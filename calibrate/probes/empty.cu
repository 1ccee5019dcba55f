// Launches of kernels that do nothing, or spin for 10,000 cycles: by CTAs, threads and shared memory.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a empty.cu -o empty
// Run:   ncu --clock-control none --cache-control all --csv --page raw --metrics sm__cycles_elapsed.max,gpu__time_duration.sum
//        ./empty: a row a launch, in the order of the lines that it prints: ../data/h100_empty.csv, h200_empty.csv
#include <cstdio>
#include <cuda_runtime.h>
__global__ void k_spin(long long cycles, unsigned long long* out) {
    extern __shared__ char s[];
    unsigned long long a, g, b; asm volatile("mov.u64 %0, %%clock64;" : "=l"(a)); asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g));
    do { asm volatile("mov.u64 %0, %%clock64;" : "=l"(b)); } while (b - a < cycles);
    if (threadIdx.x == 0 && out) { out[blockIdx.x * 4] = a; out[blockIdx.x * 4 + 1] = b; out[blockIdx.x * 4 + 2] = g; }
}
int main() {
    cudaFuncSetAttribute(k_spin, cudaFuncAttributeMaxDynamicSharedMemorySize, 220000);
    unsigned long long* o; cudaMalloc(&o, 1 << 22);
    int grids[] = {1, 64, 132, 264, 1024, 4096}, blocks[] = {128, 256, 512}, sh[] = {0, 49152, 131072, 200000}; long long cyc[] = {0, 10000};
    for (int g : grids) for (int b : blocks) for (int s : sh) for (long long c : cyc) {
        k_spin<<<g, b, s>>>(c, o); cudaError_t e = cudaDeviceSynchronize(); if (e) { printf("err %s\n", cudaGetErrorString(e)); return 1; }
        static unsigned long long h[4096 * 4]; cudaMemcpy(h, o, g * 32, cudaMemcpyDeviceToHost);
        unsigned long long lo = ~0ull, hi = 0; for (int i = 0; i < g; i++) { if (h[4*i] < lo) lo = h[4*i]; if (h[4*i+1] > hi) hi = h[4*i+1]; }
        printf("%d,%d,%d,%lld,%lld\n", g, b, s, c, (long long)(hi - lo));
    }
}
