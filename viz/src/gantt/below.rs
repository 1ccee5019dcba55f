//! Sentences below the chart: duration of the run, what the picture leaves out, remarks of the caller.

use warpline_sim::timeline::TICKS;
use warpline_sim::timeline::Timeline;

use super::font::Measure;
use super::format::{self, grouped};
use super::layout::Frame;
use super::notes::Strip;
use super::options::{GanttOptions, Size};
use super::select::{MAX_LANES, RowCounts};

/// The cycles of a run, and whether it hangs after them.
pub(crate) fn hang_or_cycles(t: &Timeline) -> String {
    format!("{}{}", if t.hangs() { "hangs after " } else { "" }, format::cycles(t.took.unwrap_or(t.end)))
}

/// Duration of the run, in cycles and, if the clock is known, in time.
pub(crate) fn total(frame: &Frame<'_>) -> String {
    let t = frame.t;
    let took = t.took.unwrap_or(t.end);
    let cycles = hang_or_cycles(t);
    let ps = took as f64 / TICKS as f64 * 1e6 / t.mhz;
    if !(t.mhz > 0.0 && ps < 1e18) {
        return format!("{cycles} cycles");
    }
    let unit = format::unit(ps as u64);
    // Four significant digits, rounded as `run` rounds them.
    let digits = (ps / unit.1 as f64).log10().floor().clamp(0.0, 3.0) as u32;
    let step = (unit.1 / 10u64.pow(3 - digits)).max(1);
    let near = (ps as u64 + step / 2) / step * step;
    format!("{cycles} cycles, {} {}", format::time(near, step, &unit), unit.0)
}

/// Most marks and faults without a place above the rows that are named below the chart.
const NAMED: usize = 4;

/// Sentences on what the picture does not show.
pub(crate) fn notes(
    frame: &Frame<'_>,
    strip: &Strip,
    ctas: Option<u32>,
    shown: usize,
    counts: RowCounts,
    piled: bool,
) -> Vec<String> {
    let (t, window) = (frame.t, frame.scale.window);
    let end = t.end.max(TICKS);
    let cycles = |ticks: u64| grouped(ticks.div_ceil(TICKS));
    let mut notes = Vec::new();
    if t.rows.is_empty() || t.spans.is_empty() {
        notes.push("Nothing was recorded.".to_owned());
    }
    if window.from > 0 || window.to < end {
        notes.push(format!("Cycles {} to {} of {}.", cycles(window.from), cycles(window.to), format::cycles(t.end)));
    }
    match t.took {
        // The end of such a picture is not that of the run.
        Some(took) if took > t.end && t.hangs() => {
            notes.push(
                "The launch itself is not drawn, and waits that never end are drawn a little further.".to_owned(),
            );
        }
        Some(took) if took > t.end + TICKS => {
            notes.push(format!("The launch itself, {} cycles, is not drawn.", format::cycles(took - t.end)));
        }
        Some(took) if took + TICKS < t.end => {
            notes.push(format!(
                "The run stopped at cycle {}; what was under way is drawn to its end, or a little further where it has none.",
                format::cycles(took)
            ));
        }
        _ => {}
    }
    let drawn = |cta: u32| ctas.is_none_or(|n| cta < n);
    let recorded = t.rows.iter().map(|r| r.cta + 1).max().unwrap_or(0);
    match ctas {
        Some(1) if recorded > 1 => notes.push(format!("CTA 0 of the {recorded} that were recorded.")),
        Some(n) if recorded > n => notes.push(format!("CTAs 0 to {} of the {recorded} that were recorded.", n - 1)),
        _ => {}
    }
    let rows = t.rows.iter().filter(|r| drawn(r.cta)).count();
    let RowCounts { asked, idle, still, further } = counts;
    let chosen = asked + idle + still + further;
    if chosen < rows {
        notes.push(format!("{} of {} rows chosen.", grouped(chosen as u64), grouped(rows as u64)));
    }
    if idle > 0 {
        let rows = if idle == 1 { "row" } else { "rows" };
        notes.push(format!("Left out: {} {rows} on which nothing happens.", grouped(idle as u64)));
    }
    if still > 0 {
        let rows = if still == 1 { "row that stays as it is" } else { "rows that stay as they are" };
        notes.push(format!("Left out: {} {rows}.", grouped(still as u64)));
    }
    if further > 0 {
        notes.push(format!(
            "Left out: {} further slots of their buffers (`--roles` chooses rows).",
            grouped(further as u64)
        ));
    }
    if piled {
        notes.push(format!(
            "Of more than {MAX_LANES} operations at a time, the last line has the others, as shares of time."
        ));
    }
    if shown < asked {
        let rows = if asked - shown == 1 { "row" } else { "rows" };
        notes.push(format!("{} {rows} left out for want of space.", grouped((asked - shown) as u64)));
    }
    notes.extend(strip.rest.iter().take(NAMED).cloned());
    if strip.rest.len() > NAMED {
        notes.push(format!("{} more marks have no place.", strip.rest.len() - NAMED));
    }
    if let Some(at) = t.truncated_at {
        notes.push(format!("Spans after cycle {} were not recorded.", cycles(at)));
    }
    notes
}

/// Everything below the chart: what the picture does not show, then the caller's remarks. Remarks have their own
/// lines if the height is free.
pub(crate) fn lines(notes: &[String], options: &GanttOptions, fit: impl Fn(&[String]) -> Vec<String>) -> Vec<String> {
    let remarks: Vec<String> = options.remarks.iter().map(|r| r.replace(char::is_control, " ")).collect();
    match options.size {
        Size::Page | Size::Width(_) => {
            let parts = std::iter::once(notes).chain(remarks.chunks(1));
            parts.flat_map(fit).collect()
        }
        Size::Slide | Size::Exact { .. } => fit(&[notes, &remarks].concat()),
    }
}

/// Sentences as lines no wider than `width`, broken between sentences if possible, else between words.
pub(crate) fn wrap(sentences: &[String], measure: &Measure, em: i32, width: i32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let fits = |text: &str| measure.width(text, em) <= width;
    for sentence in sentences {
        if let Some(line) = lines.last_mut()
            && fits(&format!("{line}  {sentence}"))
        {
            line.push_str("  ");
            line.push_str(sentence);
            continue;
        }
        let mut line = String::new();
        for word in sentence.split(' ') {
            let longer = if line.is_empty() { word.to_string() } else { format!("{line} {word}") };
            if line.is_empty() || fits(&longer) {
                line = longer;
            } else {
                lines.push(std::mem::replace(&mut line, word.to_string()));
            }
        }
        lines.push(line);
    }
    lines
}
