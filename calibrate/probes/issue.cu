// What a scheduler issues beside its mma.sync: whether it fits between products or takes their time.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a issue.cu -o issue
// Run:   ./issue > ../data/h200_issue.csv      rows: probe,parameter,unit,median,low,high,repeats
#include "probe.cuh"

enum What { INT, FMA, LDSM };

// A turn of a warp: 32 mma.sync m16n8k16 on 16 sums where MMA, and N other instructions, spread between them or before them all.
// Eight ldmatrix at most: more would read an address again, and the compiler merges those.
template <int WARPS, bool MMA, What OTHER, int N, bool SPREAD>
__global__ void __launch_bounds__(WARPS * 32) k_turn(long long* out) {
    extern __shared__ uint4 pool[];
    uint32_t mine = (uint32_t)__cvta_generic_to_shared(pool) + threadIdx.x * 16;
    float d[16][4], y[8];
    uint32_t a[4], b[2], x[8], f[8][4];
    for (int i = 0; i < 16; i++) for (int j = 0; j < 4; j++) d[i][j] = i + j;
    for (int i = 0; i < 8; i++) pool[threadIdx.x + i * WARPS * 32] = make_uint4(threadIdx.x, 2, 3, 4);
    __syncthreads();
    // From memory, so that the compiler keeps them in registers and does not find them alike in all lanes.
    for (int i = 0; i < 4; i++) a[i] = ((volatile uint32_t*)pool)[threadIdx.x * 4 + i];
    for (int i = 0; i < 8; i++) for (int j = 0; j < 4; j++) f[i][j] = a[j];
    for (int i = 0; i < 2; i++) b[i] = a[i] ^ a[2];
    for (int i = 0; i < 8; i++) x[i] = a[i % 4] + i, y[i] = i;
    __syncthreads();
    long long t = clock64();
    auto other = [&](int i) {
        if (OTHER == INT) asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(x[i % 8]) : "r"(a[0]), "r"(a[1]));
        if (OTHER == FMA) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(y[i % 8]));
        if (OTHER == LDSM) asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(f[i % 8][0]), "=r"(f[i % 8][1]), "=r"(f[i % 8][2]), "=r"(f[i % 8][3]) : "r"(mine + i % 8 * WARPS * 512) : "memory");
    };
#pragma unroll 1
    for (int i = 0; i < LOOP; i++) {
        mine ^= 16;  // the same addresses would be read once
        if (!SPREAD || !MMA)
#pragma unroll
            for (int n = 0; n < N; n++) other(n);
        if (MMA)
#pragma unroll
            for (int k = 0; k < 32; k++) {
                float(&s)[4] = d[k % 16];
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                    : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
                    : "r"(f[k % 8][0]), "r"(f[k % 8][1]), "r"(f[k % 8][2]), "r"(f[k % 8][3]), "r"(b[0]), "r"(b[1]));
                if (SPREAD)
#pragma unroll
                    for (int n = N * k / 32; n < N * (k + 1) / 32; n++) other(n);
            }
    }
    t = clock64() - t;
    float s = 0;
    for (int i = 0; i < 16; i++) for (int j = 0; j < 4; j++) s += d[i][j];
    for (int i = 0; i < 8; i++) s += y[i] + __uint_as_float(x[i]) + __uint_as_float(f[i][0]);
    if (threadIdx.x == 0) out[blockIdx.x] = s == 1.5f ? 0 : t;
}

template <int WARPS, bool MMA, What OTHER, int N, bool SPREAD>
static void turn(const char* probe, double parameter) {
    auto* k = k_turn<WARPS, MMA, OTHER, N, SPREAD>;
    CHECK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, WARPS * 4096));
    row(probe, parameter, "cycles", 1.0 / LOOP, [=] { k<<<1, WARPS * 32, WARPS * 4096>>>(d_out); }, 1);
}
template <int WARPS, What OTHER, bool SPREAD>
static void beside(const char* probe) {
    turn<WARPS, true, OTHER, 8, SPREAD>(probe, 8);
    turn<WARPS, true, OTHER, 16, SPREAD>(probe, 16);
    turn<WARPS, true, OTHER, 32, SPREAD>(probe, 32);
    turn<WARPS, true, OTHER, 64, SPREAD>(probe, 64);
    turn<WARPS, true, OTHER, 128, SPREAD>(probe, 128);
}

int main() {
    head();
    // Cycles of a turn, by warps, and by other instructions of a warp.
    turn<4, true, INT, 0, true>("mma", 4);
    turn<8, true, INT, 0, true>("mma", 8);
    turn<16, true, INT, 0, true>("mma", 16);
    beside<4, INT, true>("int.4");
    beside<8, INT, true>("int.8");
    beside<16, INT, true>("int.16");
    beside<16, INT, false>("int.before.16");
    beside<16, FMA, true>("fma.16");
    turn<4, true, LDSM, 8, true>("ldmatrix.4", 8);
    turn<8, true, LDSM, 8, true>("ldmatrix.8", 8);
    turn<16, true, LDSM, 8, true>("ldmatrix.16", 8);
    turn<16, true, LDSM, 8, false>("ldmatrix.before.16", 8);
    turn<16, false, INT, 128, false>("int.alone.16", 128);
    turn<16, false, FMA, 128, false>("fma.alone.16", 128);
    return 0;
}
