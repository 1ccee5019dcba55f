//! Labels in bars.

use std::collections::BTreeMap;

use warpline_sim::timeline::{Stall, Timeline};

use super::bars::Bar;
use super::class::Class;
use super::layout::Frame;
use super::scene::{Align, Area, Layer, Scene};
use super::select::Track;

/// For each tile's name, the index that counts the steps: the only one that changes in the picture.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps(BTreeMap<String, usize>);

impl Steps {
    pub(crate) fn new(t: &Timeline, tracks: &[Track<'_>]) -> Steps {
        let mut seen: BTreeMap<&str, (Vec<&str>, Vec<bool>)> = BTreeMap::new();
        for shown in tracks.iter().flat_map(|track| &track.lanes).flat_map(|lane| &lane.spans) {
            let Some((name, indices)) = parts(&t.spans[shown.span as usize].label) else { continue };
            let (first, changes) = seen.entry(name).or_insert_with(|| (indices.clone(), vec![false; indices.len()]));
            // A name with varying numbers of indices counts no step.
            if first.len() != indices.len() {
                changes.fill(true);
            }
            for (i, change) in changes.iter_mut().enumerate() {
                *change |= indices.get(i) != first.get(i);
            }
        }
        let only = |changes: &[bool]| {
            let mut places = changes.iter().enumerate().filter(|c| *c.1).map(|c| c.0);
            places.next().filter(|_| places.next().is_none())
        };
        let found = seen.into_iter().filter(|(_, (first, _))| first.len() > 1);
        Steps(found.filter_map(|(name, (_, changes))| Some((name.to_owned(), only(&changes)?))).collect())
    }

    /// The step of a label.
    fn of<'l>(&self, label: &'l str) -> Option<&'l str> {
        let (name, indices) = parts(label)?;
        indices.get(*self.0.get(name)?).copied()
    }
}

/// Name and indices of a tile: `A`, `29` and `10` of `A[29, 10] from row 64`.
fn parts(label: &str) -> Option<(&str, Vec<&str>)> {
    let (name, rest) = label.split_once('[')?;
    Some((name.trim(), rest.split_once(']')?.0.split(',').map(str::trim).collect()))
}

/// Writes the label of a bar into it, or else its class.
///
/// No label is cut: half a word is not readable, and a number without its end is another number. A label that does
/// not fit is replaced by a shorter form, or left out.
pub(crate) fn label(frame: &Frame<'_>, scene: &mut Scene, bar: &Bar, area: Area, em: i32) {
    if em < frame.em * 55 / 100 {
        return;
    }
    let pad = (em / 4).max(2);
    let hatched = bar.class.hatch(frame.theme);
    // Enough of a hatch must remain beside the text to be recognized.
    let margin = if hatched.is_some() { pad + em * 4 / 10 } else { pad };
    let room = Area::new(area.x + margin, area.y, area.w - 2 * margin, area.h);
    if room.w <= 0 {
        return;
    }
    let own = frame.t.spans[bar.span as usize].label.trim();
    let word = bar.class.word();
    if let Class::Stall(stall) = bar.class
        && stall != Stall::Ended
    {
        // A wait says so, and names what it waits for: `tensor` alone would read like work.
        let of = if own.is_empty() { word } else { own };
        let mut forms = vec![format!("wait {of}")];
        if let Some((barrier, _)) = own.split_once(" phase ") {
            forms.extend([format!("wait {barrier}"), barrier.to_string()]);
        } else if own.contains("<=") || stall == Stall::Barrier {
            // A limit of open groups and a barrier are no work, so they need no word before them.
            forms.push(of.to_string());
        }
        forms.push("wait".to_string());
        return write(frame, scene, bar, (area, room, pad, em), &forms);
    }
    // A label that leaves its bar half empty names its class too.
    let long = if own.is_empty() { word.to_owned() } else { format!("{word} {own}") };
    let roomy = !word.is_empty() && scene.measure().width(&long, em) * 2 <= room.w;
    let forms = if own.is_empty() || roomy { vec![long] } else { shorter(own, frame.steps.of(own)) };
    write(frame, scene, bar, (area, room, pad, em), &forms);
}

/// Writes the first form that fits, on a plate where the bar is hatched.
fn write(
    frame: &Frame<'_>,
    scene: &mut Scene,
    bar: &Bar,
    (area, room, pad, em): (Area, Area, i32, i32),
    forms: &[String],
) {
    let hatched = bar.class.hatch(frame.theme);
    let ground = bar.class.fill(frame.theme);
    let color = if hatched.is_some() { frame.theme.ink().mix(ground, 12) } else { ground.text_on() };
    let taken = forms.iter().find_map(|text| scene.text(room, text, em, Align::Center, color, usize::MAX));
    if let (Some(taken), Some(_)) = (taken, hatched) {
        scene.fill(Layer::Plates, taken.grown(pad).cut(&area), ground);
    }
}

/// A label and its shorter forms, longest first: a tile without the place in it (`B[1, 0]…`), without blanks, and
/// last its step.
fn shorter(label: &str, step: Option<&str>) -> Vec<String> {
    let mut forms = vec![label.to_owned()];
    let Some((tile, rest)) = label.split_once(']') else { return forms };
    let dots = if rest.is_empty() { "" } else { "…" };
    if !rest.is_empty() {
        forms.push(format!("{tile}]…"));
    }
    forms.push(format!("{}]{dots}", tile.replace(' ', "")));
    forms.extend(step.map(str::to_owned));
    forms.dedup();
    forms
}

#[cfg(test)]
mod tests {
    use super::super::select::{Lane, Section, ShownSpan};
    use super::*;
    use warpline_sim::timeline::{Row, RowKind, Span, SpanKind, Work};

    #[test]
    fn labels_have_shorter_forms() {
        assert_eq!(shorter("A[29, 10]", Some("10")), ["A[29, 10]", "A[29,10]", "10"]);
        let part = "B[1, 0] from row 64, column 0";
        assert_eq!(shorter(part, None), [part, "B[1, 0]…", "B[1,0]…"]);
        assert_eq!(shorter("full[1]", None), ["full[1]"]);
        assert_eq!(shorter("φ2", None), ["φ2"]);
    }

    #[test]
    fn the_step_is_the_one_index_that_changes() {
        let labels = ["A[15, 0]", "A[15, 1]", "B[0, 7]", "B[1, 7]", "C[0, 0]", "C[1, 1]", "full[0]", "full[1]"];
        let row = Row { name: "w".into(), cta: 0, kind: RowKind::Slot("w".into()) };
        let span = |l: &&str| Span { label: (*l).into(), ..Span::new(0, (0, 1), SpanKind::Work(Work::Mma)) };
        let t = Timeline { rows: vec![row], spans: labels.iter().map(span).collect(), ..Timeline::default() };
        let spans = (0..labels.len()).map(|i| ShownSpan { span: i as u32, nth: i }).collect();
        let lanes = vec![Lane { spans, piled: false }];
        let (group, name) = (String::new(), String::new());
        let track = Track { index: 0, row: &t.rows[0], section: Section::Slots, group, name, lanes };
        let steps = Steps::new(&t, &[track]);
        let of: Vec<_> = labels.iter().map(|l| steps.of(l)).collect();
        assert_eq!(of, [Some("0"), Some("1"), Some("0"), Some("1"), None, None, None, None]);
    }
}
