// Fences of device scope and atomic additions that release, one behind the other: cycles of each.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a fence.cu -o fence
// Run:   ./fence > ../data/h100_fence.csv   (how: 0 red relaxed of 16 bytes a lane, 1 atom acq_rel of the same, 2 and 3 of four bytes,
//        4 fence.acq_rel.gpu, 5 a store and the fence; share: CTAs that add to the same words)
#include <cstdio>
#include <cuda_runtime.h>
__device__ __forceinline__ void add(float* p, float v, int how) {
    if (how == 0) asm volatile("red.global.gpu.relaxed.add.v4.f32 [%0], {%1,%1,%1,%1};" :: "l"(p), "f"(v) : "memory");
    if (how == 1) asm volatile("{ .reg .f32 a,b,c,d; atom.global.gpu.acq_rel.add.v4.f32 {a,b,c,d}, [%0], {%1,%1,%1,%1}; }" :: "l"(p), "f"(v) : "memory");
    if (how == 2) asm volatile("red.global.gpu.relaxed.add.f32 [%0], %1;" :: "l"(p), "f"(v) : "memory");
    if (how == 3) asm volatile("{ .reg .f32 a; atom.global.gpu.acq_rel.add.f32 a, [%0], %1; }" :: "l"(p), "f"(v) : "memory");
    if (how == 4) asm volatile("fence.acq_rel.gpu;" ::: "memory");
    if (how == 5) { asm volatile("st.global.v4.f32 [%0], {%1,%1,%1,%1};" :: "l"(p), "f"(v) : "memory"); asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
}
// Each CTA: n steps, each warp adds to its own 512 bytes; `share` CTAs add to the same.
template <int HOW> __global__ void k(float* a, int n, int share, long long* out) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float* p = a + ((size_t)(blockIdx.x / share) * 64 * n * 32 / 8) + (size_t)warp * n * 128 + lane * 4;
    long long t0 = clock64();
    for (int i = 0; i < n; i++) add(p + i * 128, 1.0f, HOW);
    if (HOW == 0 || HOW == 2) asm volatile("fence.acq_rel.gpu;" ::: "memory");
    long long t1 = clock64();
    if (threadIdx.x == 0) out[blockIdx.x] = t1 - t0;
}
template <int HOW> void go(float* a, long long* o) {
    static long long h[1024];
    for (int warps : {1, 4}) for (int ctas : {1, 128, 264}) for (int share : {1, 4}) {
        for (int r = 0; r < 3; r++) { k<HOW><<<ctas, warps * 32>>>(a, 16, share, o); }
        cudaError_t e = cudaDeviceSynchronize(); if (e) { printf("%s\n", cudaGetErrorString(e)); return; }
        cudaMemcpy(h, o, ctas * 8, cudaMemcpyDeviceToHost); double s = 0; for (int i = 0; i < ctas; i++) s += h[i];
        printf("%d,%d,%d,%d,%.0f\n", HOW, warps, ctas, share, s / ctas / 16);
    }
}
int main() { float* a; long long* o; cudaMalloc(&a, 1u << 30); cudaMalloc(&o, 1 << 20); printf("how,warps,ctas,share,cycles_each\n");
    go<0>(a, o); go<1>(a, o); go<2>(a, o); go<3>(a, o); go<4>(a, o); go<5>(a, o); }
