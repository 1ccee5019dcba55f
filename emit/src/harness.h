
// ---- the harness: inputs, the reference, runs, results; the same for CUDA and HIP ---------------------------
// usage: x [--runs N] [--deadline MS] [--time N] [--cold] [--real] [--trace FILE] [--ctas FILE] [--no-reference]
//   --runs N      N runs compared with the reference; with -DWL_DELAY all but the first have random delays
//   --deadline MS the longest a wait may take; 200 by default, 4,000 at most
//   --time N      N timed runs, without a check
//   --cold        with --time: caches are filled with other data before each run
//   --real        inputs between -1 and 1 instead of small integers, for timing
//   --trace FILE  what -DWL_STAMP recorded
//   --ctas FILE   with --time: when each CTA of the last run began and ended, in ns
// Prints one line of JSON. Status 0: all runs ended with the right result; 1: a run did not; 2: the set-up failed.

namespace wl {

__global__ void fill(byte* p, Matrix m, u32 seed, bool real) {
    long long n = (long long)m.pitch_rows * m.pitch, stride = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += stride) {
        int row = i / m.pitch, col = i % m.pitch;
        u32 h = mix(seed ^ mix((u32)i) ^ (u32)(i >> 32) * 31);
        float v = real ? (float)(h >> 8) / (1 << 23) - 1.f : (float)((int)(h >> 8) % 7 - 3);
        if (row >= m.rows || col >= m.cols) v = 0, h = 0;
        switch (m.type) {
            case F32: case TF32: ((float*)p)[i] = v; break;
            case F16: to_f16(p + i * 2, v); break;
            case BF16: to_bf16(p + i * 2, v); break;
            case FP8: to_fp8(p + i, v); break;
            case I8: p[i] = (byte)(signed char)((int)(h >> 8) % 7 - 3); break;
            case I32: ((int*)p)[i] = (int)(h >> 8) % 7 - 3; break;
            case FP4:
                if (i % 2 == 0) p[i / 2] = h & 0xff;  // any bits are a number
        }
    }
}
// Reads everything once.
__global__ void sweep(const word4* p, size_t n, u32* out) {
    u32 sum = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) sum += p[i].x ^ p[i].w;
    if (sum == 0x12345678) *out = sum;
}
static size_t bytes_of(const Matrix& m) { return (size_t)m.pitch_rows * m.pitch * m.bits / 8; }

static u64 hash64(u64 h, u64 v) { return (h ^ v) * 0x100000001b3ull ^ h >> 29; }

struct Count {
    long long checked = 0, differ = 0, wrong = 0;
    u64 free = 1469598103934665603ull;
};
static double value(const Matrix& m, const byte* p, long long i) {
    switch (m.type) {
        case F32: case TF32: return ((const float*)p)[i];
        case F16: return from_f16(p + i * 2);
        case BF16: return from_bf16(p + i * 2);
        case FP8: return from_fp8(p + i);
        default: return m.bits == 8 ? p[i] : 0;
    }
}
static void compare(Count& c, double x, double y, bool same) {
    c.checked++;
    if (same) return;
    c.differ++;
    double big = std::max(fabs(x), fabs(y)), off = fabs(x - y);
    if (!(off <= 1e-3 + big * 0.01)) c.wrong++;
}

