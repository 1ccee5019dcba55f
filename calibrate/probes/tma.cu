// Whether a TMA instruction holds its scheduler: a warp issues copies back to back, another warp of the scheduler adds meanwhile.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a tma.cu -o tma -lcuda
// Run:   ./tma > ../data/h100_tma.csv
#include "probe.cuh"

// Copies of a warp, additions of the other, rounds, and rounds that are counted.
constexpr int COPIES = 8, ADDITIONS = 256, ROUNDS = 16, COUNTED = 8;

// Warps 0 and 4 are on one scheduler, with warp 8. `issuing` has a bit for each of the first two.
__global__ void k_beside(const __grid_constant__ CUtensorMap map, long long* out, int bytes, int issuing, int adding) {
    extern __shared__ unsigned char raw[];
    __shared__ uint64_t full[2];
    const uint32_t pool = aligned(raw), bars = barriers(full, 2);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, turn = warp / 4;
    long long sum = 0;
    float x[4] = {1, 2, 3, 4};
    for (int i = 0; i < ROUNDS; i++) {
        __syncthreads();
        if (warp % 4 == 0 && turn < 2 && (issuing >> turn & 1)) {
            const uint32_t bar = bars + 8 * turn;
            if (lane == 0) {
                expect(bar, COPIES * bytes);
                const long long t = clock64();
#pragma unroll
                for (int j = 0; j < COPIES; j++) load_box(pool + (turn * COPIES + j) * bytes, &map, 0, 0, bar);
                if (i >= ROUNDS - COUNTED) sum += clock64() - t;
            }
            wait_for(bar, i & 1);
        } else if (warp == 8 && adding) {
            const long long t = clock64();
#pragma unroll
            for (int j = 0; j < ADDITIONS; j++) asm volatile("add.f32 %0, %0, %1;" : "+f"(x[j & 3]) : "f"(1.5f));
            if (i >= ROUNDS - COUNTED) sum += clock64() - t;
        }
    }
    if (lane == 0 && warp % 4 == 0) out[turn] = sum / COUNTED;
    if (x[0] + x[1] + x[2] + x[3] == 77.125f) out[3] = 1;
}

int main() {
    long long *out, cycles[3];
    char* data;
    CHECK(cudaMalloc(&out, 64));
    CHECK(cudaMalloc(&data, 1 << 20));
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    printf("# device: %s, cycles are clock64 of the SM\n", p.name);
    printf("rows,issuing,copies_0,copies_4,additions\n");
    for (int rows : {8, 64}) {
        const CUtensorMap map = tensor_map(data, 64, (1 << 20) / 128, rows);
        const int bytes = rows * 128, pool = 2 * COPIES * bytes + 1024;
        CHECK(cudaFuncSetAttribute(k_beside, cudaFuncAttributeMaxDynamicSharedMemorySize, pool));
        for (int issuing : {0, 1, 2, 3}) {
            k_beside<<<1, 288, pool>>>(map, out, bytes, issuing, 1);
            CHECK(cudaMemcpy(cycles, out, sizeof cycles, cudaMemcpyDeviceToHost));
            printf("%d,%d,%lld,%lld,%lld\n", rows, issuing, cycles[0], cycles[1], cycles[2]);
        }
    }
}
