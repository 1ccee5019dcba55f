// What a cp.async takes: of the way from L2 to shared memory, of shared memory's port, and of what runs beside it.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a copies.cu -o copies
// Run:   ./copies > ../data/h200_copies.csv      rows: probe,parameter,unit,median,low,high,repeats
#include "probe.cuh"

constexpr int WARPS = 16;

__device__ __forceinline__ void cp16(uint32_t to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
__device__ __forceinline__ void wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
__device__ __forceinline__ void ldsm(uint32_t (&r)[4], uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from) : "memory");
}
__device__ __forceinline__ void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// A turn of a warp: CP copies of 16 bytes a lane, LDSM times ldmatrix.x4, 32 mma.sync where MMA. The lanes of a copy read pieces of
// PIECE x 16 bytes, a kilobyte apart, from a region of 2 MB that all SMs read: each begins elsewhere. No barrier.
template <int CP, int LDSM, bool MMA, int PIECE>
__global__ void __launch_bounds__(WARPS * 32) k_turn(long long* out, const uint4* src) {
    extern __shared__ uint4 pool[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t mine = (uint32_t)__cvta_generic_to_shared(pool) + warp * 8192 + lane * 16;
    const uint4* g = src + lane / PIECE * 64 + lane % PIECE;
    uint32_t at = (blockIdx.x * 977 + warp * 61) * 2048;  // in units of 16 bytes: 32 KB apart
    float d[16][4];
    uint32_t f[12][4];
    for (int i = 0; i < 16; i++) for (int j = 0; j < 4; j++) d[i][j] = i + j;
    for (int i = 0; i < 12; i++) for (int j = 0; j < 4; j++) asm volatile("mov.u32 %0, 0x3f803f80;" : "=r"(f[i][j]));
    __syncthreads();
    long long t = clock64();
#pragma unroll 1
    for (int i = 0; i < LOOP; i++) {
        if (CP) {
#pragma unroll
            for (int c = 0; c < CP; c++) cp16(mine + (i % 2 * 4 + c) * 512, g + (at + c * 2 * PIECE) % 131072);
            at += 2048;
            commit();
            wait<2>();
        }
#pragma unroll
        for (int l = 0; l < LDSM; l++) ldsm(f[l], mine + (8 + l % 8) * 512);
        if (MMA)
#pragma unroll
            for (int k = 0; k < 2; k++)
#pragma unroll
                for (int m = 0; m < 4; m++)
#pragma unroll
                    for (int n = 0; n < 4; n++) mma(d[m * 4 + n], f[k * 4 + m], f[8 + k * 2 + n / 2][n % 2 * 2], f[8 + k * 2 + n / 2][n % 2 * 2 + 1]);
    }
    wait<0>();
    __syncthreads();
    t = clock64() - t;
    float s = 0;
    for (int i = 0; i < 16; i++) for (int j = 0; j < 4; j++) s += d[i][j];
    uint32_t x = 0;
    for (int i = 0; i < 12; i++) for (int j = 0; j < 4; j++) x ^= f[i][j];
    if (threadIdx.x == 0) out[blockIdx.x] = s == 1.5f || x == 77u ? 0 : t;
}

template <int CP, int LDSM, bool MMA, int PIECE>
static void turn(const char* probe, double parameter, int ctas, const uint4* buf) {
    auto* k = k_turn<CP, LDSM, MMA, PIECE>;
    CHECK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, WARPS * 8192));
    row(probe, parameter, "cycles", 1.0 / LOOP, [=] { k<<<ctas, WARPS * 32, WARPS * 8192>>>(d_out, buf); }, ctas);
}

int main() {
    const int sms = head();
    uint4* buf;
    CHECK(cudaMalloc(&buf, (size_t)64 << 20));
    CHECK(cudaMemset(buf, 0, (size_t)64 << 20));
    // Cycles of a turn of 16 warps. Four copies each, by bytes of a piece: one SM, then all.
    turn<4, 0, false, 32>("cp", 512, 1, buf);
    turn<4, 0, false, 8>("cp", 128, 1, buf);
    turn<4, 0, false, 4>("cp", 64, 1, buf);
    turn<4, 0, false, 2>("cp", 32, 1, buf);
    turn<4, 0, false, 32>("cp.all", 512, sms, buf);
    turn<4, 0, false, 8>("cp.all", 128, sms, buf);
    turn<4, 0, false, 4>("cp.all", 64, sms, buf);
    turn<4, 0, false, 2>("cp.all", 32, sms, buf);
    // Twelve ldmatrix.x4, alone and beside copies.
    turn<0, 12, false, 8>("lds", 0, 1, buf);
    turn<1, 12, false, 8>("lds_cp", 1, 1, buf);
    turn<2, 12, false, 8>("lds_cp", 2, 1, buf);
    turn<4, 12, false, 8>("lds_cp", 4, 1, buf);
    turn<4, 12, false, 32>("lds_cp.512", 4, 1, buf);
    turn<4, 12, false, 4>("lds_cp.64", 4, 1, buf);
    turn<4, 12, false, 2>("lds_cp.32", 4, 1, buf);
    // 32 mma.sync, alone and beside both.
    turn<0, 0, true, 8>("mma", 0, 1, buf);
    turn<0, 12, true, 8>("mma_lds", 0, 1, buf);
    turn<4, 0, true, 8>("mma_cp", 128, 1, buf);
    turn<4, 0, true, 4>("mma_cp", 64, 1, buf);
    turn<4, 12, true, 8>("mma_lds_cp", 128, 1, buf);
    turn<4, 12, true, 4>("mma_lds_cp", 64, 1, buf);
    turn<4, 12, true, 8>("mma_lds_cp.all", 128, sms, buf);
    turn<4, 12, true, 4>("mma_lds_cp.all", 64, sms, buf);
    return 0;
}
