//! Perfetto traces, decoded by another protobuf library with a schema of its own.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use protobuf::MessageDyn;
use protobuf::reflect::{FileDescriptor, MessageDescriptor, ReflectValueRef};
use warpline_sim::timeline::{TICKS, Timeline};
use warpline_viz::trace::perfetto::write;

use crate::{random, synth};

fn schema() -> MessageDescriptor {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let set = protobuf_parse::Parser::new()
        .pure()
        .include(&path)
        .input(path.join("perfetto.proto"))
        .file_descriptor_set()
        .unwrap();
    let file = FileDescriptor::new_dynamic(set.file[0].clone(), &[]).unwrap();
    file.message_by_package_relative_name("Trace").unwrap()
}

/// A field of a message, where it is set.
fn get<'m>(m: &'m dyn MessageDyn, name: &str) -> Option<ReflectValueRef<'m>> {
    m.descriptor_dyn().field_by_name(name).unwrap().get_singular(m)
}

fn number(m: &dyn MessageDyn, name: &str) -> Option<u64> {
    Some(match get(m, name)? {
        ReflectValueRef::U32(n) => n.into(),
        ReflectValueRef::U64(n) => n,
        ReflectValueRef::I32(n) | ReflectValueRef::Enum(_, n) => n.try_into().unwrap(),
        ReflectValueRef::I64(n) => n.try_into().unwrap(),
        other => panic!("{name}: {other:?}"),
    })
}

fn text(m: &dyn MessageDyn, name: &str) -> String {
    get(m, name).map_or(String::new(), |v| v.to_str().unwrap().to_string())
}

fn numbers(m: &dyn MessageDyn, name: &str) -> Vec<u64> {
    let all = m.descriptor_dyn().field_by_name(name).unwrap().get_repeated(m);
    (0..all.len()).map(|i| all.get(i).to_u64().unwrap()).collect()
}

#[derive(Debug, PartialEq)]
struct Track {
    name: String,
    parent: Option<u64>,
    rank: u64,
    unit: Option<String>,
}

#[derive(Debug, Default)]
struct Read {
    tracks: BTreeMap<u64, Track>,
    /// Track, name, begin and end in nanoseconds; in the order of their ends.
    slices: Vec<(u64, String, u64, u64)>,
    /// Of each flow, the slices it leaves and enters.
    flows: BTreeMap<u64, (Vec<usize>, Vec<usize>)>,
    counters: Vec<(u64, u64, u64)>,
    instants: Vec<(u64, String)>,
    args: BTreeSet<String>,
}

/// Reads as `trace_processor` does: in order, with interned texts, an end closing the last slice begun on its track.
fn read(bytes: &[u8]) -> Read {
    let trace = schema().parse_from_bytes(bytes).unwrap();
    let trace: &dyn MessageDyn = &*trace;
    assert!(trace.unknown_fields_dyn().iter().next().is_none());
    let packets = trace.descriptor_dyn().field_by_name("packet").unwrap().get_repeated(trace);
    let mut r = Read::default();
    let (mut names, mut keys): (BTreeMap<u64, String>, BTreeMap<u64, String>) = Default::default();
    let mut open: BTreeMap<u64, (String, u64, Vec<u64>)> = BTreeMap::new();
    let mut now = 0;
    for i in 0..packets.len() {
        let value = packets.get(i);
        let p: &dyn MessageDyn = &*value.to_message().unwrap();
        assert!(p.unknown_fields_dyn().iter().next().is_none(), "{p:?}");
        assert_eq!(number(p, "trusted_packet_sequence_id"), Some(1));
        if let Some(texts) = get(p, "interned_data") {
            assert_eq!(number(p, "sequence_flags"), Some(3), "the first says that the state is complete");
            let texts = texts.to_message().unwrap();
            for (field, into) in [("event_names", &mut names), ("debug_annotation_names", &mut keys)] {
                let all = texts.descriptor_dyn().field_by_name(field).unwrap().get_repeated(&*texts);
                for i in 0..all.len() {
                    let one = all.get(i);
                    let one = one.to_message().unwrap();
                    assert!(into.insert(number(&*one, "iid").unwrap(), text(&*one, "name")).is_none());
                }
            }
        }
        if let Some(t) = get(p, "track_descriptor") {
            let t = t.to_message().unwrap();
            let unit = get(&*t, "counter").map(|c| text(&*c.to_message().unwrap(), "unit_name"));
            assert_eq!(number(&*t, "child_ordering"), Some(3));
            assert_eq!(number(&*t, "sibling_merge_behavior"), Some(2));
            let track = Track {
                name: text(&*t, "name"),
                parent: number(&*t, "parent_uuid"),
                rank: number(&*t, "sibling_order_rank").unwrap_or(0),
                unit,
            };
            assert!(track.parent.is_none_or(|p| r.tracks.contains_key(&p)), "a parent comes first");
            assert!(r.tracks.insert(number(&*t, "uuid").unwrap(), track).is_none());
        }
        let Some(e) = get(p, "track_event") else { continue };
        let e = e.to_message().unwrap();
        let e: &dyn MessageDyn = &*e;
        let (at, track) = (number(p, "timestamp").unwrap(), number(e, "track_uuid").unwrap());
        assert!(at >= now && r.tracks.contains_key(&track), "in order, on a track that is there");
        now = at;
        let name = number(e, "name_iid").map(|n| names[&n].clone());
        let (leaves, enters) = (numbers(e, "flow_ids"), numbers(e, "terminating_flow_ids"));
        let annotations = e.descriptor_dyn().field_by_name("debug_annotations").unwrap().get_repeated(e);
        for i in 0..annotations.len() {
            let one = annotations.get(i);
            r.args.insert(keys[&number(&*one.to_message().unwrap(), "name_iid").unwrap()].clone());
        }
        match number(e, "type").unwrap() {
            1 => {
                let name = name.unwrap();
                assert!(open.insert(track, (name, at, enters)).is_none(), "slices of a track overlap");
            }
            2 => {
                let (name, since, entered) = open.remove(&track).expect("an end of nothing");
                for id in entered {
                    r.flows.entry(id).or_default().1.push(r.slices.len());
                }
                for id in &leaves {
                    r.flows.entry(*id).or_default().0.push(r.slices.len());
                }
                for id in enters {
                    let flow = r.flows.entry(id).or_default();
                    assert_eq!(flow.0.len(), 1, "a flow is met where it starts");
                    flow.1.push(r.slices.len());
                }
                r.slices.push((track, name, since, at));
            }
            3 => r.instants.push((at, name.unwrap())),
            4 => r.counters.push((track, at, number(e, "counter_value").unwrap())),
            other => panic!("{other}"),
        }
    }
    assert!(open.is_empty(), "never ended: {open:?}");
    r
}

