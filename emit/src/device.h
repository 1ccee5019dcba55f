// ---- what all targets share ---------------------------------------------------------------------------------------
//
// -DWL_STAMP   record the begin and end of every operation, in a ring per warp
// -DWL_PACE    with -DWL_STAMP: record matrix multiplications only, so that recording hardly slows the kernel
// -DWL_WATCH   record where every warp is before it may block, for hangs at barriers, which have no deadline
// -DWL_DELAY   wait a random time (by seed) before operations

// ---- what the host and the kernel exchange ------------------------------------------------------------------------

struct Wait {  // one thread that waits past the deadline
    u32 phase;  // 2 * (operation + 1) + parity; 0: no thread waits
    u32 cta, thread_bar, when;  // `when`: the wait began
};
constexpr u32 LATE = 4096;  // threads that can report a wait
struct Report {  // in host memory: it outlives the fault
    Wait waits[LATE];
    u32 done;  // set by the host: the kernel ended
    u32 where[4096];  // last place of each warp, if the watchdog ended the run
    u32 watchdog;
};
struct Note;
struct Common {
    Report* report;
    u32* where;       // [cta][warp]: the operation about to be executed
    word4* trace;     // [cta][warp][RING]: operation, begin, end
    u32* sink;        // [cta][thread][2]: checksums of values that were read and not stored
    float* sums;      // [cta][thread][SUMS]: accumulators that the kernel never stores
    u64* times;       // [cta][4]: clock and nanoseconds at the begin and the end
    u32 deadline_ns;
    u32 seed, trace_ctas;
    // For the reference of a kernel in tensor memory: its pass, what the passes before noted [cta][room], and how many
    // notes [cta].
    u32 pass, room;
    Note* notes;
    u32* noted;
};

[[maybe_unused]] constexpr int RING = 8192;  // operations that the ring of a warp holds

// ---- expressions of the kernel language: `/` floors, `%` is not negative -----------------------------------------

__host__ __device__ __forceinline__ int fdiv(int a, int b) {
    int q = a / b;
    return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}
__host__ __device__ __forceinline__ int fmod(int a, int b) {
    int r = a % b;
    return r < 0 ? r + (b < 0 ? -b : b) : r;
}
__host__ __device__ __forceinline__ int ceildiv(int a, int b) { return fdiv(a, b) + (a % b != 0); }
__host__ __device__ __forceinline__ int lesser(int a, int b) { return a < b ? a : b; }
__host__ __device__ __forceinline__ int greater(int a, int b) { return a > b ? a : b; }

// ---- an agent -----------------------------------------------------------------------------------------------------

__host__ __device__ __forceinline__ u32 mix(u32 h) {
    h ^= h >> 16;
    h *= 0x7feb352du;
    h ^= h >> 15;
    h *= 0x846ca68bu;
    return h ^ h >> 16;
}

struct Agent {
    const Common& common;
    int cta, rank, warp, lane;
    u32 stamps = 0, delays = 0;
    word4* ring = nullptr;  // where the next operation is recorded
    u32 checked = 0, unchecked = 0;  // checksums of values read, with and without an expected tile
    __device__ Agent(const Common& c, int cta, int rank, int warp, int lane)
        : common(c), cta(cta), rank(rank), warp(warp), lane(lane) {}
};

// Waits this many cycles: for operations of which the kernel states only the time.
__device__ __forceinline__ void busy(u32 cycles) {
    u32 t = clock32();
    while (clock32() - t < cycles) {
    }
}

// Before an operation: records where this warp is, and waits a random time.
template <int WARPS>
__device__ __forceinline__ void before(Agent& a, u32 pc) {
#ifdef WL_WATCH
    if (a.lane == 0) *(volatile u32*)&a.common.where[a.cta * WARPS + a.warp] = pc + 1;
#endif
#ifdef WL_DELAY
    // Four kinds of delay, by seed: a short one now and then, one warp always late, one statement always late, a rare
    // long one.
    if (u32 seed = a.common.seed) {
        u32 h = mix(seed * 0x9e3779b9u ^ mix(pc << 16 ^ a.cta << 6 ^ a.warp) ^ a.delays++ * 0x85ebca6bu), cycles = 0;
        switch (seed % 4) {
            case 0: cycles = (h & 7) == 0 ? h >> 8 & 0x3ff : 0; break;
            case 1: cycles = mix(seed) % WARPS == a.warp ? h >> 8 & 0xfff : 0; break;
            case 2: cycles = (mix(seed ^ pc) & 15) == 0 && (mix(seed ^ a.warp ^ a.cta << 8) & 1) ? h >> 8 & 0x3fff : 0; break;
            default: cycles = (h & 127) == 0 ? h >> 8 & 0xffff : 0;
        }
        busy(cycles);
    }
#endif
}

// Records the begin and end of an operation.
template <int WARPS>
struct Span {
#ifdef WL_STAMP
    Agent& a;
    u32 pc, t;
    __device__ __forceinline__ Span(Agent& a, u32 pc) : a(a), pc(pc) { t = clock32(); }
    __device__ __forceinline__ ~Span() {
#ifdef WL_PACE
        if (!WL_IS_MMA(pc)) return;
#endif
        u32 end = clock32();
        if (a.ring && a.stamps < RING) a.ring[a.stamps++] = word4{pc, t, end, 0};
    }
#else
    __device__ __forceinline__ Span(Agent&, u32) {}
#endif
};

