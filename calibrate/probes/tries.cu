// How long a try of an mbarrier sleeps that nobody completes, by the time that it may sleep and by what else goes on on its core.
//
//     nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a -o tries tries.cu && ./tries
//
// calibrate/data/h200_tries.csv is what one H200 gave: of one warp's tries in 20 ms, the mean, the shortest and the longest, in ns.

#include <cstdint>
#include <cstdio>

typedef uint32_t u32;
typedef uint64_t u64;

__device__ __forceinline__ u64 ns() {
    u64 t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}
template <int HINT>
__device__ __forceinline__ bool try_wait(u32 bar, u32 parity) {
    u32 done;
    if (HINT)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, %3; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(bar), "r"(parity), "n"(HINT) : "memory");
    else
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(bar), "r"(parity) : "memory");
    return done;
}

// Warp 0 tries; the others add, store to shared memory, arrive on another mbarrier of the CTA, or wait for that.
template <int HINT>
__global__ void tries(int beside, u64* out) {
    __shared__ u64 bars[2];
    __shared__ volatile u32 words[1024];
    u32 bar = (u32)__cvta_generic_to_shared(bars);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar));
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar + 8));
    }
    __syncthreads();
    u64 t0 = ns(), n = 0, least = ~0ull, most = 0, t = t0;
    const u64 end = t0 + 20000000;
    if (threadIdx.x / 32 == 0) {
        while (t < end) {
            if (try_wait<HINT>(bar, 0)) break;  // never
            u64 now = ns(), d = now - t;
            least = min(least, d), most = max(most, d), t = now, n++;
        }
        if (threadIdx.x == 0) out[0] = n, out[1] = (t - t0) / n, out[2] = least, out[3] = most;
    } else {
        float x = threadIdx.x;
        while (beside && ns() < end) {
            if (beside == 1)
                for (int i = 0; i < 1000; i++) x = x * 1.5f + 1;
            else if (beside == 2)
                for (int i = 0; i < 1000; i++) words[threadIdx.x] = i;
            else if (beside == 3 && threadIdx.x == 32) {
                asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(bar + 8) : "memory");
                __nanosleep(5000);
            } else if (beside == 4)
                if (try_wait<HINT>(bar + 8, 0)) break;
        }
        if (x == 0.25f) out[4] = 1;
    }
}

template <int HINT>
void all(u64* out) {
    const char* names[] = {"nothing", "adds", "stores to shared memory", "arrivals on another mbarrier", "tries of another mbarrier"};
    for (int beside = 0; beside < 5; beside++) {
        tries<HINT><<<1, 256>>>(beside, out);
        u64 v[4];
        cudaMemcpy(v, out, sizeof v, cudaMemcpyDeviceToHost);
        printf("%d,%s,%llu,%llu,%llu,%llu\n", HINT, names[beside], (unsigned long long)v[0], (unsigned long long)v[1],
               (unsigned long long)v[2], (unsigned long long)v[3]);
    }
}

int main() {
    u64* out;
    cudaMalloc(&out, 64);
    printf("may_sleep_ns,beside,tries,mean_ns,least_ns,most_ns\n");
    all<0>(out), all<1000>(out), all<20000>(out), all<1000000>(out), all<10000000>(out);
    if (cudaGetLastError() != cudaSuccess) return 1;
}
