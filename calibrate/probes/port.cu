// What passes between an SM and the second-level cache: copies to shared memory by bytes in flight, loads to registers and stores, alone
// and beside each other, and at which of the chip's clocks.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a port.cu -o port
// Run:   ./port > ../data/h200_port.csv
#include "probe.cuh"

// A box is 128 rows of 128 bytes, 16 KB. An SM reads eight of them again and again, from L2: its own, or the same as all others.
constexpr int BOX = 16384, ROWS = 128, BOXES = 8, MOST = 12, THREADS = 512;
constexpr int POOL = 1024 + MOST * BOX;  // one CTA an SM
constexpr int TIMES = 384;               // boxes a launch
constexpr size_t REGION = 1 << 18;       // what an SM stores to, again and again

// How stores leave: not at all, as an accumulator lies (a warp writes 16 bytes of each of eight rows), 64 bytes of each of eight rows,
// whole lines.
enum Way { NONE, PIECES, HALVES, WHOLE };

struct Note {
    long long loads, stores, stored;  // cycles of the loads, of the stores, bytes stored
    unsigned long long begun, ended;  // nanoseconds
};
// So many boxes a step, so many steps in flight. One box a step is bound by the loop of the thread that waits and asks: 205 cycles and more.
struct Ahead {
    int per, steps;
    bool own;
};

__device__ __forceinline__ int first_row(const Ahead& a) { return (a.own ? blockIdx.x : 0) * BOXES * ROWS; }
// All boxes, by one thread.
__device__ void boxes(const CUtensorMap* map, uint32_t pool, uint32_t bar, Ahead a) {
    const int n = TIMES / a.per, row = first_row(a);
    for (int i = 0, d = 0, phase = 1, box = 0; i < n + a.steps; i++, d++) {
        if (d == a.steps) d = 0, phase ^= 1;
        if (i >= a.steps) wait_for(bar + d * 8, phase);
        if (i >= n) continue;
        expect(bar + d * 8, a.per * BOX);
        for (int j = 0; j < a.per; j++, box = (box + 1) % BOXES)
            load_box(pool + (d * a.per + j) * BOX, map, 0, row + box * ROWS, bar + d * 8);
    }
}
// Like noise; a single value for all is no faster.
__device__ __forceinline__ uint32_t drawn(uint32_t i) {
    i *= 2654435761u, i ^= i >> 15, i *= 2246822519u;
    return i ^ i >> 13;
}
__global__ void k_fill(uint32_t* p, size_t n) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) p[i] = drawn(i);
}
// 8 KB by four warps.
template <int WAY>
__device__ __forceinline__ void store(char* to, int tid, const uint32_t (&v)[4]) {
    const int warp = tid / 32, lane = tid % 32;
    if (WAY == PIECES)  // rows of 128 bytes: a row's line is full after eight instructions
        for (int i = 0; i < 16; i++)
            asm volatile("st.global.b32 [%0], %1;" ::"l"(to + (warp * 16 + i / 8 * 8 + lane / 4) * 128 + i % 8 * 16 + lane % 4 * 4), "r"(v[i % 4]) : "memory");
    if (WAY == HALVES)
        for (int i = 0; i < 4; i++)
            asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to + (warp * 16 + i / 2 * 8 + lane / 4) * 128 + i % 2 * 64 + lane % 4 * 16),
                         "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");
    if (WAY == WHOLE)
        for (int i = 0; i < 4; i++)
            asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to + (warp * 4 + i) * 512 + lane * 16),
                         "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");
}
// Thread 0 loads, if it is to; so many threads store until it is done, or 512 KB.
template <int WAY>
__global__ void __launch_bounds__(THREADS) k_both(const __grid_constant__ CUtensorMap map, char* dst, Note* notes, bool loads, Ahead ahead, int storers) {
    extern __shared__ unsigned char raw[];
    __shared__ uint64_t full[MOST];
    __shared__ volatile int done;
    const int tid = threadIdx.x;
    const uint32_t pool = aligned(raw), bar = barriers(full, MOST);
    if (tid == 0) done = 0;
    __syncthreads();
    Note& note = notes[blockIdx.x];
    const long long t0 = clock64();
    if (tid == 0) {
        note.begun = now();
        if (loads) boxes(&map, pool, bar, ahead);
        note.loads = clock64() - t0;
        note.ended = now();
        done = loads;
    }
    if (WAY != NONE && tid >= THREADS - storers) {
        char* to = dst + blockIdx.x * REGION;
        uint32_t v[4];
        for (int i = 0; i < 4; i++) v[i] = drawn((blockIdx.x * THREADS + tid) * 4 + i);
        long long bytes = 0;
        while (loads ? !done : bytes < 1 << 19) {
            store<WAY>(to + bytes % REGION, tid - (THREADS - storers), v);
            bytes += storers * 64;
        }
        if (tid == THREADS - 1) note.stores = clock64() - t0, note.stored = bytes;
    }
}
// The same boxes by cp.async: a step is a group.
template <int PER, int STEPS>
__global__ void __launch_bounds__(THREADS) k_copies(const uint4* src, Note* notes, bool own) {
    extern __shared__ unsigned char raw[];
    const int tid = threadIdx.x, row = tid / 8, piece = tid % 8;
    const uint32_t pool = aligned(raw) + row * 128 + (piece ^ row % 8) * 16;
    const uint4* from = src + (first_row({PER, STEPS, own}) + row) * 8 + piece;
    const long long t0 = clock64();
    const unsigned long long begun = now();
    for (int i = 0, d = 0, box = 0; i < TIMES / PER; i++, d = d + 1 < STEPS ? d + 1 : 0) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STEPS - 1) : "memory");
