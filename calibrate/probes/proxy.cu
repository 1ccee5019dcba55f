// What a proxy fence costs behind loads of global memory and stores to shared memory, as in a product without pipelining: a warp loads
// 16 bytes a lane some times, stores them to shared memory, fences, and joins the CTA's barrier twice an iteration.
//
//     nvcc -O3 -gencode=arch=compute_90a,code=sm_90a proxy.cu -o proxy && ./proxy > proxy.csv
//
// Columns: warps of a CTA, CTAs of an SM, loads (or stores) of a warp, whether values come from global memory, whether there is a fence,
// cycles of an iteration.
#include <cstdint>
#include <cstdio>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(e)); return 1; } } while (0)
constexpr int LOOP = 256;

template <int N, bool GLOBAL, bool FENCE>
__global__ void k(const uint4* in, long long* out, uint4* sink) {
    extern __shared__ uint4 tile[];
    const uint4* p = in + (size_t)(blockIdx.x % 64) * 65536 + threadIdx.x;
    uint4 v[N];
    for (int i = 0; i < N; i++) v[i] = make_uint4(threadIdx.x, i, 0, 0);
    __syncthreads();
    long long t = clock64();
    for (int j = 0; j < LOOP; j++) {
        if (GLOBAL)
            for (int i = 0; i < N; i++)
                asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v[i].x), "=r"(v[i].y), "=r"(v[i].z), "=r"(v[i].w) : "l"(p + (j % 16 * N + i) * blockDim.x));
        asm volatile("bar.sync 0;" ::: "memory");
        for (int i = 0; i < N; i++) {
            uint32_t at = (uint32_t)__cvta_generic_to_shared(tile + i * blockDim.x + threadIdx.x);
            asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(v[i].x), "r"(v[i].y), "r"(v[i].z), "r"(v[i].w) : "memory");
        }
        if (FENCE) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("bar.sync 0;" ::: "memory");
    }
    t = clock64() - t;
    if (threadIdx.x == 0) out[blockIdx.x] = t;
    if (t == 0) sink[threadIdx.x] = tile[threadIdx.x];
}

template <int N, bool GLOBAL, bool FENCE>
int measure(int warps, int ctas, const uint4* in, long long* out) {
    int bytes = N * warps * 32 * 16, room = 200 * 1024 / ctas;
    if (bytes > room) return 0;
    auto f = k<N, GLOBAL, FENCE>;
    CHECK(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, room));
    double best = 1e30;
    static long long host[4096];
    for (int r = 0; r < 5; r++) {
        f<<<132 * ctas, warps * 32, room>>>(in, out, (uint4*)out);
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(host, out, sizeof(long long) * 132 * ctas, cudaMemcpyDeviceToHost));
        double sum = 0;
        for (int i = 0; i < 132 * ctas; i++) sum += host[i];
        sum /= 132.0 * ctas * LOOP;
        if (sum < best) best = sum;
    }
    printf("%d,%d,%d,%d,%d,%.1f\n", warps, ctas, N, GLOBAL, FENCE, best);
    return 0;
}

int main() {
    cudaDeviceProp d;
    cudaGetDeviceProperties(&d, 0);
    printf("# device: %s\nwarps,ctas,loads,global,fence,cycles\n", d.name);
    uint4* in;
    long long* out;
    CHECK(cudaMalloc(&in, (size_t)64 * 65536 * 16 + (1 << 20)));
    CHECK(cudaMemset(in, 1, (size_t)64 * 65536 * 16 + (1 << 20)));
    CHECK(cudaMalloc(&out, 1 << 20));
    for (int w : {1, 4, 8})
        for (int c : {1, 2, 4}) {
            measure<1, false, false>(w, c, in, out), measure<1, false, true>(w, c, in, out), measure<1, true, false>(w, c, in, out), measure<1, true, true>(w, c, in, out);
            measure<4, false, false>(w, c, in, out), measure<4, false, true>(w, c, in, out), measure<4, true, false>(w, c, in, out), measure<4, true, true>(w, c, in, out);
            measure<8, false, false>(w, c, in, out), measure<8, false, true>(w, c, in, out), measure<8, true, false>(w, c, in, out), measure<8, true, true>(w, c, in, out);
        }
    return 0;
}
