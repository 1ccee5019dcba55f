// Latency of blocks of lines while all other SMs load at a pace: what queues and their spread add.
//
//   nvcc -O2 -std=c++17 -arch=sm_90a queue.cu -o queue && ./queue > ../data/h100_queue.csv
//   ./queue stores > ../data/h100_queue_stores.csv   # DRAM alone; each load of the other SMs is followed by a store of as many bytes
//
// One warp of one SM loads `lines` lines of 128 bytes at a time, one a lane, and waits for all of them. The other SMs load
// 512 bytes a warp, each warp at fixed times. `from` says where the lines are: in DRAM (each is read once), or in L2.
#include <algorithm>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

constexpr int WARPS = 32, SAMPLES = 256;

__device__ __forceinline__ unsigned now() { unsigned c; asm volatile("mov.u32 %0, %%clock;" : "=r"(c) :: "memory"); return c; }
__device__ __forceinline__ int4 get(const char* a) {
  int4 v; asm volatile("ld.global.cg.v4.s32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(a) : "memory"); return v;
}

// `mask`: addresses wrap, so that lines stay in L2. `pace`: cycles from load to load of a warp; 0: no load at all.
template <int MORE>
__global__ void __launch_bounds__(32 * WARPS, 1) queue(const char* base, long mask, int lines, int pace, bool stores, int rounds, unsigned* out, unsigned long long* bytes, int* sink) {
  extern __shared__ char alone[];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (blockIdx.x == 0) {
    if (warp) return;
    long at = 0;
    unsigned start = now();
    while (now() - start < 20000) {}
    for (int s = 0; s < SAMPLES; s++) {
      int ok = 0;
      unsigned t0 = now();
      int4 v[MORE];
      const char* a = base + ((at + lane * 128) & mask);
      if (lane < lines) {
        t0 = now();
        #pragma unroll
        for (int k = 0; k < MORE; k++) v[k] = get(a + k * 4096);
        #pragma unroll
        for (int k = 0; k < MORE; k++) ok |= v[k].x;
        if (ok) sink[0] = ok;
      }
      __syncwarp();
      unsigned t1 = now();
      if (lane == 0) out[s] = t1 - t0;
      at += 128 * 1031;
      while (now() - t1 < 300) {}
    }
    return;
  }
  if (!pace) return;
  long at = (64l << 20) + ((long)blockIdx.x * WARPS + warp) * 512 + lane * 16;
  long step = (long)gridDim.x * WARPS * 512;
  unsigned begin = now(), due = begin + warp * pace / WARPS;
  int4 old = {0, 0, 0, 0}, older = old, oldest = old;
  for (int r = 0; r < rounds; r++) {
    while ((int)(now() - due) < 0) {}
    due += pace;
    int4 v = get(base + (mask == -1 ? at : (at & mask)));
    if (oldest.x) sink[1] = 1;
    // Behind what is read: 12 GB further, so that no line is read that was written.
    if (stores) asm volatile("st.global.cg.v4.s32 [%0], {%1, %1, %1, %1};" ::"l"(base + at + (12l << 30)), "r"(lane) : "memory");
    oldest = older; older = old; old = v; at += step;
  }
  if (old.x | older.x | oldest.x) sink[1] = 1;
  if (lane == 0) atomicMax(bytes, (unsigned long long)(now() - begin));
}

int main(int argc, char**) {
  const bool stores = argc > 1;
  cudaDeviceProp d; cudaGetDeviceProperties(&d, 0);
  char* base; size_t big = 24ul << 30; cudaMalloc(&base, big); cudaMemset(base, 0, big);
  unsigned* out; unsigned long long* bytes; int* sink; cudaMalloc(&out, 4096); cudaMalloc(&bytes, 8); cudaMalloc(&sink, 64);
  int sms = d.multiProcessorCount;
  printf("# device: %s, cycles are clock of the SM\nfrom,lines,pace,bytes_per_clk,p10,median,p90,mean\n", d.name);
  for (int far = 1; far >= stores; far--) for (int lines : {1, 4, 16, 64, 256}) for (int pace : {0, 16000, 8000, 6000, 5000, 4500, 4000, 3700, 3500, 3300, 3100, 3000, 2500, 2200, 2000, 1800, 1700, 1600, 1500, 1200, 900, 700, 600, 500, 450, 400}) {
    if (far ? pace && pace < (stores ? 2900 : 1400) : pace > 3000) continue;
    long mask = far ? -1 : (16l << 20) - 1;
    int each = lines > 32 ? 32 : lines;
    auto go = lines <= 32 ? queue<1> : lines == 64 ? queue<2> : queue<8>;
    cudaFuncSetAttribute(go, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10);
    // As long as all samples take.
    int rounds = pace ? 700000 / pace : 0;
    if (stores && (long)rounds * sms * WARPS * 512 > (11l << 30)) rounds = (11l << 30) / ((long)sms * WARPS * 512);
    if (far && (long)rounds * sms * WARPS * 512 > (long)(big - (128ul << 20))) rounds = (big - (128ul << 20)) / ((long)sms * WARPS * 512);
    for (int rep = 0; rep < 2; rep++) {
      if (!far) { go<<<sms, 32 * WARPS, 200 << 10>>>(base, mask, 32, 4000, false, 60, out, bytes, sink); }
      else cudaMemset(base + (20ul << 30), 0, 256 << 20);
      cudaMemset(bytes, 0, 8);
      go<<<sms, 32 * WARPS, 200 << 10>>>(base, mask, each, pace, stores, rounds, out, bytes, sink);
      cudaDeviceSynchronize();
    }
    std::vector<unsigned> h(SAMPLES); unsigned long long t = 0;
    cudaMemcpy(h.data(), out, SAMPLES * 4, cudaMemcpyDeviceToHost); cudaMemcpy(&t, bytes, 8, cudaMemcpyDeviceToHost);
    double rate = pace ? (stores ? 2.0 : 1.0) * rounds * (sms - 1) * WARPS * 512 / t : 0, sum = 0;
    for (auto x : h) sum += x;
    std::sort(h.begin(), h.end());
    printf("%s,%d,%d,%.0f,%u,%u,%u,%.0f\n", far ? "dram" : "l2", lines, pace, rate, h[SAMPLES / 10], h[SAMPLES / 2], h[SAMPLES * 9 / 10], sum / SAMPLES);
  }
  if (cudaGetLastError() != cudaSuccess) printf("# failed\n");
}
