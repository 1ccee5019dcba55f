//! Perfetto's protobuf, for <https://ui.perfetto.dev> and `trace_processor`.
//!
//! ```text
//!   triple_buffer on Apple M4 Max
//!     faults                        instants
//!     CTA 0
//!       bytes in flight, a stages full
//!       math                        the role's warps
//!         math w4                   slices
//!       copy engine                 a track for each lane
//!       barriers, slots
//! ```
//!
//! Tracks are a tree in the order of the timeline. Names, categories and texts are stored once and referenced. A flow
//! leads from the end of the waker to the end of the wait. Another one leads from the end of what started an engine's
//! work to the start of that work.

mod schema;
mod slices;

use std::collections::HashMap;
use std::hash::Hash;

use warpline_sim::timeline::{RowKind, Timeline};

use super::{Clock, Lanes, TraceError};
use crate::counter;
use schema::{Annotation, Counter, Event, Interned, Packet, Text, Track};
use slices::slices;

const BEGIN: i32 = 1;
const END: i32 = 2;
const INSTANT: i32 = 3;
const COUNTER: i32 = 4;
/// Children in the order of their ranks.
const EXPLICIT: i32 = 3;
/// Tracks of one name stay separate.
const MERGE_NONE: i32 = 2;
/// All packets belong to one sequence, whose state is complete from the first packet on.
const SEQUENCE: u32 = 1;
const CLEARED: u32 = 1;
const NEEDS_STATE: u32 = 2;

/// Texts stored once, numbered from 1.
#[derive(Default)]
struct Names(HashMap<String, u64>, Vec<Text>);

impl Names {
    fn id(&mut self, text: &str) -> u64 {
        if let Some(id) = self.0.get(text) {
            return *id;
        }
        let iid = self.1.len() as u64 + 1;
        self.0.insert(text.to_owned(), iid);
        self.1.push(Text { iid, text: text.to_owned() });
        iid
    }
}

#[derive(Default)]
struct Interning {
    names: Names,
    categories: Names,
    keys: Names,
    values: Names,
}

/// The tree of tracks; a track's number is its uuid.
struct Tree {
    packets: Vec<Packet>,
    children: Vec<i32>,
}

impl Tree {
    /// Appends a track to its parent.
    fn add(&mut self, parent: Option<u64>, name: &str, counter: Option<Counter>, description: &str) -> u64 {
        let uuid = self.packets.len() as u64 + 1;
        let rank = parent.map_or(0, |p| {
            let n = &mut self.children[p as usize - 1];
            *n += 1;
            *n
        });
        let track = Track {
            uuid: Some(uuid),
            name: name.to_owned(),
            parent_uuid: parent,
            counter,
            child_ordering: EXPLICIT,
            sibling_order_rank: rank,
            description: description.to_owned(),
            sibling_merge_behavior: MERGE_NONE,
        };
        self.packets.push(Packet {
            trusted_packet_sequence_id: SEQUENCE,
            track_descriptor: Some(track),
            ..Packet::default()
        });
        self.children.push(0);
        uuid
    }
}

/// The node of a key below a parent, created if missing.
fn below<K: Hash + Eq>(known: &mut HashMap<K, u64>, key: K, make: impl FnOnce() -> u64) -> u64 {
    *known.entry(key).or_insert_with(make)
}

