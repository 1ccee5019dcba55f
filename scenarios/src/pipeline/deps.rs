//! Dependences between the items of a step: the number of versions that a buffer needs, and whether a schedule
//! preserves the loop's meaning.
//!
//! An item at position p of the body with stage s works on iteration i at step i + s. Two items that conflict on a
//! buffer must keep the order of the plain loop. If every iteration writes the buffer before it reads it, iteration i +
//! V uses the slot of iteration i again. All reads of iteration i must end before that. At distance d this takes d + 1
//! versions if the writer precedes the reader in the body, and d versions if it follows.

use std::collections::BTreeMap;

use super::items::Item;
use super::text::Versions;

/// A pair of items on a buffer that must keep its order: `before` at iteration i, `after` at iteration i + `apart`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    /// Position of the first item.
    pub(super) before: usize,
    /// Position of the second item.
    pub(super) after: usize,
    /// Iterations between the two.
    pub(super) apart: i64,
    /// Whether the second item reads what the first one writes.
    pub(super) flows: bool,
    /// Whether the buffer is shared memory, so that the pair needs synchronization between warps.
    pub(super) shared: bool,
}

/// The dependences of a loop.
#[derive(Clone, Debug, Default)]
pub(super) struct Deps {
    /// Versions of every buffer that the loop touches.
    pub(super) versions: Versions,
    /// For each buffer, whether the warps of the loop share it.
    pub(super) shared: BTreeMap<String, bool>,
    /// Pairs that must keep their order.
    pub(super) pairs: Vec<Pair>,
}

/// A schedule that changes the meaning of the loop: the two items and the buffer.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    /// The item that is first in the plain loop.
    pub(super) before: usize,
    /// The item that is second.
    pub(super) after: usize,
    /// The buffer.
    pub(super) buffer: String,
    /// Whether the second item belongs to the next iteration; else both belong to one.
    pub(super) carried: bool,
}

/// Whether every iteration writes each piece of a buffer before it reads the piece.
fn afresh(items: &[Item], buffer: &str) -> bool {
    let mut texts: Vec<&Item> = items.iter().collect();
    texts.sort_by_key(|i| i.text);
    let mut written: Vec<Option<String>> = Vec::new();
    for t in texts.iter().flat_map(|i| &i.touches).filter(|t| t.buffer == buffer) {
        let known = written.iter().any(|p| p.is_none() || *p == t.piece);
        if t.write {
            written.push(t.piece.clone());
        } else if !known && (t.piece.is_some() || written.is_empty()) {
            return false;
        }
    }
    true
}

/// Versions and pairs of a schedule whose items are in the order of the body.
pub(super) fn deps(items: &[Item], least: &Versions) -> Result<Deps, Broken> {
    let mut out = Deps::default();
    for t in items.iter().flat_map(|i| &i.touches) {
        *out.shared.entry(t.buffer.clone()).or_default() |= t.shared;
    }
    let buffers: Vec<String> = out.shared.keys().cloned().collect();
    for buffer in buffers {
        let fresh = afresh(items, &buffer);
        let versions = if fresh { versions(items, &buffer).max(*least.get(&buffer).unwrap_or(&1)) } else { 1 };
        let shared = out.shared[&buffer];
        let mut add = |p: Pair| {
            if !out.pairs.contains(&p) {
                out.pairs.push(p);
            }
        };
        each(items, &buffer, |x, y, flows| {
            // Pairs of the same iteration, in source order.
            if items[x].text < items[y].text {
                if behind(items, x, y, 0) {
                    add(Pair { before: x, after: y, apart: 0, flows, shared });
                } else {
                    return Err(Broken { before: x, after: y, buffer: buffer.clone(), carried: false });
                }
            }
            // Pairs with the next iteration that uses the slot.
            let again = versions as i64;
            if behind(items, x, y, again) {
                // A read gets the value of an earlier iteration only if its own iteration does not write first.
                add(Pair { before: x, after: y, apart: again, flows: flows && !fresh, shared });
                return Ok(());
            }
            // A buffer that every iteration writes first has enough versions by construction; a buffer that carries a
            // value has one.
            Err(Broken { before: x, after: y, buffer: buffer.clone(), carried: true })
        })?;
        out.versions.insert(buffer, versions);
    }
    Ok(out)
}

/// Every conflicting pair on a buffer: `(x, y, x writes what y reads)`.
fn each(
    items: &[Item],
    buffer: &str,
    mut f: impl FnMut(usize, usize, bool) -> Result<(), Broken>,
) -> Result<(), Broken> {
    for (x, a) in items.iter().enumerate() {
        for (y, b) in items.iter().enumerate() {
            let (mut conflict, mut flows) = (false, false);
            for s in a.touches.iter().filter(|t| t.buffer == buffer) {
                for t in b.touches.iter().filter(|t| s.conflicts(t)) {
                    conflict = true;
                    flows |= s.write && !t.write;
                }
            }
            if conflict {
                f(x, y, flows)?;
            }
        }
    }
    Ok(())
}

/// Whether `y` at iteration i + `apart` runs after `x` at iteration i has ended.
fn behind(items: &[Item], x: usize, y: usize, apart: i64) -> bool {
    let over = items[x].stage + if apart > 0 { items[x].lag } else { 0 };
    (apart + items[y].stage, y) > (over, x) || (x == y && apart > 0)
}

/// Number of versions for a buffer that every iteration writes before it reads.
fn versions(items: &[Item], buffer: &str) -> usize {
    let mut most = 1;
    let _ = each(items, buffer, |x, y, _| {
        while !behind(items, x, y, most) {
            most += 1;
        }
        Ok(())
    });
    most as usize
}
