// How long a step's copies take when all SMs ask L2 at once, by how much they ask: the latency under load.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a loaded.cu -o loaded
// Run:   ./loaded > ../data/h200_loaded.csv
#include "probe.cuh"

// A box is 128 rows of 128 bytes, 16 KB. Each SM reads eight of its own again and again, all of them from L2.
constexpr int BOX = 16384, ROWS = 128, BOXES = 8, TIMES = 256, MOST = 4;
constexpr int POOL = 1024 + MOST * BOX + 120 * 1024;  // one CTA an SM

struct Note {
    long long cycles, waited, slowest;
};

// A step is `per` boxes by one thread: one begins in each `pace` cycles, at random in them, and none before the last is there.
__global__ void k_paced(const __grid_constant__ CUtensorMap map, Note* notes, int per, int pace) {
    extern __shared__ unsigned char raw[];
    __shared__ uint64_t full;
    const uint32_t pool = aligned(raw), bar = barriers(&full, 1);
    if (threadIdx.x) return;
    const int row = blockIdx.x * BOXES * ROWS;
    long long waited = 0, slowest = 0;
    const long long t0 = clock64();
    for (int i = 0, box = 0; i < TIMES; i++) {
        uint32_t h = (i * 132 + blockIdx.x) * 2654435761u;
        h ^= h >> 15, h *= 2246822519u, h ^= h >> 13;
        const long long at = (long long)i * pace + (pace ? h % (uint32_t)pace : 0);
        while (clock64() - t0 < at) {
        }
        const long long t = clock64();
        expect(bar, per * BOX);
        for (int j = 0; j < per; j++, box = (box + 1) % BOXES)
            load_box(pool + j * BOX, &map, 0, row + box * ROWS, bar);
        wait_for(bar, i & 1);
        const long long took = clock64() - t;
        if (i >= 16) waited += took, slowest = took > slowest ? took : slowest;
    }
    notes[blockIdx.x] = {clock64() - t0, waited, slowest};
}

int main() {
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    const int sms = p.multiProcessorCount;
    const size_t bytes = (size_t)sms * BOXES * BOX;
    char* src;
    Note* notes;
    CHECK(cudaMalloc(&src, bytes));
    CHECK(cudaMemset(src, 1, bytes));
    CHECK(cudaMalloc(&notes, sms * sizeof(Note)));
    CHECK(cudaFuncSetAttribute(k_paced, cudaFuncAttributeMaxDynamicSharedMemorySize, POOL));
    const CUtensorMap map = tensor_map(src, 64, bytes / 128, ROWS);
    printf("# device: %s, %d SMs, cycles are clock64 of the SM\n", p.name, sms);
    printf("boxes,pace,sms,cycles,low,high,slowest,bytes_per_clk_of_sm\n");
    for (int per : {1, 2, 4})
        for (double rate : {0.0, 8.0, 16.0, 20.0, 24.0, 28.0, 31.0, 34.0, 40.0})  // bytes a cycle of each SM; 0: one SM alone
            for (int n : {1, sms}) {
                if ((n == 1) != (rate == 0)) continue;
                const int pace = rate ? (int)(per * BOX / rate) : 4000;
                std::vector<double> mean, rates, slow;
                std::vector<Note> h(n);
                for (int r = 0; r <= REPEATS; r++) {
                    k_paced<<<n, 32, POOL>>>(map, notes, per, pace);
                    CHECK(cudaGetLastError());
                    CHECK(cudaDeviceSynchronize());
                    CHECK(cudaMemcpy(h.data(), notes, n * sizeof(Note), cudaMemcpyDeviceToHost));
                    double m = 0, b = 0, s = 0;
                    for (auto& x : h) m += (double)x.waited / (TIMES - 16) / n, b += (double)TIMES * per * BOX / x.cycles / n, s = std::max(s, (double)x.slowest);
                    if (r) mean.push_back(m), rates.push_back(b), slow.push_back(s);
                }
                for (auto* v : {&mean, &rates, &slow}) std::sort(v->begin(), v->end());
                const int mid = mean.size() / 2;
                printf("%d,%d,%d,%.0f,%.0f,%.0f,%.0f,%.2f\n", per, pace, n, mean[mid], mean.front(), mean.back(), slow[mid], rates[mid]);
                fflush(stdout);
            }
    return 0;
}