#pragma unroll
        for (int j = 0; j < PER; j++, box = (box + 1) % BOXES)
#pragma unroll
            for (int c = 0; c < 2; c++)
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(pool + (d * PER + j) * BOX + c * 8192), "l"(from + (box * ROWS + c * 64) * 8) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    if (tid == 0) notes[blockIdx.x].loads = clock64() - t0, notes[blockIdx.x].begun = begun, notes[blockIdx.x].ended = now();
}
// 512 threads read `bytes`, a power of two, twice, past L1; the second time counts.
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
                             : "l"(src + ((i + j * THREADS) & (bytes / 16 - 1))));
#pragma unroll
            for (int j = 0; j < 8; j++) acc.x ^= v[j].x ^ v[j].y ^ v[j].z ^ v[j].w;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) note.loads = clock64() - t0, note.ended = now();
    if (acc.x == 0x12345678) note.loads = 0;
}
// CTA 0 loads, a round each half millisecond; the others multiply until it is done, so that the cores' clock falls.
__global__ void __launch_bounds__(THREADS) k_clock(const __grid_constant__ CUtensorMap map, Note* notes, int rounds, Ahead ahead, volatile int* over) {
    extern __shared__ unsigned char raw[];
    __shared__ uint64_t full[MOST];
    const int tid = threadIdx.x;
    if (blockIdx.x == 0) {
        const uint32_t pool = aligned(raw), bar = barriers(full, MOST);
        if (tid) return;
        const unsigned long long first = now();
        for (int r = 0; r < rounds; r++) {  // each an even number of phases
            while (now() < first + r * 500000ull) __nanosleep(200);
            notes[r].begun = now();
            const long long t0 = clock64();
            boxes(&map, pool, bar, ahead);
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

// A row: medians with the least and the most.
static void say(const char* probe, Ahead a, const char* beside, int warps, int n, std::vector<double> loads, std::vector<double> stores, double mhz) {
    std::sort(loads.begin(), loads.end()), std::sort(stores.begin(), stores.end());
    printf("%s,%s,%d,%d,%s,%d,%d", probe, a.own ? "own" : "same", a.per, a.steps, beside, warps, n);
    for (auto* v : {&loads, &stores})
        if (v->empty()) printf(",,,");
        else printf(",%.2f,%.2f,%.2f", (*v)[v->size() / 2], v->front(), v->back());
    printf(",%.0f\n", mhz);
    fflush(stdout);
}
template <typename F>
static void launches(const char* probe, Ahead a, const char* beside, int warps, int n, double bytes, F go) {
    std::vector<double> l, s;
    std::vector<Note> h(n);
    double mhz = 0;
    for (int r = 0; r <= REPEATS; r++) {
        go();
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(h.data(), notes, n * sizeof(Note), cudaMemcpyDeviceToHost));
        double loads = 0, stores = 0;
        for (auto& x : h) loads += bytes / x.loads / n, stores += warps ? (double)x.stored / x.stores / n : 0;
        if (!r) continue;
        if (bytes) l.push_back(loads), mhz = 1e3 * h[0].loads / (h[0].ended - h[0].begun);
        if (warps) s.push_back(stores);
    }
    say(probe, a, beside, warps, n, l, s, mhz);
}
template <int WAY>
static void both(const char* name, int warps, int n, bool loads, Ahead a) {
    CHECK(cudaFuncSetAttribute(k_both<WAY>, cudaFuncAttributeMaxDynamicSharedMemorySize, POOL));
    launches(loads ? "tma" : "none", a, name, warps, n, loads ? (double)TIMES * BOX : 0,
             [=] { k_both<WAY><<<n, THREADS, POOL>>>(map, dst, notes, loads, a, warps * 32); });
}
template <int WAY>
static void stores(const char* name) {
    for (int n : {1, sms})
        for (int warps : {1, 2, 4, 8}) {
            both<WAY>(name, warps, n, false, {1, 1, false});
            for (Ahead a : {Ahead{1, 6, false}, {4, 3, false}, {4, 3, true}})
                if (n > 1 || !a.own) both<WAY>(name, warps, n, true, a);
        }
}
template <int PER, int STEPS>
static void copies() {
    CHECK(cudaFuncSetAttribute(k_copies<PER, STEPS>, cudaFuncAttributeMaxDynamicSharedMemorySize, POOL));
    for (int n : {1, sms})
        for (bool own : {false, true})
            if (n > 1 || !own)
                launches("cp.async", {PER, STEPS, own}, "none", 0, n, (double)TIMES * BOX,
                         [=] { k_copies<PER, STEPS><<<n, THREADS, POOL>>>((uint4*)src, notes, own); });
}

int main() {
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    sms = p.multiProcessorCount;
    const size_t bytes = 64 << 20;
    CHECK(cudaMalloc(&src, bytes));
    CHECK(cudaMalloc(&dst, sms * REGION));
    CHECK(cudaMalloc(&notes, 4096 * sizeof(Note)));
    CHECK(cudaMemset(notes, 0, 4096 * sizeof(Note)));
    k_fill<<<1024, 256>>>((uint32_t*)src, bytes / 4);
    map = tensor_map(src, 64, bytes / 128, ROWS);
    printf("# device: %s, %d SMs, cycles are clock64 of the SM\n", p.name, sms);
    printf("loads,lines,boxes,steps,stores,warps,sms,loads_per_clk,low,high,stores_per_clk,low,high,mhz\n");
    for (int n : {1, 2, 16, sms})
        for (bool own : {false, true})
            for (int per : {1, 2, 4})
                for (int steps : {1, 2, 3, 6, 12})
                    if (per * steps <= MOST) both<NONE>("none", 0, n, true, {per, steps, own});
    copies<1, 1>(), copies<1, 2>(), copies<1, 3>(), copies<1, 6>(), copies<1, 12>();
    copies<2, 1>(), copies<2, 2>(), copies<2, 3>(), copies<2, 6>(), copies<4, 1>(), copies<4, 2>(), copies<4, 3>();
    stores<PIECES>("pieces");
    stores<HALVES>("halves");
    stores<WHOLE>("whole");
    for (int n : {1, sms})
        for (int kb : {256, 1024, 4096, 16384})
            launches("ldg", {kb / 16, 1, false}, "none", 0, n, kb * 1024.0, [=] { k_ldg<<<n, THREADS>>>((uint4*)src, notes, (size_t)kb << 10); });
    CHECK(cudaFuncSetAttribute(k_clock, cudaFuncAttributeMaxDynamicSharedMemorySize, POOL));
    int* over;
    CHECK(cudaMalloc(&over, sizeof(int)));
    for (Ahead a : {Ahead{4, 3, false}, {1, 2, false}}) {
        const int rounds = 200;
        std::vector<Note> h(rounds);
        std::vector<double> l;
        double mhz = 0;
        CHECK(cudaMemset(over, 0, sizeof(int)));
        k_clock<<<sms, THREADS, POOL>>>(map, notes, rounds, a, over);
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(h.data(), notes, rounds * sizeof(Note), cudaMemcpyDeviceToHost));
        for (auto& x : h) l.push_back((double)TIMES * BOX / x.loads), mhz += 1e3 * x.loads / (x.ended - x.begun) / rounds;
        say("clock", a, "none", 0, 1, l, {}, mhz);
    }
    return 0;
}
