//! The pace of a kernel's main loop: cycles from one matrix multiplication of a warp to its next.

use warpline_sim::timeline::{RowKind, SpanKind, TICKS, Timeline, Work};

/// Largest distance that counts, as a multiple of the median; in longer ones the warp did something else, such as a
/// store.
const LONG: f64 = 4.0;

/// Mean distance of the later half of a list of times; the first half has cold caches and an empty pipeline. Not the
/// median, because steps alternate where two CTAs of a core take turns.
fn middle(times: &[f64]) -> Option<f64> {
    let mut apart: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
    let mut later = apart.split_off(apart.len() / 2);
    later.sort_by(f64::total_cmp);
    let most = LONG * later.get(later.len() / 2)?;
    later.retain(|x| *x <= most);
    Some(later.iter().sum::<f64>() / later.len() as f64)
}

/// The pace from a kernel's own record (`cta,warp,line,pc,start,end`): of the first warp of the first CTA that
/// multiplies.
pub fn of_stamps(text: &str) -> Option<f64> {
    let rows = text.lines().skip(1).filter_map(|l| {
        let f: Vec<u64> = l.split(',').map(|n| n.parse().ok()).collect::<Option<_>>()?;
        let [cta, warp, _, _, start, _] = f[..] else { return None };
        Some(((cta, warp), start as f64))
    });
    let rows: Vec<((u64, u64), f64)> = rows.collect();
    let first = rows.iter().map(|r| r.0).min()?;
    middle(&rows.iter().filter(|r| r.0 == first).map(|r| r.1).collect::<Vec<_>>())
}

/// The pace from the timeline of a run, likewise.
pub fn of_timeline(t: &Timeline) -> Option<f64> {
    let warps = t.rows.iter().enumerate().filter_map(|(i, r)| match &r.kind {
        RowKind::Agent { warp, .. } => Some((r.cta, *warp, i as u32)),
        _ => None,
    });
    let mut warps: Vec<_> = warps.collect();
    warps.sort_unstable();
    warps.iter().find_map(|(_, _, row)| {
        let mut spans: Vec<_> = t
            .spans
            .iter()
            .filter(|s| s.row == *row && s.what == SpanKind::Work(Work::Mma))
            .map(|s| (s.start, s.end))
            .collect();
        spans.sort_unstable();
        // Parts of one instruction follow each other without a gap.
        spans.dedup_by(|b, a| {
            let joined = b.0 <= a.1;
            if joined {
                a.1 = a.1.max(b.1);
            }
            joined
        });
        middle(&spans.iter().map(|s| s.0 as f64 / TICKS as f64).collect::<Vec<_>>())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpline_sim::timeline::{Row, Span};

    #[test]
    fn the_later_half_of_one_warp_counts() {
        let text = "cta,warp,line,pc,start,end\n0,4,9,7,100,110\n0,5,9,7,1,2\n0,4,9,7,900,910\n0,4,9,7,1400,1410\n0,4,9,7,1910,1920\n";
        assert_eq!(of_stamps(text), Some(505.0));
        assert_eq!(of_stamps("cta,warp,line,pc,start,end\n0,4,9,7,100,110\n"), None);
    }

    #[test]
    fn turns_are_averaged_and_a_pause_does_not_count() {
        assert_eq!(middle(&[0.0, 1.0, 2.0, 3.0, 4.0, 104.0, 404.0, 504.0, 804.0]), Some(200.0));
        assert_eq!(middle(&[0.0, 1.0, 2.0, 3.0, 103.0, 203.0, 5203.0]), Some(100.0));
    }

    #[test]
    fn parts_of_one_multiplication_are_one() {
        let mut t = Timeline::default();
        let kind = RowKind::Agent { role: "math".into(), warp: 4, lanes: None };
        t.rows.push(Row { name: "math".into(), cta: 0, kind });
        for (a, b) in [(0, 10), (10, 20), (100, 120), (300, 320), (520, 530)] {
            t.spans.push(Span::new(0, (a * TICKS, b * TICKS), SpanKind::Work(Work::Mma)));
        }
        assert_eq!(of_timeline(&t), Some(210.0));
    }
}
