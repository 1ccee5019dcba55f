// What DRAM gives where a launch reads, writes, or both: 8 MiB to 1 GiB, by CTAs that loop and by one CTA for each 4 KB.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a mix.cu -o mix
// Run:   ncu --clock-control none --cache-control all -k regex:k_ --csv --page raw --print-units base
//        --metrics gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum ./mix: a row a launch, in the order of the
//        lines that it prints (kind, MiB, whether one CTA for each 4 KB): ../data/h100_mix.csv, and with sm__cycles_elapsed.max
//        ../data/h200_mix.csv
#include <cstdio>
#include <cuda_runtime.h>
__global__ void k_read(const float4* a, float4* o, size_t n) { float s = 0; for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) { float4 v = a[i]; s += v.x + v.y + v.z + v.w; } if (s == 1.2345f) o[0].x = s; }
__global__ void k_write(const float4* a, float4* o, size_t n) { for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) o[i] = make_float4(1, 2, 3, 4); }
__global__ void k_copy(const float4* a, float4* o, size_t n) { for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) o[i] = a[i]; }
__global__ void k_add(const float4* a, float4* o, size_t n) { for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) { float4 v = a[i], w = a[i + n]; o[i] = make_float4(v.x + w.x, v.y + w.y, v.z + w.z, v.w + w.w); } }
int main() {
    float4 *a, *o; cudaMalloc(&a, 2048u << 20); cudaMalloc(&o, 1024u << 20); cudaMemset(a, 0, 2048u << 20);
    for (int mib : {8, 16, 32, 64, 128, 512, 1024}) for (int k = 0; k < 4; k++) for (int flat : {0, 1}) {
        size_t n = ((size_t)mib << 20) / 16; int g = flat ? (int)(n / 256) : 132 * 8;
        if (k == 0) k_read<<<g, 256>>>(a, o, n); if (k == 1) k_write<<<g, 256>>>(a, o, n); if (k == 2) k_copy<<<g, 256>>>(a, o, n); if (k == 3) k_add<<<g, 256>>>(a, o, n);
        printf("%d,%d,%d\n", k, mib, flat);
    }
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