// One lane of each warp of the first CTAs records.
template <int WARPS>
__device__ __forceinline__ void record(Agent& a) {
#ifdef WL_STAMP
    if (a.lane == 0 && a.cta < a.common.trace_ctas) a.ring = a.common.trace + (u64)(a.cta * WARPS + a.warp) * RING;
#endif
}

// The end of a warp: when it was, and how much was recorded.
template <int WARPS>
__device__ __forceinline__ void finish(const Agent& a) {
    if (a.lane == 0) {
        atomicMax(a.common.times + a.cta * 4 + 2, ticks());
        atomicMax(a.common.times + a.cta * 4 + 3, nanoseconds());
#ifdef WL_STAMP
        a.common.where[a.cta * WARPS + a.warp] = a.stamps;
#endif
    }
}

// ---- shared memory ------------------------------------------------------------------------------------------------

// A buffer: OFFSET bytes into the pool, slots of STRIDE bytes, ROWS x COLS elements of BITS, in panels as wide as the
// swizzle atom (the whole row without a swizzle). Inside a panel, address bits 4..6 are xored with bits 7..9, as TMA
// does.
template <int OFFSET, int STRIDE, int ROWS, int COLS, int BITS, int SWIZZLE>
struct Buffer {
    static constexpr int rows = ROWS, row_bytes = COLS * BITS / 8;
    static constexpr int panel = SWIZZLE ? SWIZZLE : row_bytes, swizzle = SWIZZLE;
    static constexpr int panel_bytes = ROWS * panel;
    static constexpr int mask = SWIZZLE == 128 ? 7 : SWIZZLE == 64 ? 3 : SWIZZLE == 32 ? 1 : 0;
    static __device__ __forceinline__ u32 slot(u32 pool, int s) { return pool + OFFSET + s * STRIDE; }
    // The address of a byte of a row. The slot starts at a multiple of eight swizzle atoms.
    static __device__ __forceinline__ u32 at(u32 slot, int row, int b) {
        int o = row * panel + b % panel;
        return slot + b / panel * panel_bytes + (o ^ (o >> 7 & mask) << 4);
    }
};

// The value that the n-th store writes from a register object that no operation wrote: different for each store, the
// same in every run.
__device__ __forceinline__ word4 made_up(u32 obj, u32 warp, u32 n, u32 chunk) {
    u32 h = mix(obj * 0x9e3779b9u ^ warp << 24 ^ n << 12 ^ chunk) & 0x3f3f3f3fu;
    return word4{h, h ^ 0x01010101u, h ^ 0x02020202u, h ^ 0x03030303u};
}
__device__ __forceinline__ u32 fold(u32 h, word4 v) { return mix(mix(h ^ v.x) + v.y * 31 + mix(v.z ^ v.w * 17)); }

// A part of ROWS x BYTES, in chunks of 16 bytes; lane l of LANES has the chunks l, l + LANES, ...
template <int ROWS, int BYTES, int LANES>
struct Part {
    static constexpr int wide = BYTES / 16, chunks = ROWS * wide, each = (chunks + LANES - 1) / LANES;
    static constexpr bool even = chunks % LANES == 0;
};
// LANES lanes of a warp work together: 32, or 1 where one lane is elected.
template <class P, int LANES, class F>
__device__ __forceinline__ void each_chunk(int lane, F f) {
#pragma unroll
    for (int j = 0; j < P::each; j++) {
        int c = (LANES == 1 ? 0 : lane) + j * LANES;
        if (P::even || c < P::chunks) f(j, c / P::wide, c % P::wide * 16);
    }
}

// ---- elements -----------------------------------------------------------------------------------------------------

enum Type { F32, TF32, F16, BF16, FP8, FP4, I8, I32 };
template <Type T>
__device__ __forceinline__ float element(const byte* base, i64 index) {
    switch (T) {
        case F32: case TF32: return ((const float*)base)[index];
        case F16: return from_f16(base + index * 2);
        case BF16: return from_bf16(base + index * 2);
        case FP8: return from_fp8(base + index);
        case FP4: return from_fp4(base[index / 2] >> (index & 1) * 4 & 15);
        case I8: return ((const signed char*)base)[index];
        default: return (float)((const int*)base)[index];
    }
}

// A tile of a global matrix, for the reference: what the kernel should read.
struct Tile {
    const byte* base = nullptr;
    int row = 0, col = 0, pitch = 0;  // elements
    // The part from a row and a column on.
    __device__ __forceinline__ Tile part(int r, int c) const { return Tile{base, row + r, col + c, pitch}; }
    template <Type T>
    __device__ __forceinline__ float at(int r, int c) const {
        return element<T>(base, (i64)(row + r) * pitch + col + c);
    }
    // The chunk of 16 bytes at a row and a byte.
    template <int BITS>
    __device__ __forceinline__ word4 chunk(int r, int b) const {
        return *(const word4*)(base + (((i64)(row + r) * pitch + col) * BITS / 8 + b));
    }
};

// ---- tables of the harness ----------------------------------------------------------------------------------------

struct Matrix {
    const char* name;
    int rows, cols, pitch_rows, pitch;  // elements; the pitches are whole blocks
    int bits;
    Type type;
    bool output;
};

