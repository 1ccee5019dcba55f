// What all SMs together get from L2 when they copy step by step, as the CTAs of a product do: no arithmetic, only the copies of A and B.
// Build: nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a shared_lines.cu -o shared_lines
// Run:   ./shared_lines prints what an SM gets; under ncu --cache-control none with lts__t_sectors_srcunit_tex.sum,
//        l1tex__m_xbar2l1tex_read_bytes.sum: the share that is looked up. Both are in ../data/h100_shared_lines.csv and h200_shared_lines.csv.
#include "probe.cuh"

// A step copies a tile of A and one of B, each 128 rows of 128 bytes.
constexpr int BOX = 16384, STEPS_ALL = 64, THREADS = 128;

enum Way { OWN, NEIGHBORS, MIXED };

// A CTA's tile of A and of B, of `rows` and `cols` of them.
template <int AHEAD>
__global__ void __launch_bounds__(THREADS) k_share(const char* a, const char* b, long long* took, int way, int rows, int cols, size_t pitch) {
    extern __shared__ unsigned char raw[];
    const int tid = threadIdx.x, row = tid / 8, piece = tid % 8;
    const uint32_t pool = aligned(raw) + row * 128 + (piece ^ row % 8) * 16;
    // Mixed: neighbors in launch order are anywhere in the grid.
    const int id = way == MIXED ? (int)((blockIdx.x * 2654435761ull + 12345) % 1000003 % (rows * cols)) : blockIdx.x;
    const int m = way == OWN ? blockIdx.x : id % rows, n = way == OWN ? blockIdx.x : id / rows % cols;
    const char* fa = a + (size_t)m * 128 * pitch + row * pitch + piece * 16;
    const char* fb = b + (size_t)n * 128 * pitch + row * pitch + piece * 16;
    __syncthreads();
    const long long t0 = clock64();
    for (int i = 0, d = 0; i < STEPS_ALL; i++, d = d + 1 < AHEAD ? d + 1 : 0) {
        asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");
        __syncthreads();
        const size_t k = (size_t)i * 128 % pitch;
#pragma unroll
        for (int c = 0; c < 8; c++) {
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(pool + d * 2 * BOX + c * 2048), "l"(fa + k + (size_t)c * 16 * pitch) : "memory");
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(pool + d * 2 * BOX + BOX + c * 2048), "l"(fb + k + (size_t)c * 16 * pitch) : "memory");
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    if (tid == 0) took[blockIdx.x] = clock64() - t0;
}
static char* src;
static long long* took;
template <int AHEAD>
static void go(int seats, int way, int rows, int cols, size_t pitch) {
    const int shared = 1024 + AHEAD * 2 * BOX, n = 132 * seats;
    CHECK(cudaFuncSetAttribute(k_share<AHEAD>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    CHECK(cudaFuncSetAttribute(k_share<AHEAD>, cudaFuncAttributePreferredSharedMemoryCarveout, 100));
    for (int r = 0; r < 2; r++) k_share<AHEAD><<<n, THREADS, shared>>>(src, src + ((size_t)512 << 20), took, way, rows, cols, pitch);
    CHECK(cudaDeviceSynchronize());
    std::vector<long long> h(n);
    CHECK(cudaMemcpy(h.data(), took, n * 8, cudaMemcpyDeviceToHost));
    std::sort(h.begin(), h.end());
    printf("%d,%d,%d,%d,%d,%zu,%.2f\n", AHEAD, seats, way, rows, cols, pitch, (double)seats * 2 * BOX * STEPS_ALL / h[n / 2]);
}
int main() {
    CHECK(cudaMalloc(&src, (size_t)1 << 30));
    CHECK(cudaMemset(src, 1, (size_t)1 << 30));
    CHECK(cudaMalloc(&took, 4096 * 8));
    printf("ahead,seats,way,rows,cols,pitch,bytes_per_clk\n");
    for (size_t pitch : {128, 2048, 4096, 2304})
        for (int way : {OWN, NEIGHBORS, MIXED})
            for (int rows : {8, 16}) {
                if (way == OWN && rows > 8) continue;
                if (way == OWN && pitch > 128) continue;
                go<1>(1, way, rows, 16, pitch), go<2>(1, way, rows, 16, pitch), go<4>(1, way, rows, 16, pitch), go<2>(2, way, rows, 32, pitch), go<1>(4, way, rows, 64, pitch), go<2>(3, way, rows, 32, pitch);
            }
}
