//! What a finished run of a ring must look like, read from its timeline alone.

use std::collections::BTreeMap;

use warpline_sim::Report;
use warpline_sim::report::Outcome;
use warpline_sim::timeline::{Engine, RowKind, Span, SpanKind, Timeline, Work};

use warpline_strategies::Protocol;

/// A stretch of time in which somebody reads a tile from its slot.
struct Read {
    who: String,
    buffer: char,
    tile: i64,
    start: u64,
    end: u64,
}

/// `A[0, 12] from row 64, ...` as matrix and tile number along `k`.
fn tile_of(label: &str) -> Option<(char, i64)> {
    let matrix = label.chars().next().filter(|c| "AB".contains(*c))?;
    let inner = label.get(2..label.find(']')?)?;
    Some((matrix.to_ascii_lowercase(), inner.split_once(", ")?.1.parse().ok()?))
}

/// Ended, without a finding.
pub(super) fn clean(ring: &Protocol, report: &Report) -> Result<(), String> {
    if report.outcome != Outcome::Finished {
        return Err(format!("{ring:?}: {:#?}\n{}", report.outcome, ring.text()));
    }
    if let Some(f) = report.faults().next() {
        return Err(format!("{ring:?}: {f:#?}\n{}", ring.text()));
    }
    Ok(())
}

/// The spans of each agent cover its time from tick 0 to the end of its CTA without gap or overlap. The shares of each
/// role's time sum to 1.
pub(crate) fn time_tiles(report: &Report) -> Result<(), String> {
    let t = report.timeline.as_ref().ok_or("no timeline")?;
    if t.truncated_at.is_some() {
        return Err("the timeline was cut".into());
    }
    let mut upto = vec![0u64; t.rows.len()];
    for s in &t.spans {
        let row = &t.rows[s.row as usize];
        if s.end <= s.start || s.end > t.end {
            return Err(format!("{}: {s:?} ends before it starts or after the run", row.name));
        }
        if matches!(row.kind, RowKind::Agent { .. }) {
            if s.start != upto[s.row as usize] {
                return Err(format!("{}: {s:?} starts at another tick than {}", row.name, upto[s.row as usize]));
            }
            upto[s.row as usize] = s.end;
        }
    }
    for (row, end) in t.rows.iter().zip(&upto) {
        // Elected and rest are one warp: joined again, one of them stands for both, but time goes on for each.
        if matches!(row.kind, RowKind::Agent { .. }) && *end != t.end {
            return Err(format!("{} is accounted for up to {end} of {}", row.name, t.end));
        }
    }
    for r in &report.roles {
        let sum: f64 = r.work.values().chain(r.stalls.values()).sum();
        if (sum - 1.0).abs() > 1e-9 {
            return Err(format!("the shares of role {} sum to {sum}", r.name));
        }
    }
    Ok(())
}

/// Reads of the ring's buffers by warps: from the shared load to the product that needs it, or as long as a product
/// reads shared memory itself. Reads of the tensor cores are added from their own row.
fn reads(t: &Timeline) -> Vec<Read> {
    let mut list: Vec<Read> = Vec::new();
    let mut open: BTreeMap<u32, Vec<Read>> = BTreeMap::new();
    let text = |s: &Span| s.site.map_or("", |x| t.sites[x as usize].text.as_str());
    for s in &t.spans {
        let row = &t.rows[s.row as usize];
        let line = text(s);
        let read = |buffer, tile, end| Read { who: row.name.clone(), buffer, tile, start: s.start, end };
        let labeled = tile_of(&s.label);
        match (&row.kind, s.what) {
            (RowKind::Agent { .. }, SpanKind::Work(Work::Shared)) if line.starts_with("lds") => {
                if let Some((buffer, tile)) = labeled {
                    open.entry(s.row).or_default().push(read(buffer, tile, 0));
                }
            }
            (RowKind::Agent { .. }, SpanKind::Work(Work::Mma)) if line.starts_with("m") => {
                for mut r in open.remove(&s.row).unwrap_or_default() {
                    r.end = s.start;
                    list.push(r);
                }
                if let (true, Some((_, tile))) = (line.starts_with("mma a["), labeled) {
                    list.push(read('a', tile, s.end));
                    list.push(read('b', tile, s.end));
                }
            }
            // What a warp issues to the tensor core is read by the tensor core; its own row says how long.
            (RowKind::Agent { .. }, SpanKind::Work(Work::Mma)) => {
                if let Some((_, tile)) = labeled {
                    list.push(read('a', tile, s.start + 1));
                    list.push(read('b', tile, s.start + 1));
                }
            }
            (RowKind::Engine(Engine::Tensor), SpanKind::Work(Work::Mma)) => {
                if let Some((_, tile)) = labeled {
                    list.push(read('a', tile, s.end));
                    list.push(read('b', tile, s.end));
                }
            }
            _ => {}
        }
    }
    list
}

/// At every moment the slot that is read holds its tile, whole: nothing is written to it, and it is slot i % stages.
/// At every moment the slots being filled, read and idle are distinct, then, and a slot is filled in turn.
pub(super) fn modulo_stages(ring: &Protocol, report: &Report) -> Result<(), String> {
    let t = report.timeline.as_ref().ok_or("no timeline")?;
    let mut held: BTreeMap<(char, i64), Vec<&Span>> = BTreeMap::new();
    for s in &t.spans {
        let RowKind::Slot(name) = &t.rows[s.row as usize].kind else { continue };
        let buffer = name.chars().next().ok_or("a slot without a name")?;
        let slot = name.get(2..name.len().saturating_sub(1)).and_then(|n| n.parse().ok()).unwrap_or(0);
        let (matrix, tile) = tile_of(&s.label).ok_or_else(|| format!("{name} holds `{}`", s.label))?;
        if matrix != buffer || tile % ring.stages != slot {
            return Err(format!("{name} holds `{}` of {} stages", s.label, ring.stages));
        }
        held.entry((buffer, tile)).or_default().push(s);
    }
    let expected = 2 * ring.tiles as usize;
    if held.len() != expected {
        return Err(format!("{} tiles came to the slots, not {expected}", held.len()));
    }
    for r in reads(t) {
        let spans = &held[&(r.buffer, r.tile)];
        let whole =
            spans.iter().any(|s| s.what == SpanKind::Hold { filling: false } && s.start <= r.start && r.end <= s.end);
        if !whole {
            return Err(format!(
                "{} reads tile {} of `{}` from {} to {}, which is there in {:?}",
                r.who,
                r.tile,
                r.buffer,
                r.start,
                r.end,
                spans.iter().map(|s| (s.start, s.end, s.what)).collect::<Vec<_>>()
            ));
        }
    }
    Ok(())
}

/// Every consumer reads every tile once, in order.
pub(super) fn each_tile_once(ring: &Protocol, report: &Report) -> Result<(), String> {
    let t = report.timeline.as_ref().ok_or("no timeline")?;
    let mut by: BTreeMap<(String, char), Vec<i64>> = BTreeMap::new();
    for r in reads(t).into_iter().filter(|r| r.who != "tensor pipe") {
        by.entry((r.who, r.buffer)).or_default().push(r.tile);
    }
    let all: Vec<i64> = (0..ring.tiles).collect();
    let readers = ring.readers() * 2;
    if ring.tiles > 0 && by.len() as i64 != readers {
        return Err(format!("{} readers, not {readers}: {:?}", by.len(), by.keys()));
    }
    for (who, tiles) in by {
        if tiles != all {
            return Err(format!("{who:?} reads {tiles:?}"));
        }
    }
    Ok(())
}
