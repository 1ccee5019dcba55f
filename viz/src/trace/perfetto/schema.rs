//! The parts of Perfetto's schema (`protos/perfetto/trace`) that are written, with its field numbers.

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Packet {
    /// Nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub(super) timestamp: Option<u64>,
    #[prost(uint32, tag = "10")]
    pub(super) trusted_packet_sequence_id: u32,
    #[prost(message, optional, tag = "11")]
    pub(super) track_event: Option<Event>,
    #[prost(message, optional, tag = "12")]
    pub(super) interned_data: Option<Interned>,
    #[prost(uint32, tag = "13")]
    pub(super) sequence_flags: u32,
    #[prost(message, optional, tag = "60")]
    pub(super) track_descriptor: Option<Track>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Track {
    #[prost(uint64, optional, tag = "1")]
    pub(super) uuid: Option<u64>,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(uint64, optional, tag = "5")]
    pub(super) parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub(super) counter: Option<Counter>,
    #[prost(int32, tag = "11")]
    pub(super) child_ordering: i32,
    #[prost(int32, tag = "12")]
    pub(super) sibling_order_rank: i32,
    #[prost(string, tag = "14")]
    pub(super) description: String,
    #[prost(int32, tag = "15")]
    pub(super) sibling_merge_behavior: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Counter {
    #[prost(string, tag = "6")]
    pub(super) unit_name: String,
    #[prost(string, tag = "7")]
    pub(super) y_axis_share_key: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Event {
    #[prost(uint64, repeated, packed = "false", tag = "3")]
    pub(super) category_iids: Vec<u64>,
    #[prost(message, repeated, tag = "4")]
    pub(super) debug_annotations: Vec<Annotation>,
    #[prost(int32, tag = "9")]
    pub(super) kind: i32,
    #[prost(uint64, optional, tag = "10")]
    pub(super) name_iid: Option<u64>,
    #[prost(uint64, tag = "11")]
    pub(super) track_uuid: u64,
    #[prost(int64, optional, tag = "30")]
    pub(super) counter_value: Option<i64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub(super) flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub(super) terminating_flow_ids: Vec<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Annotation {
    #[prost(uint64, tag = "1")]
    pub(super) name_iid: u64,
    #[prost(uint64, optional, tag = "3")]
    pub(super) uint_value: Option<u64>,
    #[prost(double, optional, tag = "5")]
    pub(super) double_value: Option<f64>,
    #[prost(uint64, optional, tag = "17")]
    pub(super) string_value_iid: Option<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Interned {
    #[prost(message, repeated, tag = "1")]
    pub(super) event_categories: Vec<Text>,
    #[prost(message, repeated, tag = "2")]
    pub(super) event_names: Vec<Text>,
    #[prost(message, repeated, tag = "3")]
    pub(super) debug_annotation_names: Vec<Text>,
    #[prost(message, repeated, tag = "29")]
    pub(super) debug_annotation_string_values: Vec<Text>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Text {
    #[prost(uint64, tag = "1")]
    pub(super) iid: u64,
    #[prost(string, tag = "2")]
    pub(super) text: String,
}
