//! TMA by producer warps: copies and products become separate loops that signal each other with full and empty
//! mbarriers.

use warpline_sim::diag::Diagnostic;

use super::deps;
use super::emit::{Emit, Line};
use super::expr::{Env, Val};
use super::header::Header;
use super::items::{Act, Item, Queue};
use super::laid::Laid;
use super::one::One;
use super::sync::{self, SyncOptions};
use super::text::{Versions, Writer};
use super::{has_role, indented};
use crate::ast::Pipelined;
use crate::lower::Found;

impl One<'_> {
    /// Splits the loop into a producer and a consumer loop.
    pub(super) fn roles(
        &self,
        p: &Pipelined,
        f: &Found,
        laid: &mut Laid,
        (options, producers): (SyncOptions, usize),
        header: &mut Header,
    ) -> Result<Vec<Line>, Vec<Diagnostic>> {
        let span = &p.range.var.span;
        let top = self.top(p);
        let Some(top) = top.filter(|s| has_role(s)) else {
            return self.bad(
                span,
                "a producer warp needs the loop's warps to be a role",
                "this loop does not stand in the block of a role",
            );
        };
        if f.around == 0 && !self.alone(p) {
            let message = "a producer warp would not know when this loop runs";
            let d = Diagnostic::new(
                self.file,
                span.clone(),
                message,
                "it stands under a condition, or in a block of its own",
            );
            return Err(vec![d.help("put it into the role's block itself, or write `via tma_joint` or `via cp`")]);
        }
        if f.around > 0 || self.several {
            return self.bad(span, "a producer warp for one loop of the kernel only", "there is another loop").map_err(
                |mut e: Vec<Diagnostic>| {
                    let others = if f.around > 0 { "write `via cp`" } else { "write `via tma_joint` or `via cp`" };
                    e[0].help = Some(others.to_string());
                    e
                },
            );
        }
        // The items of the consumers.
        let copies: Vec<Item> = laid.items.iter().filter(|i| tma(i).is_some()).cloned().collect();
        if producers > copies.len() {
            let message = format!("{producers} producer warps for {} copies", copies.len());
            return self.bad(p.producers.as_ref().map_or(span, |e| &e.span), message, "one of them would copy nothing");
        }
        let slots_before: Vec<usize> = (0..laid.groups.len()).map(|g| laid.slots_of(g)).collect();
        laid.items.retain(|i| tma(i).is_none());
        let least = laid.items.iter().map(|i| i.stage).min().unwrap_or(0);
        for i in &mut laid.items {
            i.stage -= least;
        }
        laid.depth = laid.items.iter().map(|i| i.stage).max().unwrap_or(0);
        let alone = laid.items.iter().filter(|i| matches!(i.act, Act::Wgmma(_))).count() == 1;
        laid.lag = i64::from(alone && slots_before.iter().all(|n| *n != 1) && laid.items.iter().any(|i| i.proxy));
        for i in &mut laid.items {
            if matches!(i.act, Act::Wgmma(_)) {
                i.act = Act::Wgmma(laid.lag);
            }
        }
        // A slot is in use from the step of its first reader to the step of its last one.
        let mut least_slots = Versions::new();
        for (g, before) in slots_before.iter().enumerate() {
            let stages: Vec<i64> = laid.readers(g).into_iter().map(|p| laid.items[p].stage).collect();
            let (Some(a), Some(b)) = (stages.iter().min(), stages.iter().max()) else { continue };
            let held = (b - a + laid.lag + 1) as usize;
            for b in &laid.groups[g] {
                least_slots.insert(b.clone(), (*before).max(held));
            }
        }
        let Ok(mut found) = deps::deps(&laid.items, &Versions::new()) else {
            return self.bad(span, "the schedule changes what the loop does", "here");
        };
        found.versions.extend(least_slots);
        laid.deps = found;
        // The producer does not take part in the barriers of the loop's warps.
        laid.meet = format!("bar sync step ({})", f.mask.count_ones() * 32);
        let meets = header.meet_apart(top, &laid.meet);
        laid.sync = sync::sync(&laid.items, &laid.deps, options);
        if meets || !laid.sync.barriers.is_empty() {
            header.declare("named step".to_string());
        }
        laid.waits_for_bytes();
        for g in 0..laid.groups.len() {
            let last = laid.readers(g).into_iter().max_by_key(|p| (laid.items[*p].stage, *p));
            laid.lasts.extend(last.map(|p| (p, g)));
        }
        let warp = self.program.warps;
        let more = producers as u32;
        header.more_warps(if laid.items.iter().any(|i| i.proxy) { more.next_multiple_of(4) } else { more });
        // Copies are dealt to the producer warps in turn; each warp arrives for its own copies.
        let shares: Vec<Vec<Item>> =
            (0..producers).map(|n| copies.iter().skip(n).step_by(producers).cloned().collect()).collect();
        let feeds = |share: &[Item], g: usize| share.iter().any(|i| tma(i) == Some(g));
        laid.feeders = (0..laid.groups.len()).map(|g| shares.iter().filter(|s| feeds(s, g)).count()).collect();
        header.barriers(laid, Some((f.mask.count_ones(), warp)));
        let mut text = String::new();
        for (n, share) in shares.iter().enumerate() {
            let number = if producers > 1 { (n + 1).to_string() } else { String::new() };
            header.declare(format!("role load{number} = warp {}", warp + n as u32));
            text.push_str(&format!("  load{number}: elect:\n"));
            text.push_str(&indented(&self.producer(laid, share, p), 2));
        }
        header.before(top, text);
        Ok(Emit::new(laid).whole(false))
    }

    fn producer(&self, laid: &Laid, copies: &[Item], p: &Pipelined) -> Vec<Line> {
        let index = Val::Off(laid.var.clone(), 0);
        let env = Env { var: &laid.var, index: index.clone(), lets: laid.lets };
        let w = Writer { source: laid.source, env, versions: &laid.deps.versions, manual: false };
        let mut out: Vec<Line> = vec![(0, format!("for {} in 0..{}:", p.range.var.text, laid.trips.at(5)), None)];
        let mut seen = Vec::new();
        for item in copies {
            let Some(g) = tma(item) else { continue };
            let slots = laid.slots_of(g);
            let slot = index.slot(slots).text();
            let full = format!("{}[{slot}]", laid.bar("full", g));
            if !seen.contains(&g) {
                seen.push(g);
                let empty = laid.bar("empty", g);
                let round = index.round(slots).at(5);
                out.push((1, format!("wait {empty}[{slot}] for {round} - 1"), None));
                // The buffers of the group that this warp copies.
                let copied = |b: &String| {
                    let mut writes = copies.iter().filter(|i| tma(i) == Some(g)).flat_map(|i| &i.touches);
                    writes.any(|t| t.write && t.buffer == *b)
                };
                let bytes: Vec<String> =
                    laid.groups[g].iter().filter(|b| copied(b)).map(|b| format!("bytes({b})")).collect();
                out.push((1, format!("arrive {full} expect {}", bytes.join(" + ")), None));
            }
            let comment = laid.comment(item, &index);
            for (l, t) in item.lines(laid.units, &w) {
                out.push((l + 1, format!("{t} signals {full}"), Some(comment.clone())));
            }
        }
        out
    }
}

fn tma(item: &Item) -> Option<usize> {
    match item.queue {
        Some(Queue::Tma(g)) => Some(g),
        _ => None,
    }
}
