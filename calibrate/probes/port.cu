// What passes between an SM and the second-level cache: copies to shared memory, loads to registers and stores, alone and beside each
// other, and at which of the chip's clocks.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a port.cu -o port
// Run:   ./port > ../data/h200_port.csv
#include "probe.cuh"

// A box is 128 rows of 128 bytes, 16 KB; eight of them are read again and again, from L2.
constexpr int BOX = 16384, ROWS = 128, BOXES = 8, DEPTH = 6, STORERS = 128, THREADS = 512;
constexpr int POOL = 1024 + DEPTH * BOX + 100 * 1024;  // one CTA an SM
constexpr size_t REGION = 1 << 18;                     // what an SM stores to, again and again

// How stores leave: not at all, as an accumulator lies (a warp writes 16 bytes of each of eight rows), 64 bytes of each of eight rows,
// whole lines.
enum Way { NONE, PIECES, HALVES, WHOLE };

struct Note {
    long long loads, stores, stored;  // cycles of the loads, of the stores, bytes stored
    unsigned long long begun, ended;  // nanoseconds
};

// `n` boxes by one thread, DEPTH in flight.
__device__ void boxes(const CUtensorMap* map, uint32_t pool, uint32_t bar, int n) {
    for (int i = 0, d = 0, phase = 1; i < n + DEPTH; i++, d++) {
        if (d == DEPTH) d = 0, phase ^= 1;
        if (i >= DEPTH) wait_for(bar + d * 8, phase);
        if (i >= n) continue;
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar + d * 8), "r"(BOX) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                     ::"r"(pool + d * BOX), "l"(map), "r"(0), "r"(i % BOXES * ROWS), "r"(bar + d * 8) : "memory");
    }
}
// 8 KB by four warps.
template <int WAY>
__device__ __forceinline__ void store(char* to, int tid) {
    const int warp = tid / 32, lane = tid % 32;
    if (WAY == PIECES)  // rows of 128 bytes: a row's line is full after eight instructions
        for (int i = 0; i < 16; i++)
            asm volatile("st.global.b32 [%0], %1;" ::"l"(to + (warp * 16 + i / 8 * 8 + lane / 4) * 128 + i % 8 * 16 + lane % 4 * 4), "r"(i) : "memory");
    if (WAY == HALVES)
        for (int i = 0; i < 4; i++)
            asm volatile("st.global.v4.b32 [%0], {%1, %1, %1, %1};" ::"l"(to + (warp * 16 + i / 2 * 8 + lane / 4) * 128 + i % 2 * 64 + lane % 4 * 16), "r"(i) : "memory");
    if (WAY == WHOLE)
        for (int i = 0; i < 4; i++)
            asm volatile("st.global.v4.b32 [%0], {%1, %1, %1, %1};" ::"l"(to + (warp * 4 + i) * 512 + lane * 16), "r"(i) : "memory");
}
// Thread 0 loads `n` boxes; four warps store until it is done, or, where there are none to load, 512 KB.
template <int WAY>
__global__ void __launch_bounds__(THREADS) k_both(const __grid_constant__ CUtensorMap map, char* dst, Note* notes, int n) {
    extern __shared__ unsigned char raw[];
    __shared__ uint64_t full[DEPTH];
    __shared__ volatile int done;
    const int tid = threadIdx.x;
    const uint32_t pool = ((uint32_t)__cvta_generic_to_shared(raw) + 1023) & ~1023u, bar = (uint32_t)__cvta_generic_to_shared(full);
    if (tid == 0) {
        done = 0;
        for (int d = 0; d < DEPTH; d++) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar + d * 8) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    Note& note = notes[blockIdx.x];
    const long long t0 = clock64();
    if (tid == 0) {
        note.begun = now();
        if (n) boxes(&map, pool, bar, n);
        note.loads = clock64() - t0;
        note.ended = now();
        done = n > 0;
    }
    if (WAY != NONE && tid >= THREADS - STORERS) {
        char* to = dst + blockIdx.x * REGION;
        long long bytes = 0;
        while (n ? !done : bytes < 1 << 19) {
            store<WAY>(to + bytes % REGION, tid - (THREADS - STORERS));
            bytes += STORERS * 64;
        }
        if (tid == THREADS - 1) note.stores = clock64() - t0, note.stored = bytes;
    }
}
// 512 threads read `bytes` twice, past L1; the second time counts.
__global__ void __launch_bounds__(THREADS) k_ldg(const uint4* src, Note* notes, size_t bytes) {
    uint4 acc = make_uint4(0, 0, 0, 0);
    Note& note = notes[blockIdx.x];
    long long t0 = 0;
    for (int pass = 0; pass < 2; pass++) {
        __syncthreads();
        if (threadIdx.x == 0) note.begun = now();
        t0 = clock64();
        for (size_t i = threadIdx.x; i < bytes / 16; i += THREADS * 8) {
            uint4 v[8];
#pragma unroll
            for (int j = 0; j < 8; j++)
                asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v[j].x), "=r"(v[j].y), "=r"(v[j].z), "=r"(v[j].w)
                             : "l"(src + (i + j * THREADS) % (bytes / 16)));
#pragma unroll
            for (int j = 0; j < 8; j++) acc.x ^= v[j].x ^ v[j].y ^ v[j].z ^ v[j].w;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) note.loads = clock64() - t0, note.ended = now();
    if (acc.x == 0x12345678) note.loads = 0;
}
// CTA 0 loads boxes, a round each half millisecond; the others multiply until it is done, so that the cores' clock falls.
__global__ void __launch_bounds__(THREADS) k_clock(const __grid_constant__ CUtensorMap map, Note* notes, int rounds, volatile int* over) {
    extern __shared__ unsigned char raw[];
    __shared__ uint64_t full[DEPTH];
    const int tid = threadIdx.x;
    const uint32_t pool = ((uint32_t)__cvta_generic_to_shared(raw) + 1023) & ~1023u, bar = (uint32_t)__cvta_generic_to_shared(full);
    if (blockIdx.x == 0) {
        if (tid) return;
        for (int d = 0; d < DEPTH; d++) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar + d * 8) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        const unsigned long long first = now();
        for (int r = 0; r < rounds; r++) {
            while (now() < first + r * 500000ull) __nanosleep(200);
            notes[r].begun = now();
            const long long t0 = clock64();
            boxes(&map, pool, bar, 6 * 8 * BOXES);  // a multiple of DEPTH, and of its phases
            notes[r].loads = clock64() - t0;
            notes[r].ended = now();
        }
        *over = 1;
        return;
    }
    float d[8][4] = {};
    uint32_t x = (blockIdx.x * THREADS + tid) * 2654435761u, a[4], b[2];
    auto draw = [&] { x ^= x << 13, x ^= x >> 17, x ^= x << 5; return (x & 0x80ff80ffu) | 0x3e003e00u; };  // bf16 about 1/8, either sign
    for (auto& v : a) v = draw();
    for (auto& v : b) v = draw();
    while (!*over) {
        for (int k = 0; k < 256; k++)
#pragma unroll
            for (int i = 0; i < 8; i++)
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                             : "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
                             : "r"(a[0] + i * 0x10001), "r"(a[1]), "r"(a[2] ^ i), "r"(a[3]), "r"(b[0]), "r"(b[1] ^ i));
        a[0] = draw(), b[0] = draw();
    }
    if (d[0][0] == 1.5e30f) notes[0].loads = 0;
}

