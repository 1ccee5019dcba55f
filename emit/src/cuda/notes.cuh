// ---- the reference in tensor memory: what one pass notes for the next ----------------------------------------------
//
// Pass 0 notes which tile each copy writes to a slot (or reads from it). Pass 1 notes which tiles each matrix
// multiplication reads. Pass 2 does the rest: a lane that reads its row of tensor memory for the n-th time computes the
// n-th sum that was made there.
#define WL_NOTES 1
namespace wl {

struct Note {
    u32 object, slot, version;
    Tile x, y[2];  // the tile; for a matrix multiplication the left operand, and the right one in two halves of its columns
    int cols, depth;
};
__device__ __forceinline__ void note(const Common& c, int cta, const Note& n) {
    u32 i = atomicAdd(c.noted + cta, 1u);
    if (i < c.room) c.notes[(i64)cta * c.room + i] = n;
}
// The n-th tile that was noted for a slot.
__device__ inline Tile noted(const Common& c, int cta, u32 object, u32 slot, u32 n) {
    for (u32 i = 0; i < lesser(c.noted[cta], c.room); i++) {
        const Note& x = c.notes[(i64)cta * c.room + i];
        if (x.object == object && x.slot == slot && n-- == 0) return x.x;
    }
    return Tile{};
}
// A row of the n-th sum in a slot, from a column on.
template <Type TA, Type TB, int N>
__device__ void reference_row(float (&r)[N], const Common& c, int cta, u32 object, u32 slot, u32 n, int row, int col) {
    for (int i = 0; i < N; i++) r[i] = 0;
    for (u32 j = 0; j < lesser(c.noted[cta], c.room); j++) {
        const Note& x = c.notes[(i64)cta * c.room + j];
        if (x.object != object || x.slot != slot || x.version != n || !x.x.base) continue;
#pragma unroll 1
        for (int i = 0; i < N; i++) {
            const int half = (col + i) / x.cols, of = (col + i) % x.cols;
            if (half > 1 || !x.y[half].base) continue;
            float s = 0;
            for (int k = 0; k < x.depth; k++) s += x.x.at<TA>(row, k) * x.y[half].at<TB>(of, k);
            r[i] += s;
        }
    }
}

}  // namespace wl

