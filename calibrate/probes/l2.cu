// What all SMs together get from the second-level cache, and which requests for the same lines reach it as one.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a l2.cu -o l2
// Run:   ./l2 > times.csv, ./l2 once > once.csv under ncu, and l2.py, which has the command: ../data/h200_l2.csv
#include "probe.cuh"

#include <map>
#include <numeric>
#include <string>

// A box is 128 rows of 128 bytes, 16 KB; a stream is eight boxes, and an SM takes boxes of two streams turn by turn.
constexpr int BOX = 16384, ROWS = 128, BOXES = 8, STREAMS = 288, DEPTH = 6, THREADS = 512;
constexpr int POOL = 1024 + DEPTH * BOX + 100 * 1024;  // one CTA an SM

// What an SM does: boxes of two streams, the first so many cycles behind the common start. No stream: nothing.
struct Plan {
    int even, odd, skew;
};
// How a launch asks: boxes, cycles from one to the next at the least, how late each may be, and of how many boxes beside each other
// a row of the matrix is, as a power of two (its pitch is 128 bytes times that).
struct Way {
    int n, pace, jitter, across;
};
struct Gate {
    unsigned arrived;
    unsigned long long open;
};
struct Note {
    int sm, wrong;
    long long start, cycles;
    unsigned long long ns0, ns;
};

__device__ __forceinline__ int sm_id() {
    int s;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(s));
    return s;
}
template <int N>
__device__ __forceinline__ void wait_group() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
// The value of a 16-byte piece: its index.
__global__ void k_fill(uint4* p, size_t n) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) p[i] = {(uint32_t)i, 1, 2, 3};
}

// The boxes of a plan, DEPTH in flight. What came of the last is compared with what it should be.
template <bool TMA>
__global__ void __launch_bounds__(THREADS) k_read(const __grid_constant__ CUtensorMap map, const uint4* src, const Plan* plans, Gate* gate,
                                                  Note* notes, Way way) {
    extern __shared__ unsigned char raw[];
    __shared__ uint64_t full[DEPTH];
    const int sm = sm_id(), tid = threadIdx.x;
    const Plan plan = plans[sm];
    const uint32_t pool = aligned(raw), bar = barriers(full, DEPTH);
    if (tid == 0) {
        if (atomicAdd(&gate->arrived, 1) == gridDim.x - 1) {
            unsigned long long at = (now() / 1024 + 6) * 1024;
            atomicExch(&gate->open, at);
        }
    }
    if (plan.even < 0) return;
    if (tid == 0)
        while (!*(volatile unsigned long long*)&gate->open) __nanosleep(100);
    __syncthreads();
    const unsigned long long open = *(volatile unsigned long long*)&gate->open;
    while (now() < open) {
    }
    const unsigned long long ns0 = now();
    const long long t0 = clock64();
    const int n = way.n, in_row = (1 << way.across) - 1;
    const bool timed = way.pace || way.jitter;
    auto box = [&](int i) { return (i % 2 ? plan.odd : plan.even) * BOXES + i / 2 % BOXES; };
    auto held = [&](int i) {
        if (!timed) return;
        // Late by up to `jitter` cycles, another number each time.
        uint32_t h = (i * 132 + sm) * 2654435761u;
        h ^= h >> 15, h *= 2246822519u, h ^= h >> 13;
        const long long late = plan.skew + (way.jitter ? h % (uint32_t)way.jitter : 0);
        while (clock64() - t0 < late + (long long)i * way.pace) {
        }
    };
    while (clock64() - t0 < plan.skew) {
    }
    if (TMA) {
        if (tid == 0) {
            for (int i = 0, d = 0, phase = 1; i < n + DEPTH; i++, d++) {
                if (d == DEPTH) d = 0, phase ^= 1;
                if (i >= DEPTH) wait_for(bar + d * 8, phase);
                if (i >= n) continue;
                held(i);
                const int x = (box(i) & in_row) * 64, y = (box(i) >> way.across) * ROWS;
                expect(bar + d * 8, BOX);
                load_box(pool + d * BOX, &map, x, y, bar + d * 8);
            }
        }
    } else {
        for (int i = 0, d = 0; i < n; i++, d = d + 1 < DEPTH ? d + 1 : 0) {
            if (i >= DEPTH) wait_group<DEPTH - 1>();
            held(i);
            const int x = (box(i) & in_row) * 8, y = (box(i) >> way.across) * ROWS;
#pragma unroll
            for (int c = 0; c < 2; c++) {
                const int row = tid / 8 + c * 64, piece = tid % 8;
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(pool + d * BOX + row * 128 + (piece ^ row % 8) * 16),
                             "l"(src + ((size_t)(y + row) * 8 << way.across) + x + piece) : "memory");
            }
            asm volatile("cp.async.commit_group;" ::: "memory");
        }
        wait_group<0>();
    }
    __syncthreads();
    if (tid) return;
    const long long t1 = clock64();
    Note note = {sm, 0, t0, t1 - t0 - plan.skew, ns0, now() - ns0};
    for (int i = n - DEPTH; i < n; i++)
        for (int row = 0; row < ROWS; row++) {
            uint32_t v;
            asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(pool + i % DEPTH * BOX + row * 128 + row % 8 * 16));
            note.wrong += v != (uint32_t)((((box(i) >> way.across) * ROWS + row) * 8 << way.across) + (box(i) & in_row) * 8);
        }
    notes[sm] = note;
}
__global__ void k_cluster(int* sm) {
    if (threadIdx.x == 0) sm[blockIdx.x] = sm_id();
    long long t = clock64();
    while (clock64() - t < 20000) {
    }
}