static int sms;
static char* src;
static char* dst;
static Note* notes;
static CUtensorMap map;

static void say(const char* probe, const char* beside, double parameter, int n, std::vector<double> loads, std::vector<double> stores, double mhz) {
    std::sort(loads.begin(), loads.end()), std::sort(stores.begin(), stores.end());
    printf("%s,%s,%g,%d", probe, beside, parameter, n);
    for (auto* v : {&loads, &stores})
        if (v->empty()) printf(",,,");
        else printf(",%.2f,%.2f,%.2f", (*v)[v->size() / 2], v->front(), v->back());
    printf(",%.0f\n", mhz);
    fflush(stdout);
}
template <typename F>
static void launches(const char* probe, const char* beside, double parameter, int n, double bytes, bool stores, F go) {
    std::vector<double> l, s;
    std::vector<Note> h(n);
    double mhz = 0;
    for (int r = 0; r <= REPEATS; r++) {
        go();
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(h.data(), notes, n * sizeof(Note), cudaMemcpyDeviceToHost));
        double a = 0, b = 0;
        for (auto& x : h) a += bytes / x.loads / n, b += stores ? (double)x.stored / x.stores / n : 0;
        if (!r) continue;
        if (bytes) l.push_back(a), mhz = 1e3 * h[0].loads / (h[0].ended - h[0].begun);
        if (stores) s.push_back(b);
    }
    say(probe, beside, parameter, n, l, s, mhz);
}

