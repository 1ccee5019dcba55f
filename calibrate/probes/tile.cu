// How long a tile takes: the last of its lines, by how many they are, how wide its rows are and how they lie in memory; from L2, and
// where it is not there. And how fast tiles come.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a tile.cu -o tile
// Run:   ./tile > ../data/h200_tile.csv
#include "probe.cuh"

constexpr int DEEP = 3, POOL = 1024 + DEEP * 2 * 32768;
constexpr size_t OTHER = (size_t)256 << 20;

// Whose rows a CTA takes.
enum Whose { OWN, SAME, GRID };

struct Tiles {
    int rows, boxes, wide, steps, across;  // steps along a row
    Whose whose;
    size_t pitch;
};

struct Note {
    long long cycles, ns;
};

// Each step takes the next `wide` bytes of `boxes` times `rows` rows, and waits for those of FLYING steps before: by one thread's
// boxes, or by copies of 128 threads. CTAs have rows of their own, or all the same, or as in a product: half those of the CTA's row
// in a grid of eight, half those of its column.
template <bool TMA, int FLYING>
__global__ void __launch_bounds__(128) k_tiles(const __grid_constant__ CUtensorMap map, const char* src, Note* notes, Tiles t) {
    extern __shared__ unsigned char raw[];
    __shared__ uint64_t full[FLYING];
    const uint32_t pool = aligned(raw), bar = barriers(full, FLYING), box = t.rows * t.wide, step = t.boxes * box;
    __syncthreads();
    const int cta = blockIdx.x, first = t.whose == OWN ? cta * t.boxes * t.rows : t.whose == GRID ? cta % 8 * t.rows : 0;
    const int second = t.whose == GRID ? (8 + cta / 8) * t.rows : first + t.rows;
    const unsigned long long n0 = now();
    const long long t0 = clock64();
    if (TMA) {
        if (threadIdx.x) return;
        for (int i = 0, s = 0, phase = 0; i < t.steps + FLYING; i++) {
            if (i >= FLYING) wait_for(bar + s * 8, phase ^ 1);
            if (i < t.steps) {
                expect(bar + s * 8, step);
                for (int j = 0; j < t.boxes; j++)
                    load_box(pool + s * step + j * box, &map, i % t.across * t.wide / 2, j ? second + (j - 1) * t.rows : first, bar + s * 8);
            }
            if (++s == FLYING) s = 0, phase ^= 1;
        }
    } else {
        const int each = t.wide / 16, at_once = 128 / each;  // threads a row, rows at once
        const char* from = src + (first + threadIdx.x / each) * t.pitch + threadIdx.x % each * 16;
        for (int i = 0; i < t.steps + FLYING - 1; i++) {
            const uint32_t to = pool + i % FLYING * step + threadIdx.x * 16;
            if (i < t.steps)
#pragma unroll 4
                for (int j = 0; j < t.boxes * t.rows / at_once; j++)
                    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + j * 2048), "l"(from + i % t.across * t.wide + j * at_once * t.pitch) : "memory");
            asm volatile("cp.async.commit_group; cp.async.wait_group %0;" ::"n"(FLYING - 1) : "memory");
            __syncthreads();
        }
    }
    if (threadIdx.x == 0) notes[cta] = {clock64() - t0, (long long)(now() - n0)};
}

// Fills L2 with something else.
__global__ void k_sweep(const int4* p, int* out) {
    int s = 0;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < OTHER / 16; i += gridDim.x * blockDim.x) s += p[i].x;
    if (s == 77) *out = s;
}

static char *src, *other;
static Note* notes;
constexpr size_t MOST = (size_t)1 << 30;

