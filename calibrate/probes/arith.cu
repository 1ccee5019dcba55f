// What arithmetic of other warps and wgmma take from each other.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a arith.cu -o arith
// Run:   ./arith > ../data/h100_arith.csv
// Columns: N of the products (0: none), whether A is in registers, warpgroups that multiply, the instruction of the other warps, how many
// of those a scheduler has, cycles of 64 x N x 64, warp instructions a cycle of a scheduler.
#include "probe.cuh"

constexpr int TIMES = 400, POOL = 1024 + 2 * 8192 + 32768;
enum What { FFMA, FADD, FMUL, FMAX, EX2, PACK, IADD, LOP, SHFL, MIX };
static const char* NAMES[] = {"ffma", "fadd", "fmul", "fmax", "ex2", "pack", "iadd", "lop", "shfl", "mix"};

struct Note {
    long long products, time, count;
};

#define D8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define D32(i) D8(i), D8(i + 8), D8(i + 16), D8(i + 24)
template <int N>
__device__ __forceinline__ void product(float (&d)[N / 2], const uint32_t (&a)[4], uint64_t b);
template <>
__device__ __forceinline__ void product<64>(float (&d)[32], const uint32_t (&a)[4], uint64_t b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,"
        "%27,%28,%29,%30,%31}, {%32,%33,%34,%35}, %36, 1, 1, 1, 0;"
        : D32(0)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
template <>
__device__ __forceinline__ void product<128>(float (&d)[64], const uint32_t (&a)[4], uint64_t b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,"
        "%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,"
        "%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, {%64,%65,%66,%67}, %68, 1, 1, 1, 0;"
        : D32(0), D32(32)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

template <What W>
__device__ __forceinline__ void one(int i, float (&y)[8], uint32_t (&x)[8], const float (&c)[4]) {
    float& v = y[i % 8];
    uint32_t& u = x[i % 8];
    if (W == FFMA || (W == MIX && i % 4 == 0)) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(v) : "f"(c[i % 2]), "f"(c[2 + i % 2]));
    if (W == FADD || (W == MIX && i % 4 == 1)) asm volatile("add.f32 %0, %0, %1;" : "+f"(v) : "f"(c[i % 4]));
    if (W == FMUL || (W == MIX && i % 4 == 2)) asm volatile("mul.f32 %0, %0, %1;" : "+f"(v) : "f"(c[i % 4]));
    if (W == FMAX || (W == MIX && i % 4 == 3)) asm volatile("max.f32 %0, %0, %1;" : "+f"(v) : "f"(c[i % 4]));
    if (W == EX2) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(v));
    if (W == PACK) asm volatile("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(u) : "f"(__uint_as_float(u)), "f"(c[i % 4]));
    if (W == IADD) asm volatile("add.s32 %0, %0, %1;" : "+r"(u) : "r"(__float_as_uint(c[i % 4])));
    if (W == LOP) asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(u) : "r"(__float_as_uint(c[i % 2])), "r"(__float_as_uint(c[2 + i % 2])));
    if (W == SHFL) asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 0x1f, -1;" : "+r"(u));
}

template <int N, bool RS, What W>
__global__ void __launch_bounds__(512) k_arith(Note* notes, int groups) {
    extern __shared__ unsigned char raw[];
    __shared__ volatile int left;
    const int tid = threadIdx.x;
    if (tid == 0) left = groups;
    const uint32_t tiles = aligned(raw);
    for (uint32_t i = tid * 16; i < 2 * 8192 + 32768; i += blockDim.x * 16) asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(tiles + i), "r"(0x3c003c00) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    Note& note = notes[blockIdx.x];
    const long long t0 = clock64();
    if (N && tid / 128 < groups) {
        constexpr int M = N ? N : 64;
        float d[M / 2];
        for (auto& v : d) v = 0;
        const uint64_t a = descriptor(tiles + (tid / 128 % 2) * 8192), b = descriptor(tiles + 16384);
        const uint32_t r[4] = {0x3c003c00u + tid, 0x3c003c00u, 0x3c003c01u, 0x3c003c02u};
        for (int t = 0; t < TIMES; t++) {
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
            for (int k = 0; k < 4; k++) {
                if (RS) product<M>(d, r, b + k * 2);
                else wgmma<M>(d, a + k * 2, b + k * 2);
            }
            asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;" ::: "memory");
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        if (tid % 128 == 0) note.products = clock64() - t0, atomicSub((int*)&left, 1);
        float s = 0;
        for (float v : d) s += v;
        if (s == 1.2345f) note.products = 0;
    } else {
        float y[8], c[4];
        uint32_t x[8];
        for (int i = 0; i < 8; i++) y[i] = tid + i, x[i] = tid ^ i;
        for (int i = 0; i < 4; i++) c[i] = ((volatile float*)raw)[tid % 32 + 64 + i];
        long long count = 0;
        for (int t = 0; N ? left > 0 : t < TIMES; t++) {
#pragma unroll
            for (int i = 0; i < 128; i++) one<W>(i, y, x, c);
            count += 128;
        }
        if (tid % 128 == 0 && tid / 128 == groups) note.time = clock64() - t0, note.count = count;
        float s = 0;
        for (int i = 0; i < 8; i++) s += y[i] + x[i];
        if (s == 1.2345f) note.count = 0;
    }
}

static Note* notes;

template <int N, bool RS, What W>
static void go(int groups, int others) {
    auto f = k_arith<N, RS, W>;
    CHECK(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, POOL));
    std::vector<double> products, rates;
    Note h;
    for (int r = 0; r <= 5; r++) {
        f<<<1, (groups + others) * 128, POOL>>>(notes, groups);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(&h, notes, sizeof(Note), cudaMemcpyDeviceToHost));
        if (r) products.push_back((double)h.products / TIMES), rates.push_back(others * (double)h.count / h.time);
    }
    std::sort(products.begin(), products.end()), std::sort(rates.begin(), rates.end());
    printf("%d,%d,%d,%s,%d,%.1f,%.3f\n", N, RS, groups, NAMES[W], others, N ? products[2] : 0, rates[2]);
    fflush(stdout);
}

template <What W>
static void all() {
    for (int others : {1, 2}) {
        go<0, false, W>(0, others);
        for (int groups : {1, 2}) go<64, false, W>(groups, others), go<64, true, W>(groups, others), go<128, false, W>(groups, others), go<128, true, W>(groups, others);
    }
}

int main() {
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    CHECK(cudaMalloc(&notes, sizeof(Note)));
    printf("# device: %s, cycles are clock64 of the SM\n", p.name);
    printf("n,registers,groups,what,others,cycles_64xnx64,instructions_per_clk\n");
    all<FFMA>(), all<FADD>(), all<FMUL>(), all<FMAX>(), all<EX2>(), all<PACK>(), all<IADD>(), all<LOP>(), all<SHFL>(), all<MIX>();
    return 0;
}
