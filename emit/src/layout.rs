//! The layout of a CTA's shared memory.

use warpline_sim::ir::{Class, ObjId, Program};

/// Byte offsets from the start of dynamic shared memory, which is a multiple of 1024.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Offset by object; 0 for objects elsewhere.
    pub(crate) offset: Vec<i64>,
    /// Bytes from slot to slot, by object.
    pub(crate) stride: Vec<i64>,
    /// Offset by array of mbarriers.
    pub(crate) bars: Vec<i64>,
    /// Index of an array's first mbarrier among all mbarriers.
    pub(crate) first: Vec<u32>,
    /// Offset of the address of tensor memory, by object; 0 without one.
    pub(crate) tensor: Vec<i64>,
    /// Size of the whole layout, in bytes.
    pub(crate) bytes: i64,
}

/// Alignment of a slot without swizzle, in bytes. TMA and wgmma need slots at multiples of eight swizzle atoms.
const ALIGN: i64 = 128;

impl Layout {
    pub(crate) fn new(prog: &Program) -> Layout {
        let n = prog.objects.len();
        let mut l = Layout {
            offset: vec![0; n],
            stride: vec![0; n],
            bars: Vec::new(),
            tensor: vec![0; n],
            first: Vec::new(),
            bytes: 0,
        };
        let up = |x: i64, to: i64| (x + to - 1) / to * to;
        for (i, o) in prog.objects.iter().enumerate() {
            l.stride[i] = match o.class {
                Class::Shared => up(o.slot_bytes(), (o.swizzle as i64 * 8).max(ALIGN)),
                Class::Mailbox => 16,
                _ => 0,
            };
        }
        for (i, o) in prog.objects.iter().enumerate() {
            if l.stride[i] == 0 || o.overlay.is_some() {
                continue;
            }
            // Overlays start where this object starts, and may be longer.
            let over = |x: &usize| *x == i || prog.objects[*x].overlay == Some(i as ObjId);
            let all = (0..n).filter(over).map(|x| l.stride[x] * prog.objects[x].slots as i64).max().unwrap_or(0);
            l.offset[i] = up(l.bytes, if o.class == Class::Mailbox { 16 } else { 1024 });
            l.bytes = l.offset[i] + all;
        }
        for (i, o) in prog.objects.iter().enumerate() {
            if let Some(base) = o.overlay {
                l.offset[i] = l.offset[base as usize];
            }
        }
        l.bytes = up(l.bytes, 8);
        let mut first = 0;
        for b in &prog.mbars {
            l.bars.push(l.bytes);
            l.first.push(first);
            l.bytes += b.stages as i64 * 8;
            first += b.stages;
        }
        for (i, o) in prog.objects.iter().enumerate() {
            if o.class == Class::Tmem && o.overlay.is_none() {
                l.tensor[i] = l.bytes;
                l.bytes += 8;
            }
        }
        for (i, o) in prog.objects.iter().enumerate() {
            if let (Class::Tmem, Some(base)) = (o.class, o.overlay) {
                l.tensor[i] = l.tensor[base as usize];
            }
        }
        l.bytes = up(l.bytes.max(16), 16);
        l
    }
}
