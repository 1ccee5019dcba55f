//! Timelines made by hand, for tests and examples: a double-buffered TMA pipeline, and larger ones.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "a module of several test programs, each of which uses some of it"
)]

use warpline_sim::timeline::*;

/// Collects spans by row, with times in cycles.
#[derive(Default)]
pub struct Builder {
    pub t: Timeline,
}

impl Builder {
    pub fn row(&mut self, cta: u32, name: &str, kind: RowKind) -> u32 {
        self.t.rows.push(Row { name: name.into(), cta, kind });
        self.t.rows.len() as u32 - 1
    }

    pub fn agent(&mut self, cta: u32, role: &str, warp: u32) -> u32 {
        self.row(cta, &format!("{role} w{warp}"), RowKind::Agent { role: role.into(), warp, lanes: None })
    }

    pub fn span(&mut self, row: u32, start: u64, end: u64, what: SpanKind, label: impl Into<Label>) -> Option<u32> {
        if start >= end {
            return None;
        }
        let (start, end) = (start * TICKS, end * TICKS);
        self.t.spans.push(Span { label: label.into(), ..Span::new(row, (start, end), what) });
        self.t.end = self.t.end.max(end);
        Some(self.t.spans.len() as u32 - 1)
    }

    pub fn wake(&mut self, woken: Option<u32>, by: Option<u32>) {
        if let Some(w) = woken {
            self.t.spans[w as usize].woken_by = by;
        }
    }

    pub fn at(&mut self, span: Option<u32>, site: u32) -> Option<u32> {
        if let Some(s) = span {
            self.t.spans[s as usize].site = Some(site);
        }
        span
    }

    /// Orders spans as the contract says, and keeps `woken_by` pointing at the same ones.
    pub fn done(mut self) -> Timeline {
        let mut order: Vec<usize> = (0..self.t.spans.len()).collect();
        order.sort_by_key(|&i| (self.t.spans[i].start, self.t.spans[i].row, i));
        let mut new = vec![0u32; order.len()];
        for (to, &from) in order.iter().enumerate() {
            new[from] = to as u32;
        }
        self.t.spans = order.iter().map(|&i| self.t.spans[i].clone()).collect();
        for s in &mut self.t.spans {
            s.woken_by = s.woken_by.map(|w| new[w as usize]);
        }
        self.t
    }
}

/// One producer, two consumer warps, two slots, `tiles` tiles in each of `ctas` CTAs.
pub fn pipeline(ctas: u32, tiles: u64) -> Timeline {
    let mut b = Builder::default();
    b.t.title = "Double-buffered TMA pipeline on H200 (sm_90a)".into();
    b.t.subtitle = format!("m = n = 4,096, k = {}, tile 128 x 128 x 64, 2 stages, {ctas} CTA shown", 64 * tiles);
    b.t.mhz = 1755.0;
    for (line, text) in [
        (14, "load A[cta.m, i] -> a[i % 2]"),
        (15, "wait empty[i % 2]"),
        (21, "wait full[i % 2]"),
        (22, "mma a[i % 2], b[i % 2] -> acc"),
        (25, "arrive empty[i % 2]"),
    ] {
        b.t.sites.push(SourceLine { file: "hopper/double_buffer.pipe".into(), line, text: text.into() });
    }
    for cta in 0..ctas {
        one(&mut b, cta, tiles, u64::from(cta) * 37);
    }
    b.done()
}