static int sms;
static uint4* buf;
static Plan* d_plans;
static Gate* d_gate;
static Note* d_notes;
static std::map<int, CUtensorMap> maps;
static bool once;

// The SMs that were ever in one cluster. What is in none of more than eight is of one group, as counters of pairs say.
static std::vector<std::vector<int>> groups() {
    std::vector<int> up(sms);
    std::iota(up.begin(), up.end(), 0);
    std::function<int(int)> top = [&](int s) { return up[s] == s ? s : up[s] = top(up[s]); };
    CHECK(cudaFuncSetAttribute(k_cluster, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024));
    CHECK(cudaFuncSetAttribute(k_cluster, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    int* d;
    CHECK(cudaMalloc(&d, 1024 * sizeof(int)));
    for (int size : {16, 8, 4, 2})
        for (int k = 0; k < 8; k++) {
            int n = 4 * sms / size * size;
            cudaLaunchConfig_t c = {};
            c.gridDim = n, c.blockDim = 32, c.dynamicSmemBytes = 200 * 1024;
            cudaLaunchAttribute at[1];
            at[0].id = cudaLaunchAttributeClusterDimension;
            at[0].val.clusterDim = {(unsigned)size, 1, 1};
            c.attrs = at, c.numAttrs = 1;
            CHECK(cudaLaunchKernelEx(&c, k_cluster, d));
            std::vector<int> h(n);
            CHECK(cudaMemcpy(h.data(), d, n * sizeof(int), cudaMemcpyDeviceToHost));
            for (int i = 0; i < n; i++) up[top(h[i])] = top(h[i / size * size]);
        }
    std::map<int, std::vector<int>> of;
    for (int s = 0; s < sms; s++) of[top(s)].push_back(s);
    std::vector<std::vector<int>> g(1);
    for (auto& [k, v] : of)
        if (v.size() > 8) g.push_back(v);
        else g[0].insert(g[0].end(), v.begin(), v.end());
    if (g[0].empty()) g.erase(g.begin());
    return g;
}
// A row: what the SMs of a plan get, bytes a cycle together with the least and the most, and bytes a nanosecond.
static void go(const char* probe, const char* who, int sharers, int late, bool tma, const std::vector<Plan>& plans, Way way) {
    std::vector<double> clk, ns;
    int active = 0;
    for (auto& p : plans) active += p.even >= 0;
    CHECK(cudaMemcpy(d_plans, plans.data(), sms * sizeof(Plan), cudaMemcpyHostToDevice));
    for (int i = 0; i <= (once ? 1 : REPEATS); i++) {
        CHECK(cudaMemset(d_gate, 0, sizeof(Gate)));
        CHECK(cudaMemset(d_notes, 0xff, sms * sizeof(Note)));
        if (tma) k_read<true><<<sms, THREADS, POOL>>>(maps[way.across], buf, d_plans, d_gate, d_notes, way);
        else k_read<false><<<sms, THREADS, POOL>>>(maps[way.across], buf, d_plans, d_gate, d_notes, way);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        std::vector<Note> notes(sms);
        CHECK(cudaMemcpy(notes.data(), d_notes, sms * sizeof(Note), cudaMemcpyDeviceToHost));
        double c = 0, t = 0;
        for (int s = 0; s < sms; s++) {
            if (plans[s].even < 0) continue;
            if (notes[s].sm != s || notes[s].wrong) fprintf(stderr, "%s %s: SM %d: %d wrong\n", probe, who, notes[s].sm, notes[s].wrong), exit(1);
            c += (double)way.n * BOX / notes[s].cycles, t += (double)way.n * BOX / notes[s].ns;
        }
        if (i) clk.push_back(c), ns.push_back(t);
    }
    std::sort(clk.begin(), clk.end()), std::sort(ns.begin(), ns.end());
    printf("%s,%s,%s,%d,%d,%d,%d,%d,%.0f,%.0f,%.0f,%.0f\n", probe, tma ? "tma" : "cp.async", who, sharers, late, way.pace, 128 << way.across, active,
           clk[clk.size() / 2], clk[0], clk.back(), ns[ns.size() / 2]);
    fflush(stdout);
}

int main(int argc, char** argv) {
    once = argc > 1 && std::string(argv[1]) == "once";
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    sms = p.multiProcessorCount;
    const size_t bytes = (size_t)STREAMS * BOXES * BOX;
    CHECK(cudaMalloc(&buf, bytes));
    k_fill<<<1024, 256>>>(buf, bytes / 16);
    CHECK(cudaMalloc(&d_plans, sms * sizeof(Plan)));
    CHECK(cudaMalloc(&d_gate, sizeof(Gate)));
    CHECK(cudaMalloc(&d_notes, sms * sizeof(Note)));
    CHECK(cudaFuncSetAttribute(k_read<true>, cudaFuncAttributeMaxDynamicSharedMemorySize, POOL));
    CHECK(cudaFuncSetAttribute(k_read<false>, cudaFuncAttributeMaxDynamicSharedMemorySize, POOL));
    for (int across : {0, 3, 6}) maps[across] = tensor_map(buf, 64ull << across, (ROWS * STREAMS * BOXES + 0ull) >> across, ROWS);
    const auto g = groups();
    printf("# device: %s, %d SMs, cycles are clock64 of the SM\n", p.name, sms);
    for (auto& v : g) {
        printf("# group");
        for (int s : v) printf(" %d", s);
        printf("\n");
    }
    printf("probe,by,who,sharers,late,pace,pitch,sms,bytes_per_clk,low,high,bytes_per_ns\n");
    // SM i of group j takes the streams that `id` names, or none where it is negative.
    auto plan = [&](auto id, auto late) {
        std::vector<Plan> plans(sms, Plan{-1, -1, 0});
        for (int j = 0; j < (int)g.size(); j++)
            for (int i = 0; i < (int)g[j].size(); i++)
                if (int s = id(j, i); s >= 0) plans[g[j][i]] = {s * 2 % STREAMS, (s * 2 + 1) % STREAMS, late(j, i)};
        return plans;
    };
    auto on_time = [](int, int) { return 0; };
    auto in_group = [&](int k) { return [&g, k](int j, int i) { return i < (int)g[j].size() / k * k ? j * 18 + i / k : -1; }; };
    auto apart = [](int k) { return [k](int j, int i) { return j / k * 18 + i; }; };
    for (bool tma : {true, false}) {
        // As fast as it goes, sharers of a group and of several.
        for (int k : {1, 2, 4, 8, 16}) go("rate", k == 1 ? "own" : "group", k, 0, tma, plan(in_group(k), on_time), {512, 0, 0, 6});
        for (int k : {2, 4, 8}) go("rate", "groups", k, 0, tma, plan(apart(k), on_time), {512, 0, 0, 6});
        // By pitch: one SM, two of a TPC, a group in fours, all in fours.
        for (int across : {0, 3, 6})
            for (int n : {1, 2, 16, 0}) {
                auto some = [&](int j, int i) { return n == 0 ? in_group(4)(j, i) : j != 1 || i >= n ? -1 : n == 16 ? i / 4 : i; };
                go("port", n == 1 ? "SM" : n == 2 ? "TPC" : n ? "group" : "all", n == 16 || !n ? 4 : 1, 0, tma, plan(some, on_time), {512, 0, 0, across});
            }
        // At the same time and not as fast: of how many a lookup is.
        for (int k : {2, 3, 4, 5, 6, 8, 12, 16}) go("ways", "group", k, 0, tma, plan(in_group(k), on_time), {256, 2000, 0, 6});
        // Each box late by a random number of cycles.
        for (int k : {2, 4, 8, 16})
            for (int late : {100, 200, 400, 800, 1600}) go("random", "group", k, late, tma, plan(in_group(k), on_time), {256, 2000, late, 6});
    }
    // Every second sharer late by so many cycles, by load: the two of a TPC, two of a group, of two groups.
    for (int pace : {2000, 700, 0})
        for (int late : {0, 50, 100, 150, 200, 300, 500, 1000, 2000}) {
            auto after = [&](auto f) { return [=](int j, int i) { return f(j, i) ? late : 0; }; };
            go("late", "TPC", 2, late, true, plan(in_group(2), after([](int, int i) { return i % 2; })), {256, pace, 0, 6});
            auto across_tpc = [](int j, int i) { return j * 18 + i / 4 * 2 + i % 2; };
            go("late", "group", 2, late, true, plan(across_tpc, after([](int, int i) { return i / 2 % 2; })), {256, pace, 0, 6});
            go("late", "groups", 2, late, true, plan(apart(2), after([](int j, int) { return j % 2; })), {256, pace, 0, 6});
        }
    // An SM of each group with each other SM.
    for (auto& v : g)
        for (int b = 0; b < sms; b++) {
            if (b == v[0]) continue;
            std::vector<Plan> plans(sms, Plan{-1, -1, 0});
            plans[v[0]] = plans[b] = {0, 1, 0};
            if (once) go("pair", (std::to_string(v[0]) + "+" + std::to_string(b)).c_str(), 2, 0, true, plans, {32, 1500, 0, 6});
        }
    return 0;
}
