// What the probes have in common: a kernel writes cycles to `d_out`; the first launch is a warm-up, and the median over REPEATS
// launches is printed with the smallest and largest.
#pragma once
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#define CHECK(x)                                                                             \
    do {                                                                                     \
        cudaError_t e = (x);                                                                 \
        if (e != cudaSuccess) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e));       \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

constexpr int REPEATS = 21;
constexpr int LOOP = 256;


static long long* d_out;
// Prints `probe,parameter,unit,median,low,high,repeats`. A negative scale divides: bytes over cycles.
static void row(const char* probe, double parameter, const char* unit, double scale, const std::function<void()>& go, int cells = 1) {
    std::vector<double> v;
    std::vector<long long> h(cells);
    for (int i = 0; i <= REPEATS; i++) {
        go();
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(h.data(), d_out, cells * sizeof(long long), cudaMemcpyDeviceToHost));
        std::nth_element(h.begin(), h.begin() + cells / 2, h.end());
        if (i) v.push_back(h[cells / 2]);
    }
    std::sort(v.begin(), v.end());
    auto at = [&](size_t i) { return scale < 0 ? -scale / v[i] : v[i] * scale; };
    double a = at(0), b = at(v.size() - 1);
    printf("%s,%g,%s,%.3f,%.3f,%.3f,%d\n", probe, parameter, unit, at(v.size() / 2), std::min(a, b), std::max(a, b), REPEATS);
    fflush(stdout);
}
// The first line of every file of measurements.
static int head() {
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    int driver = 0;
    CHECK(cudaDriverGetVersion(&driver));
    printf("# device: %s, %d SMs, driver %d, cycles are clock64 of the SM\n", p.name, p.multiProcessorCount, driver);
    printf("probe,parameter,unit,median,low,high,repeats\n");
    CHECK(cudaMalloc(&d_out, 4096 * sizeof(long long)));
    return p.multiProcessorCount;
}
