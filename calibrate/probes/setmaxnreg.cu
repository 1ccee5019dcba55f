// Which registers a warp can get by setmaxnreg: of a warpgroup that is not whole, and with counts that are no change.
// A kernel that waits for ever is killed after 8 s: each line of the table is a build and a process of its own.
// Build: nvcc -gencode arch=compute_90a,code=sm_90a -DTHREADS=320 -DINC=240 -DMID=0 -DDEC=24 -DLAST_WARPS=2 setmaxnreg.cu -o k
// Run:   timeout -s KILL 8 ./k
// The lines of ../data/h200_setmaxnreg.csv have the values for -D, the registers that ptxas -v gives, and the outcome.
#include <cstdio>
#include <cuda_runtime.h>

// Warpgroup 0 asks for INC registers. Warpgroup 1 keeps MID, or does nothing for 0. Of the warps behind, the first
// LAST_WARPS keep DEC.
__global__ void __launch_bounds__(THREADS, 1) k(unsigned long long* out) {
    const int w = threadIdx.x / 32;
    const unsigned long long t0 = clock64();
    if (w < 4) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(INC));
    } else if (w < 8) {
#if MID
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(MID));
#endif
    } else if (w < 8 + LAST_WARPS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(DEC));
    }
    if (threadIdx.x % 32 == 0) out[w] = clock64() - t0;
}

int main() {
    unsigned long long* d;
    cudaMalloc(&d, 1024);
    k<<<1, THREADS>>>(d);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