/// Writes a timeline as a Perfetto trace.
///
/// # Errors
/// A span refers to a row that does not exist.
pub fn write(t: &Timeline) -> Result<Vec<u8>, TraceError> {
    let clock = Clock { mhz: t.mhz };
    let lanes = Lanes::new(t)?;
    let mut tree = Tree { packets: Vec::new(), children: Vec::new() };
    let about = format!("{}; times are {}", t.subtitle, clock.unit());
    let root = tree.add(None, &t.title, None, &about);
    let faults = (!t.faults.is_empty()).then(|| tree.add(Some(root), "faults", None, ""));
    let (mut ctas, mut groups) = (HashMap::new(), HashMap::new());
    let mut order: Vec<u32> = t.rows.iter().map(|r| r.cta).collect();
    order.sort_unstable();
    for cta in order {
        below(&mut ctas, cta, || tree.add(Some(root), &format!("CTA {cta}"), None, ""));
    }
    let mut counted: Vec<(u64, u64, i64)> = Vec::new();
    for (cta, c) in counter::drafts(t) {
        let unit = Counter { unit_name: c.unit().to_owned(), y_axis_share_key: c.name().to_owned() };
        let track = tree.add(ctas.get(&cta).copied(), c.name(), Some(unit), "");
        counted.extend(c.points().map(|(at, value)| (at, track, i64::try_from(value).unwrap_or(i64::MAX))));
    }
    let mut tracks = Vec::with_capacity(lanes.all.len());
    for (i, &(row, ..)) in lanes.all.iter().enumerate() {
        let row = &t.rows[row];
        let group = match &row.kind {
            RowKind::Agent { role, .. } => role.as_str(),
            RowKind::Engine(_) => "engines",
            RowKind::Barrier(_) => "barriers",
            RowKind::Slot(_) => "slots",
        };
        let kind = std::mem::discriminant(&row.kind);
        let parent =
            below(&mut groups, (row.cta, kind, group), || tree.add(ctas.get(&row.cta).copied(), group, None, ""));
        tracks.push(tree.add(Some(parent), &lanes.name(t, i), None, ""));
    }
    let mut texts = Interning::default();
    let mut events: Vec<(u64, Event)> = slices(t, &lanes, &tracks, &mut texts);
    let counter =
        |track_uuid, value| Event { kind: COUNTER, track_uuid, counter_value: Some(value), ..Event::default() };
    events.extend(counted.into_iter().map(|(at, track, value)| (at, counter(track, value))));
    for mark in &t.faults {
        let site = t.sites.get(mark.site as usize);
        events.push((
            mark.tick,
            Event {
                category_iids: vec![texts.categories.id("fault")],
                debug_annotations: site.into_iter().flat_map(|s| source(&mut texts, s)).collect(),
                kind: INSTANT,
                name_iid: Some(texts.names.id(&format!("fault: {}", mark.label))),
                track_uuid: faults.unwrap_or(root),
                ..Event::default()
            },
        ));
    }
    // A stable sort: events of one instant keep their order.
    events.sort_by_key(|e| e.0);
    Ok(encode(&clock, tree, texts, events))
}

fn encode(clock: &Clock, tree: Tree, texts: Interning, events: Vec<(u64, Event)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A trace is a sequence of packets in field 1.
    let mut put = |p: &Packet| prost::encoding::message::encode(1, p, &mut bytes);
    put(&Packet {
        trusted_packet_sequence_id: SEQUENCE,
        sequence_flags: CLEARED | NEEDS_STATE,
        interned_data: Some(Interned {
            event_categories: texts.categories.1,
            event_names: texts.names.1,
            debug_annotation_names: texts.keys.1,
            debug_annotation_string_values: texts.values.1,
        }),
        ..Packet::default()
    });
    tree.packets.iter().for_each(&mut put);
    for (at, event) in events {
        put(&Packet {
            timestamp: Some(clock.ns(at)),
            trusted_packet_sequence_id: SEQUENCE,
            track_event: Some(event),
            sequence_flags: NEEDS_STATE,
            ..Packet::default()
        });
    }
    bytes
}

fn source(texts: &mut Interning, s: &warpline_sim::timeline::SourceLine) -> [Annotation; 2] {
    let mut text = |key: &str, value: &str| Annotation {
        name_iid: texts.keys.id(key),
        string_value_iid: Some(texts.values.id(value)),
        ..Annotation::default()
    };
    [text("at", &format!("{}:{}", s.file, s.line)), text("source", &s.text)]
}
