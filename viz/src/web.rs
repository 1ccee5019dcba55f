//! A timeline as data for a page, from which a script draws the same picture as the charts.

use std::ops::Range;

use serde::Serialize;
use serde_json::json;
use warpline_sim::timeline::{RowKind, Timeline};

use crate::gantt::Theme;
use crate::gantt::class::Class;
use crate::gantt::select::Section;
use crate::{lanes, tui};

/// Numbers of a span: row, lane, start, length, class, label, site, waker, starter; -1 for none.
const WIDTH: usize = 9;

#[derive(Serialize)]
struct Row<'t> {
    name: &'t str,
    cta: u32,
    lanes: u32,
}

/// The first CTAs of a timeline as JSON, with at most a number of spans, those that start first. Also returns the
/// cycles that the page shows at first, and the tick from which spans are left out.
#[must_use]
pub fn data(t: &Timeline, ctas: u32, most: usize, opening: Option<Range<u64>>) -> (String, Option<u64>) {
    let mut order: Vec<usize> = (0..t.rows.len()).filter(|&i| t.rows[i].cta < ctas).collect();
    order.sort_by_key(|&i| (t.rows[i].cta, Section::of(&t.rows[i].kind)));
    let mut place: Vec<Option<usize>> = vec![None; t.rows.len()];
    order.iter().enumerate().for_each(|(new, &old)| place[old] = Some(new));
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); order.len()];
    let shown = t.spans.iter().enumerate().filter(|(_, s)| s.start < s.end);
    let shown = shown.filter_map(|(i, s)| Some((i, place.get(s.row as usize).copied().flatten()?)));
    let mut cut = None;
    for (n, (i, row)) in shown.enumerate() {
        if n >= most {
            cut = Some(t.spans[i].start);
            break;
        }
        rows[row].push(i);
    }
    let mut number = vec![-1i64; t.spans.len()];
    let mut kept: Vec<(usize, usize, u32, Class)> = Vec::new();
    let mut heads = Vec::new();
    for (row, spans) in rows.iter_mut().enumerate() {
        let of = &t.rows[order[row]];
        spans.sort_by_key(|&i| (t.spans[i].start, i));
        let times: Vec<(u64, u64)> = spans.iter().map(|&i| (t.spans[i].start, t.spans[i].end)).collect();
        let lane_of = lanes::assign(&times, u32::MAX);
        heads.push(Row { name: &of.name, cta: of.cta, lanes: lane_of.iter().max().map_or(1, |last| last + 1) });
        for (nth, (&i, lane)) in spans.iter().zip(lane_of).enumerate() {
            number[i] = kept.len() as i64;
            kept.push((i, row, lane, Class::of(&of.kind, t.spans[i].what, nth)));
        }
    }
    let mut labels: Vec<&str> = Vec::new();
    let mut known = rustc_hash::FxHashMap::default();
    let mut spans: Vec<i64> = Vec::with_capacity(kept.len() * WIDTH);
    let there = |by: Option<u32>| by.and_then(|b| number.get(b as usize).copied()).unwrap_or(-1);
    for &(i, row, lane, class) in &kept {
        let s = &t.spans[i];
        let label = *known.entry(s.label.as_str()).or_insert_with(|| {
            labels.push(&s.label);
            labels.len() as i64 - 1
        });
        let site = s.site.map_or(-1, i64::from);
        let class = i64::from(tui::class_number(class));
        let (start, long) = (s.start as i64, (s.end - s.start) as i64);
        spans.extend([
            row as i64,
            i64::from(lane),
            start,
            long,
            class,
            label,
            site,
            there(s.woken_by),
            there(s.started_by),
        ]);
    }
    let sites: Vec<_> =
        t.sites.iter().map(|s| json!({ "at": format!("{}:{}", s.file, s.line), "text": s.text })).collect();
    let faults: Vec<_> = t.faults.iter().map(|f| json!({ "tick": f.tick, "label": f.label })).collect();
    let path: Vec<i64> =
        warpline_sim::chain::chain(t).iter().map(|&i| number[i as usize]).filter(|n| *n >= 0).collect();
    let ticks = warpline_sim::timeline::TICKS;
    // The page contains only these CTAs, so it ends with them.
    let end = kept.iter().map(|&(i, ..)| t.spans[i].end).max().unwrap_or(t.end).min(cut.unwrap_or(u64::MAX));
    let data = json!({
        "title": t.title, "ticks": ticks, "end": end.max(1), "opening": opening.map(|o| [o.start * ticks, o.end * ticks]).filter(|o| o[1] < end),
        "width": WIDTH, "rows": heads, "classes": classes(), "labels": labels, "sites": sites, "spans": spans,
        "faults": faults, "path": path,
    });
    // In a page, no text may look like a tag.
    (data.to_string().replace('<', "\\u003c"), cut)
}

/// Every class with its names, and its colors on light and dark paper.
fn classes() -> Vec<serde_json::Value> {
    let both = |f: &dyn Fn(Theme) -> crate::gantt::Rgb| [f(Theme::Light), f(Theme::Dark)].map(|c| c.css());
    let one = |class: &Class| {
        let hatch = class.hatch(Theme::Light).map_or([0; 4], |(p, _)| p.lines());
        let hatched = hatch != [0; 4];
        json!({
            "name": class.legend(),
            "says": match class {
                Class::Stall(warpline_sim::timeline::Stall::Ended) => "ended".to_string(),
                Class::Stall(_) => format!("waits for {}", class.legend()),
                _ => class.legend().to_string(),
            },
            "word": class.word(),
            // Phases alternate between two grays; the legend has one.
            "again": matches!(class, Class::Phase(true)),
            "state": matches!(class, Class::Full | Class::Phase(_)),
            "hatch": hatch,
            "fill": both(&|theme| class.fill(theme)),
            "line": both(&|theme| class.hatch(theme).map_or(class.fill(theme), |h| h.1)),
            "solid": both(&|theme| if hatched { class.hatch(theme).map_or(class.fill(theme), |h| h.1) } else { class.fill(theme) }),
            "text": both(&|theme| if hatched { theme.ink() } else { class.fill(theme).text_on() }),
        })
    };
    tui::CLASSES.iter().map(one).collect()
}

/// The color of a class of work or waiting on light paper, for a page: `#56b4e9`.
#[must_use]
pub fn colour(what: warpline_sim::timeline::SpanKind) -> String {
    let class = Class::of(&RowKind::Slot(String::new()), what, 0);
    class.hatch(Theme::Light).map_or(class.fill(Theme::Light), |h| h.1).css()
}