static int run(int argc, char** argv) {
    int runs = 1, timed = 0;
    double deadline_ms = 200;
    bool real = false, cold = false, with_reference = REFERENCE;
    [[maybe_unused]] const char* trace = nullptr;
    const char* ctas = nullptr;
    for (int i = 1; i < argc; i++) {
        std::string s = argv[i];
        auto next = [&] { return i + 1 < argc ? argv[++i] : (char*)"0"; };
        if (s == "--runs") runs = atoi(next());
        else if (s == "--time") timed = atoi(next());
        else if (s == "--deadline") deadline_ms = atof(next());
        else if (s == "--real") real = true;
        else if (s == "--cold") cold = true;
        else if (s == "--trace") trace = next();
        else if (s == "--ctas") ctas = next();
        else if (s == "--no-reference") with_reference = false;
        else return fprintf(stderr, "unknown argument %s\n", argv[i]), 2;
    }
    if (!(deadline_ms > 0 && deadline_ms <= 4000)) return fprintf(stderr, "--deadline: above 0 and at most 4,000 ms\n"), 2;
    Report* report;
    WL_CHECK(GPU(HostAlloc)((void**)&report, sizeof(Report), GPU(HostAllocMapped)));
    memset(report, 0, sizeof(Report));
    Globals g{}, ref{};
    for (int i = 0; i < MATRICES; i++) {
        WL_CHECK(GPU(Malloc)(&g.m[i], bytes_of(matrices[i])));
        fill<<<512, 256>>>(g.m[i], matrices[i], 17 * i + 1, real);
        ref.m[i] = g.m[i];
        if (matrices[i].output) WL_CHECK(GPU(Malloc)(&ref.m[i], bytes_of(matrices[i])));
    }
    const Maps maps = maps_of(g);
    constexpr int THREADS = WARPS * LANES;
    size_t sinks = (size_t)CTAS * THREADS * 2 * 4, sums = std::max<size_t>((size_t)CTAS * THREADS * SUMS * 4, 4);
    Common common{}, refcommon;
    common.report = report;
    common.deadline_ns = (u32)(deadline_ms * 1e6);
    common.trace_ctas = 0;
    WL_CHECK(places_for(&common.where, (size_t)CTAS * WARPS * 4));
    WL_CHECK(GPU(Malloc)(&common.times, (size_t)CTAS * 32));
#ifdef WL_STAMP
    common.trace_ctas = std::min(CTAS, 2 * CLUSTER);
    WL_CHECK(GPU(Malloc)(&common.trace, (size_t)common.trace_ctas * WARPS * RING * 16));
#endif
    refcommon = common;
    WL_CHECK(GPU(Malloc)(&common.sink, sinks));
    WL_CHECK(GPU(Malloc)(&common.sums, sums));
    WL_CHECK(GPU(Malloc)(&refcommon.sink, sinks));
    WL_CHECK(GPU(Malloc)(&refcommon.sums, sums));
    auto clear = [&](Globals& g, Common& c) {
        for (int i = 0; i < MATRICES; i++)
            if (matrices[i].output) WL_CHECK(GPU(Memset)(g.m[i], 0xff, bytes_of(matrices[i])));
        WL_CHECK(GPU(Memset)(c.sink, 0xff, sinks));
        WL_CHECK(GPU(Memset)(c.sums, 0xff, sums));
        WL_CHECK(GPU(Memset)(c.where, 0, (size_t)CTAS * WARPS * 4));
    };
    if (timed) with_reference = false;
    if (with_reference) {
        clear(ref, refcommon);
        refer(ref, refcommon);
        WL_CHECK(GPU(DeviceSynchronize)());
    }
    allow(POOL_BYTES);
    GPU(FuncAttributes) attributes;
    WL_CHECK(GPU(FuncGetAttributes)(&attributes, (const void*)kernel));
    GPU(Stream_t) stream, other;
    WL_CHECK(GPU(StreamCreateWithFlags)(&stream, GPU(StreamNonBlocking)));
    WL_CHECK(GPU(StreamCreateWithFlags)(&other, GPU(StreamNonBlocking)));
    auto launch = [&] { return start(maps, g, common, stream); };
    auto where = [&](const char* outcome, int run, const char* error) {
        printf("{\"kernel\":\"%s\",\"outcome\":\"%s\",\"run\":%d,\"runs\":%d,\"error\":\"%s\",\"waits\":[", KERNEL, outcome, run, runs, error);
        // One line per statement, barrier and phase, with the number of threads that wait there; the earliest comes
        // first.
        std::vector<Wait> waits;
        std::copy_if(report->waits, report->waits + LATE, std::back_inserter(waits), [](const Wait& w) { return w.phase; });
        std::stable_sort(waits.begin(), waits.end(), [&](const Wait& a, const Wait& b) { return (int)(a.when - b.when) < 0; });
        struct Seen { Wait w; u32 warp; int n; };
        std::vector<Seen> seen;
        for (const Wait& w : waits) {
            u32 warp = (w.thread_bar & 0xffff) / LANES;
            auto at = std::find_if(seen.begin(), seen.end(), [&](const Seen& s) {
                return s.w.phase == w.phase && s.w.cta == w.cta && s.warp == warp && s.w.thread_bar >> 16 == w.thread_bar >> 16; });
            if (at == seen.end()) seen.push_back({w, warp, 1});
            else at->n++;
        }
        for (size_t i = 0; i < seen.size() && i < 24; i++) {
            const Wait& w = seen[i].w;
            printf("%s{\"line\":%u,\"cta\":%u,\"warp\":%u,\"lanes\":%d,\"barrier\":\"%s\",\"parity\":%u}", i ? "," : "",
                   lines[w.phase / 2 - 1], w.cta, seen[i].warp, seen[i].n, barrier_names[w.thread_bar >> 16], w.phase & 1);
        }
        printf("]");
        places(report, common);
        if (report->watchdog) {
            printf(",\"where\":[");
            for (int i = 0; i < std::min(CTAS * WARPS, 4 * WARPS * CLUSTER); i++)
                printf("%s%d", i ? "," : "", report->where[i] ? (int)lines[report->where[i] - 1] : 0);
            printf("]");
        }
        printf("}\n");
        fflush(stdout);
        _Exit(1);
    };
    // Waits for a run. When the deadlines of all waits are past, it ends the process and so the run.
    auto finish = [&](int run) {
        u64 limit = (u64)(deadline_ms * 20 + 5000), ms = 0;
        GPU(Error_t) e;
        timespec t0, t1;
        clock_gettime(CLOCK_MONOTONIC, &t0);
        while ((e = GPU(StreamQuery)(stream)) == GPU(ErrorNotReady)) {
            clock_gettime(CLOCK_MONOTONIC, &t1);
            ms = (t1.tv_sec - t0.tv_sec) * 1000 + (t1.tv_nsec - t0.tv_nsec) / 1000000;
            if (ms > limit) where("hang", run, "ended by the host");
        }
        *(volatile u32*)&report->done = 1;
        if (e != GPU(Success)) {
            bool hung = report->watchdog || std::any_of(report->waits, report->waits + LATE, [](const Wait& w) { return w.phase; });
            where(hung ? "hang" : "fault", run, hung ? "deadline" : GPU(GetErrorString)(e));
        }
    };
    // What the last run recorded.
    auto record = [&] {
#ifdef WL_STAMP
        if (!trace) return;
        FILE* f = fopen(trace, "w");
        if (!f) fprintf(stderr, "cannot write %s\n", trace), exit(2);
        std::vector<word4> t((size_t)common.trace_ctas * WARPS * RING);
        WL_CHECK(GPU(Memcpy)(t.data(), common.trace, t.size() * 16, GPU(MemcpyDeviceToHost)));
        std::vector<u32> n(CTAS * WARPS);
        WL_CHECK(GPU(Memcpy)(n.data(), common.where, n.size() * 4, GPU(MemcpyDefault)));
        std::vector<u64> times(CTAS * 4);
        WL_CHECK(GPU(Memcpy)(times.data(), common.times, (size_t)CTAS * 32, GPU(MemcpyDeviceToHost)));
        fprintf(f, "cta,warp,line,pc,start,end\n");
        for (u32 c = 0; c < common.trace_ctas; c++) {
            u32 begin = (u32)times[c * 4];
            for (int w = 0; w < WARPS; w++)
                for (u32 i = 0; i < std::min(n[c * WARPS + w], (u32)RING); i++) {
                    const word4& s = t[(size_t)(c * WARPS + w) * RING + i];
                    fprintf(f, "%u,%d,%u,%u,%u,%u\n", c, w, lines[s.x], s.x, s.y - begin, s.z - begin);
                }
        }
        fclose(f);
#endif
    };
    if (timed) {
        GPU(Event_t) from, to;
        WL_CHECK(GPU(EventCreate)(&from));
        WL_CHECK(GPU(EventCreate)(&to));
        std::vector<float> us;
        std::vector<u64> times(CTAS * 4);
        std::vector<double> spans, clocks;
        // Reading more than any second-level cache holds: the lines that stay there are clean.
        const size_t other_bytes = cold ? (size_t)256 << 20 : 0;
        byte* other_data = nullptr;
        if (cold) WL_CHECK(GPU(Malloc)(&other_data, other_bytes));
        if (cold) WL_CHECK(GPU(Memset)(other_data, 1, other_bytes));
        for (int r = 0; r < timed + 3; r++) {
            if (cold) sweep<<<1024, 256, 0, stream>>>((const word4*)other_data, other_bytes / 16, common.sink);
            WL_CHECK(GPU(EventRecord)(from, stream));
            GPU(Error_t) e = launch();
            if (e != GPU(Success)) where("setup", r, GPU(GetErrorString)(e));
            WL_CHECK(GPU(EventRecord)(to, stream));
            finish(r);
            if (r < 3) continue;
            float ms;
            WL_CHECK(GPU(EventElapsedTime)(&ms, from, to));
            us.push_back(ms * 1000);
            WL_CHECK(GPU(Memcpy)(times.data(), common.times, (size_t)CTAS * 32, GPU(MemcpyDeviceToHost)));
            u64 first = ~0ull, last = 0, longest = 0;
            double mhz = 0;
            for (int c = 0; c < CTAS; c++) {
                u64* t = &times[c * 4];
                first = std::min(first, t[1]), last = std::max(last, t[3]);
                if (t[3] - t[1] > longest) longest = t[3] - t[1], mhz = (double)(t[2] - t[0]) / (t[3] - t[1]) * 1000;
            }
            spans.push_back((double)(last - first)), clocks.push_back(mhz);
        }
        auto mid = [](auto v) { std::sort(v.begin(), v.end()); return (double)v[v.size() / 2]; };
        auto low = [](auto v) { return (double)*std::min_element(v.begin(), v.end()); };
        auto high = [](auto v) { return (double)*std::max_element(v.begin(), v.end()); };
        printf("{\"kernel\":\"%s\",\"outcome\":\"timed\",\"runs\":%d,\"us\":%.2f,\"us_low\":%.2f,\"us_high\":%.2f,\"span_ns\":%.0f,\"span_low\":%.0f,\"span_high\":%.0f,"
               "\"mhz\":%.0f,\"regs\":%d,\"spilled\":%zu,\"shared\":%d}\n",
               KERNEL, timed, mid(us), low(us), high(us), mid(spans), low(spans), high(spans), mid(clocks), attributes.numRegs, attributes.localSizeBytes, POOL_BYTES);
        record();
        if (FILE* f = ctas ? fopen(ctas, "w") : nullptr) {
            u64 first = ~0ull;
            for (int c = 0; c < CTAS; c++) first = std::min(first, times[c * 4 + 1]);
            fprintf(f, "cta,begin_ns,end_ns,cycles\n");
            for (int c = 0; c < CTAS; c++) {
                u64* t = &times[c * 4];
                fprintf(f, "%d,%llu,%llu,%llu\n", c, t[1] - first, t[3] - first, t[2] - t[0]);
            }
            fclose(f);
        }
        return 0;
    }
    Count total;
    u64 free_first = 0;
    bool free_same = true;
    for (int r = 0; r < runs; r++) {
        common.seed = r;
        clear(g, common);
        report->done = 0;
        WL_CHECK(GPU(DeviceSynchronize)());
#ifdef WL_WATCH
        watch(report, common, other);
#endif
        GPU(Error_t) e = launch();
        if (e != GPU(Success)) where("setup", r, GPU(GetErrorString)(e));
        finish(r);
        WL_CHECK(GPU(StreamSynchronize)(other));
        Count c;
        auto fetch = [](const void* p, size_t n) {
            std::vector<byte> v(n);
            WL_CHECK(GPU(Memcpy)(v.data(), p, n, GPU(MemcpyDeviceToHost)));
            return v;
        };
        for (int i = 0; i < MATRICES; i++) {
            const Matrix& m = matrices[i];
            if (!m.output) continue;
            std::vector<byte> x = fetch(g.m[i], bytes_of(m)), y;
            if (with_reference) y = fetch(ref.m[i], bytes_of(m));
            int size = m.bits / 8;
            for (int row = 0; row < m.rows; row++)
                for (int col = 0; col < m.cols; col++) {
                    long long at = (long long)row * m.pitch + col;
                    static const byte none[8] = {255, 255, 255, 255, 255, 255, 255, 255};
                    if (!with_reference || !memcmp(&y[at * size], none, size)) {
                        u64 bits = 0;
                        memcpy(&bits, &x[at * size], size);
                        c.free = hash64(c.free, bits);
                    } else {
                        compare(c, value(m, x.data(), at), value(m, y.data(), at), !memcmp(&x[at * size], &y[at * size], size));
                    }
                }
        }
        std::vector<byte> x = fetch(common.sink, sinks), y = fetch(refcommon.sink, sinks);
        for (size_t i = 0; i < sinks / 4; i++) {
            u32 v = ((u32*)x.data())[i], w = ((u32*)y.data())[i];
            if (i % 2) c.free = hash64(c.free, v);
            else if (with_reference && (v || w) && (v != ~0u || !HANDED_OUT)) compare(c, v == w ? 0 : 1e9, 0, v == w);
        }
        if (SUMS) {
            x = fetch(common.sums, sums), y = fetch(refcommon.sums, sums);
            for (size_t i = 0; i < sums / 4; i++) {
                float v = ((float*)x.data())[i], w = ((float*)y.data())[i];
                if (with_reference && !(v == 0 && w == 0)) compare(c, v, w, !memcmp(&v, &w, 4));
            }
        }
        if (r == 0) free_first = c.free;
        free_same &= c.free == free_first;
        total.checked = std::max(total.checked, c.checked);
        if (c.wrong || (EXACT && c.differ)) {
            printf("{\"kernel\":\"%s\",\"outcome\":\"wrong\",\"run\":%d,\"runs\":%d,\"checked\":%lld,\"differ\":%lld,\"wrong\":%lld,\"free\":\"%016llx\"}\n",
                   KERNEL, r, runs, c.checked, c.differ, c.wrong, c.free);
            return 1;
        }
        total.differ += c.differ;
    }
    record();
    printf("{\"kernel\":\"%s\",\"outcome\":\"%s\",\"runs\":%d,\"checked\":%lld,\"differ\":%lld,\"free\":\"%016llx\",\"free_same\":%s,\"regs\":%d,\"spilled\":%zu,\"shared\":%d}\n",
           KERNEL, total.checked ? "right" : "ran", runs, total.checked, total.differ, free_first, free_same ? "true" : "false", attributes.numRegs, attributes.localSizeBytes, POOL_BYTES);
    return 0;
}

}  // namespace wl

int main(int argc, char** argv) { return wl::run(argc, argv); }