template <bool TMA, int FLYING>
static void go(int rows, int boxes, int wide, size_t pitch, int ctas, Whose whose) {
    CHECK(cudaFuncSetAttribute(k_tiles<TMA, FLYING>, cudaFuncAttributeMaxDynamicSharedMemorySize, POOL));
    const int across = pitch / wide;
    const Tiles t = {rows, boxes, wide, across < 16 ? 128 : std::min(across, 128), across, whose, pitch};
    const CUtensorMap map = tensor_map(src, pitch / 2, MOST / pitch, rows, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, wide);
    std::vector<double> cycles[2], mhz;
    std::vector<Note> h(ctas);
    for (int r = 0; r <= REPEATS; r++)
        for (int warm : {0, 1}) {
            if (!warm) k_sweep<<<1024, 256>>>((const int4*)other, (int*)other);
            k_tiles<TMA, FLYING><<<ctas, 128, POOL>>>(map, src, notes, t);
            CHECK(cudaGetLastError());
            CHECK(cudaDeviceSynchronize());
            CHECK(cudaMemcpy(h.data(), notes, ctas * sizeof(Note), cudaMemcpyDeviceToHost));
            double m = 0, f = 0;
            for (auto& x : h) m += (double)x.cycles / t.steps / ctas, f += 1e3 * x.cycles / x.ns / ctas;
            if (r) cycles[warm].push_back(m);
            if (r && !warm) mhz.push_back(f);
        }
    for (auto* v : {&cycles[0], &cycles[1], &mhz}) std::sort(v->begin(), v->end());
    const int mid = mhz.size() / 2;
    printf("%s,%d,%d,%d,%d,%zu,%d,%s,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f\n", TMA ? "tma" : "cp.async", FLYING, rows, boxes, wide, pitch, ctas,
           whose == OWN ? "own" : whose == SAME ? "same" : "grid", cycles[0][mid], cycles[0].front(), cycles[0].back(), cycles[1][mid],
           cycles[1].front(), cycles[1].back(), mhz[mid]);
    fflush(stdout);
}
template <bool TMA>
static void all() {
    for (size_t pitch : {2048, 8192, 16384}) {
        if (TMA) go<TMA, 1>(8, 1, 128, pitch, 1, OWN);
        for (int rows : {16, 32, 64, 128}) go<TMA, 1>(rows, 1, 128, pitch, 1, OWN);
        for (int boxes : {2, 3}) go<TMA, 1>(128, boxes, 128, pitch, 1, OWN);
    }
    for (int wide : {32, 64, 128})
        for (int rows : {64, 128}) {
            for (size_t pitch : {2048, 8192}) go<TMA, 1>(rows, 2, wide, pitch, 1, OWN);
        }
    for (int wide : {32, 64, 128})  // how fast they come
        for (int rows : {64, 128, 256}) {
            go<TMA, DEEP>(rows, 2, wide, 2048, 1, OWN);
            go<TMA, DEEP>(rows, 2, wide, 2048, 128, GRID);
            go<TMA, DEEP>(rows, 2, wide, 256, 132, OWN);
        }
    for (size_t pitch : {2048, 8192, 16384}) {
        for (int ctas : {8, 32, 64}) go<TMA, 1>(128, 2, 128, pitch, ctas, OWN);
        for (int ctas : {8, 32, 64, 132}) go<TMA, 1>(128, 2, 128, pitch, ctas, SAME);
        for (int rows : {64, 128})
            for (int ctas : {32, 64, 128}) go<TMA, 1>(rows, 2, 128, pitch, ctas, GRID);
        for (int ctas : {64, 128}) go<TMA, 1>(128, 2, 64, pitch, ctas, GRID);
    }
}

int main() {
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    CHECK(cudaMalloc(&src, MOST));
    CHECK(cudaMemset(src, 1, MOST));
    CHECK(cudaMalloc(&other, OTHER));
    CHECK(cudaMemset(other, 0, OTHER));
    CHECK(cudaMalloc(&notes, 132 * sizeof(Note)));
    printf("# device: %s, %d SMs, cycles are clock64 of the SM, a step\n", p.name, p.multiProcessorCount);
    printf("by,flying,rows,boxes,wide,pitch,ctas,tiles,cycles_cold,low,high,cycles_warm,low,high,mhz\n");
    all<true>();
    all<false>();
    return 0;
}
