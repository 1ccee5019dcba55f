// Additions to lines that are not in L2, by atom.acq_rel.gpu: cycles of each, as a split-K product adds its tile.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a additions.cu -o additions
// Run:   ./additions > ../data/h200_additions.csv
//        how: 0 red relaxed with one fence at the end, 1 atom acq_rel; width: bytes of a lane; cold: other data was written since;
//        share: CTAs that add to the same tile; each warp adds to 32 lanes * width bytes of a row, and CTAs to tiles of a matrix
#include <cstdio>
#include <cuda_runtime.h>
__device__ __forceinline__ void add(float* p, float v, int how, int width) {
    if (how == 0 && width == 16) asm volatile("red.global.gpu.relaxed.add.v4.f32 [%0], {%1,%1,%1,%1};" :: "l"(p), "f"(v) : "memory");
    if (how == 1 && width == 16) asm volatile("{ .reg .f32 a,b,c,d; atom.global.gpu.acq_rel.add.v4.f32 {a,b,c,d}, [%0], {%1,%1,%1,%1}; }" :: "l"(p), "f"(v) : "memory");
    if (how == 0 && width == 8) asm volatile("red.global.gpu.relaxed.add.v2.f32 [%0], {%1,%1};" :: "l"(p), "f"(v) : "memory");
    if (how == 1 && width == 8) asm volatile("{ .reg .f32 a,b; atom.global.gpu.acq_rel.add.v2.f32 {a,b}, [%0], {%1,%1}; }" :: "l"(p), "f"(v) : "memory");
}
template <int HOW, int WIDTH> __global__ void k(float* a, int n, int share, int pitch, long long* out) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    int columns = 256, each = 8 * WIDTH;  // floats of a warp in a step
    int tile = blockIdx.x / share;
    float* p = a + (size_t)tile * columns;
    __syncthreads();
    long long t0 = clock64();
    for (int i = 0; i < n; i++) {
        int at = (i * warps + warp) * each;
        add(p + (size_t)(at / columns) * pitch + at % columns + lane * (WIDTH / 4), 1.0f, HOW, WIDTH);
    }
    if (HOW == 0) asm volatile("fence.acq_rel.gpu;" ::: "memory");
    long long t1 = clock64();
    if (threadIdx.x == 0) out[blockIdx.x] = t1 - t0;
}
__global__ void other(float* b, size_t n) { for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) b[i] = i; }
template <int HOW, int WIDTH> void go(float* a, float* b, long long* o) {
    static long long h[1024];
    for (int warps : {1, 4}) for (int ctas : {1, 32, 128, 264}) for (int share : {1, 4}) for (int cold : {0, 1}) {
        double mean = 0, most = 0;
        for (int r = 0; r < 5; r++) {
            if (cold) other<<<264, 256>>>(b, (size_t)64 << 20);
            k<HOW, WIDTH><<<ctas, warps * 32>>>(a, 32, share, 264 * 256, o);
            cudaError_t e = cudaDeviceSynchronize(); if (e) { printf("%s\n", cudaGetErrorString(e)); return; }
            cudaMemcpy(h, o, ctas * 8, cudaMemcpyDeviceToHost);
            double s = 0, m = 0; for (int i = 0; i < ctas; i++) { s += h[i]; if (h[i] > m) m = h[i]; }
            if (r) { mean += s / ctas / 32 / 4; most += m / 32 / 4; }
        }
        printf("%d,%d,%d,%d,%d,%d,%.0f,%.0f\n", HOW, WIDTH, warps, ctas, share, cold, mean, most);
    }
}
int main() {
    float *a, *b; long long* o;
    cudaMalloc(&a, (size_t)264 * 256 * 4 * 256); cudaMalloc(&b, (size_t)256 << 20); cudaMalloc(&o, 1 << 20);
    cudaDeviceProp d; cudaGetDeviceProperties(&d, 0);
    printf("# device: %s, cycles are clock64 of the SM\nhow,width,warps,ctas,share,cold,cycles_each,cycles_of_the_last\n", d.name);
    go<0, 16>(a, b, o); go<1, 16>(a, b, o); go<0, 8>(a, b, o); go<1, 8>(a, b, o);
}