fn one(b: &mut Builder, cta: u32, tiles: u64, skew: u64) {
    use SpanKind::{Hold, Stall as S, Work as W};
    let p = b.agent(cta, "producer", 0);
    let c = [b.agent(cta, "consumer", 4), b.agent(cta, "consumer", 8)];
    let copy = b.row(cta, "copy", RowKind::Engine(Engine::Copy));
    let tensor = b.row(cta, "tensor", RowKind::Engine(Engine::Tensor));
    let full = [0, 1].map(|i| b.row(cta, &format!("full[{i}]"), RowKind::Barrier(format!("full[{i}]"))));
    let empty = [0, 1].map(|i| b.row(cta, &format!("empty[{i}]"), RowKind::Barrier(format!("empty[{i}]"))));
    let slot = [0, 1].map(|i| b.row(cta, &format!("a[{i}]"), RowKind::Slot(format!("a[{i}]"))));
    let launch = 60 + skew;
    for &row in [p].iter().chain(&c) {
        b.span(row, 0, launch, S(Stall::Launch), "");
        b.span(row, launch, launch + 30, W(Work::Control), "setup");
        let s = b.span(row, launch + 30, launch + 45 + u64::from(row % 3), S(Stall::Barrier), "init");
        b.wake(s, None);
    }
    let start = launch + 48;
    let mut pt = start;
    let mut ct = [start, start];
    let mut freed = [start, start];
    let mut freed_by: [Option<u32>; 2] = [None, None];
    let mut copy_free = start;
    let mut tensor_free = start;
    let (mut full_from, mut empty_from, mut held) = ([start; 2], [start; 2], [start; 2]);
    for i in 0..tiles {
        let s = (i % 2) as usize;
        let ready = freed[s].max(pt);
        let w = b.span(p, pt, ready, S(Stall::Mbarrier), format!("empty[{s}]"));
        let w = b.at(w, 1);
        b.wake(w, freed_by[s]);
        b.span(p, ready, ready + 18, W(Work::Sync), "expect");
        let issue = b.span(p, ready + 18, ready + 40, W(Work::Load), format!("A {cta},{i}"));
        b.at(issue, 0);
        pt = ready + 40;
        let begin = pt.max(copy_free);
        let arrive = begin + 330 + 40 * (i * 7 % 3);
        copy_free = begin + 200;
        let flight = b.span(copy, begin, arrive, W(Work::Load), format!("A {cta},{i}"));
        if i >= 2 {
            b.span(slot[s], held[s], begin, Hold { filling: false }, format!("A {cta},{}", i - 2));
        }
        b.span(slot[s], begin, arrive, Hold { filling: true }, format!("A {cta},{i}"));
        held[s] = arrive;
        b.span(full[s], full_from[s], arrive, Hold { filling: false }, format!("φ{}", i / 2));
        full_from[s] = arrive;
        let mut done = [0, 0];
        let mut last = None;
        for (k, &row) in c.iter().enumerate() {
            let go = ct[k].max(arrive);
            let w = b.span(row, ct[k], go, S(Stall::Mbarrier), format!("full[{s}]"));
            let w = b.at(w, 2);
            b.wake(w, flight);
            b.span(row, go, go + 24, W(Work::Mma), format!("k{i}"));
            let from = (go + 24).max(tensor_free);
            let to = from + 128;
            tensor_free = to;
            let m = b.span(tensor, from, to, W(Work::Mma), format!("w{} k{i}", if k == 0 { 4 } else { 8 }));
            let m = b.at(m, 3);
            let w = b.span(row, go + 24, to, S(Stall::Group), "wgmma");
            b.wake(w, m);
            let a = b.span(row, to, to + 12, W(Work::Sync), "arrive");
            last = b.at(a, 4);
            done[k] = to + 12;
            ct[k] = to + 12;
        }
        freed[s] = done[0].max(done[1]);
        freed_by[s] = last;
        b.span(empty[s], empty_from[s], freed[s], Hold { filling: false }, format!("φ{}", i / 2));
        empty_from[s] = freed[s];
    }
    let end = ct[0].max(ct[1]) + 300;
    b.span(p, pt, end, S(Stall::Ended), "");
    for (k, &row) in c.iter().enumerate() {
        b.span(row, ct[k], ct[0].max(ct[1]), S(Stall::Named), "epilogue");
        b.span(row, ct[0].max(ct[1]), end - 120, W(Work::Alu), "scale");
        b.span(row, end - 120, end, W(Work::Store), "C");
    }
    for s in 0..2 {
        b.span(slot[s], held[s], end, Hold { filling: false }, format!("A {cta},{}", tiles - 2 + s as u64));
    }
}