int main() {
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    sms = p.multiProcessorCount;
    CHECK(cudaMalloc(&src, 64 << 20));
    CHECK(cudaMemset(src, 1, 64 << 20));
    CHECK(cudaMalloc(&dst, sms * REGION));
    CHECK(cudaMalloc(&notes, 4096 * sizeof(Note)));
    CHECK(cudaMemset(notes, 0, 4096 * sizeof(Note)));
    map = tensor_map(src, 64, ROWS * BOXES, ROWS);
    auto both = [&](auto way, const char* name) {
        constexpr int WAY = decltype(way)::value;
        CHECK(cudaFuncSetAttribute(k_both<WAY>, cudaFuncAttributeMaxDynamicSharedMemorySize, POOL));
        for (int n : {1, sms}) {
            for (int count : {0, 768}) {
                if (!count && WAY == NONE) continue;
                launches("tma", name, count * (double)BOX / 1024, n, (double)count * BOX, WAY != NONE, [=] { k_both<WAY><<<n, THREADS, POOL>>>(map, dst, notes, count); });
            }
        }
    };
    printf("# device: %s, %d SMs, cycles are clock64 of the SM\n", p.name, sms);
    printf("probe,stores,kb,sms,loads_per_clk,low,high,stores_per_clk,low,high,mhz\n");
    both(std::integral_constant<int, NONE>(), "none");
    both(std::integral_constant<int, PIECES>(), "pieces");
    both(std::integral_constant<int, HALVES>(), "halves");
    both(std::integral_constant<int, WHOLE>(), "whole");
    for (int n : {1, sms})
        for (int kb : {256, 1024, 4096, 16384}) {
            const size_t bytes = (size_t)kb << 10;
            launches("ldg", "none", kb, n, (double)bytes, false, [=] { k_ldg<<<n, THREADS>>>((uint4*)src, notes, bytes); });
        }
    CHECK(cudaFuncSetAttribute(k_clock, cudaFuncAttributeMaxDynamicSharedMemorySize, POOL));
    int* over;
    CHECK(cudaMalloc(&over, sizeof(int)));
    CHECK(cudaMemset(over, 0, sizeof(int)));
    const int rounds = 600;
    k_clock<<<sms, THREADS, POOL>>>(map, notes, rounds, over);
    CHECK(cudaDeviceSynchronize());
    std::vector<Note> h(rounds);
    CHECK(cudaMemcpy(h.data(), notes, rounds * sizeof(Note), cudaMemcpyDeviceToHost));
    for (int r = 0; r < rounds; r += 50) {
        std::vector<double> l;
        double mhz = 0;
        for (int i = r; i < r + 50; i++) l.push_back(6.0 * 8 * BOXES * BOX / h[i].loads), mhz += 1e3 * h[i].loads / (h[i].ended - h[i].begun) / 50;
        say("clock", "none", r / 2.0, 1, l, {}, mhz);
    }
    return 0;
}