fn check(t: &Timeline) -> Read {
    let r = read(&write(t).unwrap());
    assert_eq!(r.slices.len(), t.spans.len());
    assert_eq!(r.instants.len(), t.faults.len());
    // Siblings have places of their own.
    let mut places = BTreeSet::new();
    assert!(r.tracks.values().all(|t| places.insert((t.parent, t.rank))));
    for (id, flow) in &r.flows {
        let ([from], [to]) = (&flow.0[..], &flow.1[..]) else { panic!("flow {id}: {flow:?}") };
        assert!(r.slices[*from].3 <= r.slices[*to].3);
    }
    // What ends with what it woke may have woken that in turn; such a pair has one flow or two.
    let (mut least, mut most) = (0, 0);
    for (i, s) in t.spans.iter().enumerate().filter(|(_, s)| s.start < s.end) {
        for (by, at, ends) in [(s.woken_by, s.end, true), (s.started_by, s.start, false)] {
            let cause = by.filter(|b| *b as usize != i).and_then(|b| t.spans.get(b as usize));
            let Some(cause) = cause.filter(|c| c.end <= at && c.start < c.end) else { continue };
            most += 1;
            least += usize::from(!ends || cause.end < at);
        }
    }
    assert!((least..=most).contains(&r.flows.len()), "{} flows, {least} to {most}", r.flows.len());
    r
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_timelines_nest_and_flow(t in random::timeline()) {
        prop_assume!(t.end < 1 << 44 && t.mhz != 1e-9);
        check(&t);
    }
}

#[test]
fn tracks_are_a_tree_in_order() {
    let t = synth::pipeline(2, 6);
    let r = check(&t);
    let name = |uuid: u64| r.tracks[&uuid].name.as_str();
    let path = |uuid: u64| {
        let above = std::iter::successors(Some(uuid), |u| r.tracks[u].parent);
        let mut names: Vec<&str> = above.map(name).collect();
        names.reverse();
        names.join(" / ")
    };
    let paths: Vec<String> = r.tracks.keys().map(|u| path(*u)).collect();
    for expected in ["CTA 0 / producer / producer w0", "CTA 1 / slots / a[0]", "CTA 0 / engines / copy · 2"] {
        assert!(paths.iter().any(|p| *p == format!("{} / {expected}", t.title)), "{expected} in {paths:#?}");
    }
    let counters: Vec<_> = r.tracks.values().filter_map(|t| Some((t.name.as_str(), t.unit.as_deref()?))).collect();
    assert!(counters.contains(&("a stages full", "stages")), "{counters:?}");
    assert!(!r.counters.is_empty());
    assert!(["start_cycle", "cycles", "at", "source"].iter().all(|k| r.args.contains(*k)), "{:?}", r.args);
    // Wakes and starts of the pipeline.
    assert!(r.flows.len() > 20, "{}", r.flows.len());
}

#[test]
fn a_class_of_operation_has_one_name_but_for_digits() {
    let r = check(&synth::pipeline(1, 12));
    let plain = |name: &str| name.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let names: BTreeSet<String> = r.slices.iter().map(|s| plain(&s.1)).collect();
    let classes: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    assert!(classes.contains("load A ,") && classes.len() < 25, "{classes:?}");
}

#[test]
fn times_are_those_of_the_clock() {
    let t = synth::pipeline(1, 6);
    let r = check(&t);
    let last = r.slices.iter().map(|s| s.3).max().unwrap();
    let end = t.spans.iter().map(|s| s.end).max().unwrap();
    assert_eq!(last, (end as f64 / TICKS as f64 * 1e3 / t.mhz) as u64);
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let t = synth::pipeline(2, 10);
    assert_eq!(write(&t).unwrap(), write(&t).unwrap());
}
