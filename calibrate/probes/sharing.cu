// What the traffic of one SM's shared memory and first-level cache takes from each other: matrix products that read their operands there,
// loads and stores of shared memory, loads of global memory to registers, copies by cp.async.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a sharing.cu -o sharing
// Run:   ./sharing > ../data/h100_sharing.csv
// Columns: N of the products of one warpgroup (0: none), what eight warps do, what eight other warps do, SMs, cycles of 64 x N x 64, bytes a
// cycle of an SM of the one and of the other.
#include "probe.cuh"

enum What { NONE, STS, LDS, LDG, HALF, COPY };
static const char* NAMES[] = {"none", "sts", "lds", "ldg", "ldg_half", "copy"};
constexpr int LONG = 100000, TIMES = 800, TILE = 32768, POOL = 1024 + 2 * TILE + 2 * TILE, REGION = 1 << 18;

struct Note {
    long long products;
    double one, two;
};

// Sixteen bytes a lane, four at a time, until the products are done or the time is over. Returns the bytes a cycle of eight warps.
template <int WHAT>
__device__ __forceinline__ double work(int tid, uint32_t tile, const char* far, volatile int* left, long long t0) {
    long long n = 0;
    uint32_t s = 0, at = tile + tid * 16;
    // Whole lines, or 64 bytes of each of eight rows.
    const char* p = WHAT == HALF ? far + (tid / 4) * 128 + tid % 4 * 16 : far + tid * 16;
    constexpr int STEP = WHAT == HALF ? 8192 : 4096;
    for (int k = 0; (n & 7) || *left || clock64() - t0 < LONG; k = (k + 1) % (REGION / STEP / 4), n++) {
        if ((n & 7) == 0 && *left < 0) break;
        if constexpr (WHAT == STS)
            for (int i = 0; i < 4; i++) asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(at + i * 4096), "r"(s) : "memory");
        if constexpr (WHAT == LDS) {
            uint32_t v[4][4];
#pragma unroll
            for (int i = 0; i < 4; i++) asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v[i][0]), "=r"(v[i][1]), "=r"(v[i][2]), "=r"(v[i][3]) : "r"(at + i * 4096) : "memory");
#pragma unroll
            for (int i = 0; i < 4; i++) s ^= v[i][0] ^ v[i][1] ^ v[i][2] ^ v[i][3];
        }
        if constexpr (WHAT == LDG || WHAT == HALF) {
            uint32_t v[4][4];
#pragma unroll
            for (int i = 0; i < 4; i++) asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v[i][0]), "=r"(v[i][1]), "=r"(v[i][2]), "=r"(v[i][3]) : "l"(p + (k * 4 + i) * STEP) : "memory");
#pragma unroll
            for (int i = 0; i < 4; i++) s ^= v[i][0] ^ v[i][1] ^ v[i][2] ^ v[i][3];
        }
        if constexpr (WHAT == COPY) {
            for (int i = 0; i < 4; i++) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + i * 4096), "l"(p + (k * 4 + i) * STEP) : "memory");
            asm volatile("cp.async.commit_group;\ncp.async.wait_group 1;" ::: "memory");
        }
    }
    if (s == 12345) n = 0;
    return n * 256.0 * 64 / (clock64() - t0);
}

template <int N, int ONE, int TWO>
__global__ void __launch_bounds__(640) k_sharing(const char* far, Note* notes) {
    extern __shared__ unsigned char raw[];
    __shared__ volatile int left;
    const int tid = threadIdx.x;
    if (tid == 0) left = N > 0;
    const uint32_t pool = aligned(raw);
    for (uint32_t i = tid * 16; i < 4 * TILE; i += blockDim.x * 16) asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(pool + i), "r"(0) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    Note& note = notes[blockIdx.x];
    const long long t0 = clock64();
    far += (size_t)(blockIdx.x / 4) * 2 * REGION;  // all regions fit in L2
    if (tid < 128) {
        if constexpr (N > 0) {
            float d[N / 2];
            for (auto& x : d) x = 0;
            const uint64_t a = descriptor(pool), b = descriptor(pool + 8192);
            for (int r = 0; r < TIMES; r++) {
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
                for (int k = 0; k < 4; k++) wgmma<N>(d, a + k * 2, b + k * 2);
                asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;" ::: "memory");
            }
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
            if (tid == 0) note.products = clock64() - t0, left = -1;
            float s = 0;
            for (float x : d) s += x;
            if (s == 1.2345f) note.products = 0;
        }
    } else if (tid < 384) {
        const double n = work<ONE>(tid - 128, pool + 2 * TILE, far, &left, t0);
        if (tid == 128) note.one = n;
    } else {
        const double n = work<TWO>(tid - 384, pool + 3 * TILE, far + REGION, &left, t0);
        if (tid == 384) note.two = n;
    }
}

static char* src;
static Note* notes;

template <int N, int ONE, int TWO>
static void go(int sms) {
    CHECK(cudaFuncSetAttribute(k_sharing<N, ONE, TWO>, cudaFuncAttributeMaxDynamicSharedMemorySize, POOL));
    std::vector<double> products, one, two;
    std::vector<Note> h(sms);
    CHECK(cudaMemset(notes, 0, sms * sizeof(Note)));
    for (int r = 0; r <= 5; r++) {
        k_sharing<N, ONE, TWO><<<sms, 640, POOL>>>(src, notes);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(h.data(), notes, sms * sizeof(Note), cudaMemcpyDeviceToHost));
        double p = 0, a = 0, b = 0;
        for (auto& x : h) p += (double)x.products / sms, a += x.one / sms, b += x.two / sms;
        if (r) products.push_back(p / TIMES), one.push_back(a), two.push_back(b);
    }
    auto m = [](std::vector<double>& v) { std::sort(v.begin(), v.end()); return v[v.size() / 2]; };
    printf("%d,%s,%s,%d,%.1f,%.1f,%.1f\n", N, NAMES[ONE], NAMES[TWO], sms, m(products), m(one), m(two));
    fflush(stdout);
}

template <int ONE, int TWO>
static void all() {
    for (int sms : {1, 132}) go<0, ONE, TWO>(sms), go<64, ONE, TWO>(sms), go<128, ONE, TWO>(sms);
}

int main() {
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    CHECK(cudaMalloc(&src, (size_t)33 * 2 * REGION));
    CHECK(cudaMemset(src, 0, (size_t)33 * 2 * REGION));
    CHECK(cudaMalloc(&notes, 132 * sizeof(Note)));
    printf("# device: %s, %d SMs, cycles are clock64 of the SM\n", p.name, p.multiProcessorCount);
    printf("n,one,two,sms,cycles_64xnx64,one_per_clk,two_per_clk\n");
    all<NONE, NONE>(), all<STS, NONE>(), all<LDS, NONE>(), all<LDG, NONE>(), all<HALF, NONE>(), all<COPY, NONE>();
    all<STS, STS>(), all<LDS, STS>(), all<LDG, STS>(), all<HALF, STS>(), all<COPY, STS>(), all<LDG, LDS>(), all<COPY, LDS>(), all<LDG, LDG>(), all<HALF, HALF>(), all<COPY, COPY>();
    return 0;
}
