//! Random timelines: any rows, any spans, overlapping, empty, out of range; names with whatever characters.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "a module of several test programs, each of which uses some of it"
)]

use proptest::prelude::*;
use warpline_sim::schedule::Act;
use warpline_sim::timeline::*;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[a-z]{1,8}( [0-9]{1,3},[0-9]{1,3})?",
        "A [0-9],[0-9]",
        "φ[0-9]{1,2}",
        any::<String>(),
        Just("</text><script>&\n\t\"'é漢字".to_owned()),
    ]
}

fn kind() -> impl Strategy<Value = RowKind> {
    prop_oneof![
        ("(load|mma|warp)", 0u32..4).prop_map(|(role, warp)| RowKind::Agent { role, warp, lanes: None }),
        Just(RowKind::Engine(Engine::Copy)),
        Just(RowKind::Engine(Engine::Loads)),
        text().prop_map(RowKind::Barrier),
        text().prop_map(RowKind::Slot),
    ]
}

fn what() -> impl Strategy<Value = SpanKind> {
    use {Stall as S, Work as W};
    let stalls = vec![
        S::Launch,
        S::Issue,
        S::Global,
        S::Shared,
        S::Tensor,
        S::Alu,
        S::Barrier,
        S::Named,
        S::Join,
        S::Cluster,
        S::Mbarrier,
        S::Group,
        S::Counter,
        S::Pool,
        S::Held,
        S::Ended,
    ];
    let works = vec![W::Load, W::Shared, W::Mma, W::Alu, W::Store, W::Sync, W::Control];
    prop_oneof![
        proptest::sample::select(works).prop_map(SpanKind::Work),
        proptest::sample::select(stalls).prop_map(SpanKind::Stall),
        any::<bool>().prop_map(|filling| SpanKind::Hold { filling }),
    ]
}

/// A timeline whose times are of some magnitude, from less than a cycle to near the end of the number range.
pub fn timeline() -> impl Strategy<Value = Timeline> {
    let rows = prop::collection::vec((text(), 0u32..3, kind()), 0..14);
    let mhz = prop_oneof![Just(0.0), Just(1755.0), Just(1e-9), Just(1e12), Just(f64::NAN), Just(f64::INFINITY)];
    let faults = prop::collection::vec((0u64..220, text(), 0u32..3), 0..4);
    (rows, 0u32..56, mhz, text(), text(), prop::option::of(0u64..2000), faults).prop_flat_map(
        |(rows, shift, mhz, title, subtitle, cut, faults)| {
            let count = rows.len().max(1) as u32;
            let most = if rows.is_empty() { 1 } else { 120 };
            let span =
                (0..count, 0u64..200, 0u64..60, what(), text(), prop::option::of(0u32..130), prop::option::of(0u32..2));
            prop::collection::vec(span, 0..most).prop_map(move |spans| {
                let empty = rows.is_empty();
                let mut spans: Vec<Span> = spans
                    .into_iter()
                    .filter(|_| !empty)
                    .map(|(row, start, long, what, label, woken_by, site)| Span {
                        label: label.into(),
                        woken_by,
                        site,
                        ..Span::new(row, (start << shift, (start + long) << shift), what)
                    })
                    .collect();
                spans.sort_by_key(|s| (s.start, s.row));
                Timeline {
                    title: title.clone(),
                    subtitle: subtitle.clone(),
                    mhz,
                    rows: rows.iter().cloned().map(|(name, cta, kind)| Row { name, cta, kind }).collect(),
                    spans,
                    sites: [(3, "barrier"), (4, "say \"a\\b\"")]
                        .map(|(line, text)| SourceLine { file: "k.pipe".into(), line, text: text.into() })
                        .to_vec(),
                    end: 200 << shift,
                    faults: faults
                        .iter()
                        .map(|(tick, label, site)| Mark { tick: tick << shift, label: label.clone(), site: *site })
                        .collect(),
                    moves: faults
                        .iter()
                        .map(|(tick, _, site)| ScheduledMove {
                            tick: tick << shift,
                            row: *site,
                            site: *site,
                            act: Act::Lands(*site),
                        })
                        .collect(),
                    took: cut.map(|c| (c + 7) << shift),
                    truncated_at: cut.map(|c| c << shift),
                }
            })
        },
    )
}