/// A Metal-like kernel: `warps` warps that meet at a barrier every step; every cause and class appears.
pub fn barriers(warps: u32, steps: u64) -> Timeline {
    let mut b = Builder::default();
    b.t.title = "triple_buffer on a machine on paper".into();
    b.t.subtitle = format!("{warps} warps, {steps} steps; every class of work and every cause of waiting");
    let rows: Vec<u32> = (0..warps).map(|w| b.agent(0, if w < warps / 2 { "loader" } else { "compute" }, w)).collect();
    use Stall::*;
    let stalls = [Issue, Global, Shared, Tensor, Alu, Join, Cluster, Group, Counter, Pool, Named, Mbarrier, Launch];
    let works = [Work::Load, Work::Shared, Work::Mma, Work::Alu, Work::Store, Work::Sync, Work::Control];
    let mut now = 0;
    for step in 0..steps {
        let mut at = vec![now; rows.len()];
        for (w, &row) in rows.iter().enumerate() {
            for j in 0..2 {
                let seed = step as usize * 5 + w * 3 + j;
                let work = 40 + (seed * 37 % 60) as u64;
                let wait = 20 + (seed * 53 % 70) as u64;
                b.span(row, at[w], at[w] + work, SpanKind::Work(works[seed % works.len()]), format!("i{step}"));
                b.span(row, at[w] + work, at[w] + work + wait, SpanKind::Stall(stalls[seed % stalls.len()]), "");
                at[w] += work + wait;
            }
        }
        let meet = at.iter().copied().max().unwrap_or(now);
        let last = at.iter().position(|&t| t == meet);
        for (w, &row) in rows.iter().enumerate() {
            let s = b.span(row, at[w], meet, SpanKind::Stall(Barrier), "");
            let by = last.map(|l| rows[l]).and_then(|r| b.t.spans.iter().rposition(|s| s.row == r)).map(|i| i as u32);
            b.wake(s, by);
        }
        now = meet;
    }
    b.done()
}

/// `n` spans on 24 rows, mostly too short to see.
pub fn dense(n: u64) -> Timeline {
    let mut b = Builder::default();
    b.t.title = "A long run".into();
    b.t.subtitle = format!("{n} spans on 24 rows");
    b.t.mhz = 1980.0;
    let rows: Vec<u32> = (0..20).map(|w| b.agent(0, if w < 4 { "producer" } else { "consumer" }, w)).collect();
    let engines = [Engine::Loads, Engine::Copy, Engine::Tensor];
    let more = engines.map(|e| b.row(0, "", RowKind::Engine(e)));
    let slot = b.row(0, "a[0]", RowKind::Slot("a[0]".into()));
    let per = n / 24;
    for (r, &row) in rows.iter().chain(&more).chain([&slot]).enumerate() {
        let mut t = 0;
        for i in 0..per {
            // Three regimes: load-bound, balanced, and a long tail.
            let regime = i * 3 / per;
            let work = 10 + (i * 31 + r as u64 * 7) % 40;
            let wait = [60, 25, 8][regime as usize] + (i * 17) % 9;
            let (a, s) = if r < 4 { (Work::Load, Stall::Mbarrier) } else { (Work::Mma, Stall::Global) };
            if row == slot {
                b.span(row, t, t + wait, SpanKind::Hold { filling: true }, format!("A {i}"));
                b.span(row, t + wait, t + wait + work, SpanKind::Hold { filling: false }, format!("A {i}"));
            } else if r >= 20 {
                b.span(
                    row,
                    t,
                    t + work + wait / 2,
                    SpanKind::Work([Work::Load, Work::Load, Work::Mma][r - 20]),
                    format!("{i}"),
                );
            } else {
                b.span(row, t, t + work, SpanKind::Work(a), format!("k{i}"));
                b.span(row, t + work, t + work + wait, SpanKind::Stall(s), "");
            }
            t += work + wait;
        }
    }
    b.done()
}
