// What wgmma, which reads shared memory, and copies, which write it, take from each other.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a beside.cu -o beside
// Run:   ./beside > ../data/h200_beside.csv
#include "probe.cuh"

// Boxes of 128 rows of 128 bytes, four a step, two steps in flight: 106 bytes a cycle where nothing else goes on.
constexpr int BOX = 16384, ROWS = 128, PER = 4, STEPS = 2, TIMES = 400;
constexpr int POOL = 1024 + PER * STEPS * BOX + 2 * 8192 + 32768;  // the boxes, a 64 x 64 tile of each warpgroup, one of both

struct Note {
    long long products, loads, bytes;
};

// Warpgroups 1 and on multiply 64 x N x 64, TIMES times; meanwhile thread 0 copies, or not. The tiles are zeros.
template <int N>
__global__ void __launch_bounds__(384) k_beside(const __grid_constant__ CUtensorMap map, Note* notes, bool copies) {
    extern __shared__ unsigned char raw[];
    __shared__ uint64_t full[STEPS];
    __shared__ volatile int left;
    const int tid = threadIdx.x;
    if (tid == 0) left = blockDim.x / 128 - 1;
    const uint32_t pool = aligned(raw), bar = barriers(full, STEPS), tiles = pool + PER * STEPS * BOX;
    for (uint32_t i = tid * 16; i < 2 * 8192 + 32768; i += blockDim.x * 16) asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(tiles + i), "r"(0) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    Note& note = notes[blockIdx.x];
    const long long t0 = clock64();
    if (tid == 0) {
        long long bytes = 0;
        for (int i = 0, d = 0, phase = 1, box = 0, flying = 0; copies && (left || flying); i++, d++) {
            if (d == STEPS) d = 0, phase ^= 1;
            if (i >= STEPS && flying) wait_for(bar + d * 8, phase), flying--;
            if (!left) continue;
            expect(bar + d * 8, PER * BOX);
            for (int j = 0; j < PER; j++, box = (box + 1) % 8)
                load_box(pool + (d * PER + j) * BOX, &map, 0, box * ROWS, bar + d * 8);
            bytes += PER * BOX, flying++;
        }
        note.loads = clock64() - t0, note.bytes = bytes;
    }
    if (tid >= 128) {
        float d[N / 2];
        for (auto& x : d) x = 0;
        const uint64_t a = descriptor(tiles + (tid / 128 - 1) * 8192), b = descriptor(tiles + 16384);
        for (int r = 0; r < TIMES; r++) {
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
            for (int k = 0; k < 4; k++) wgmma<N>(d, a + k * 2, b + k * 2);
            asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;" ::: "memory");
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        if (tid % 128 == 0) {
            note.products = clock64() - t0;
            atomicSub((int*)&left, 1);
        }
        float s = 0;
        for (float x : d) s += x;
        if (s == 1.2345f) note.products = 0;
    }
}

static CUtensorMap map;
static Note* notes;

template <int N>
static void go(int groups, int sms, bool copies) {
    CHECK(cudaFuncSetAttribute(k_beside<N>, cudaFuncAttributeMaxDynamicSharedMemorySize, POOL));
    std::vector<double> products, loads;
    std::vector<Note> h(sms);
    for (int r = 0; r <= REPEATS; r++) {
        k_beside<N><<<sms, 128 + groups * 128, POOL>>>(map, notes, copies);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(h.data(), notes, sms * sizeof(Note), cudaMemcpyDeviceToHost));
        double p = 0, l = 0;
        for (auto& x : h) p += (double)x.products / TIMES / sms, l += (double)x.bytes / x.loads / sms;
        if (r) products.push_back(p), loads.push_back(l);
    }
    std::sort(products.begin(), products.end()), std::sort(loads.begin(), loads.end());
    const int m = products.size() / 2;
    printf("%d,%d,%s,%d,%.1f,%.1f,%.1f", N, groups, copies ? "yes" : "no", sms, products[m], products.front(), products.back());
    copies ? printf(",%.2f,%.2f,%.2f\n", loads[m], loads.front(), loads.back()) : printf(",,,\n");
    fflush(stdout);
}

int main() {
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    char* src;
    CHECK(cudaMalloc(&src, 8 * BOX));
    CHECK(cudaMemset(src, 0, 8 * BOX));
    CHECK(cudaMalloc(&notes, p.multiProcessorCount * sizeof(Note)));
    map = tensor_map(src, 64, 8 * ROWS, ROWS);
    printf("# device: %s, %d SMs, cycles are clock64 of the SM\n", p.name, p.multiProcessorCount);
    printf("n,warpgroups,copies,sms,cycles_64xnx64,low,high,copied_per_clk,low,high\n");
    for (int sms : {1, p.multiProcessorCount})
        for (int groups : {1, 2})
            for (bool copies : {false, true}) go<64>(groups, sms, copies), go<128>(groups, sms, copies), go<256>(groups, sms, copies);
    return 0;
}
