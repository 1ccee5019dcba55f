//! The events of a file in order. Text without escapes is not copied and no tree of values is built, because a saved
//! run has a million events.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The receiver of what is read.
pub(super) trait Sink<'a> {
    /// An event, in the order of the file.
    fn event(&mut self, event: Event<'a>);
    /// What the file says about itself.
    fn about(&mut self, about: About<'a>);
}

/// A value, as far as needed: lists, objects and other values are nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Any<'a> {
    #[default]
    Nothing,
    Text(Cow<'a, str>),
    Whole(u64),
    Number(f64),
}

impl Any<'_> {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Any::Text(t) => Some(t),
            _ => None,
        }
    }

    pub(super) fn whole(&self) -> Option<u64> {
        match self {
            Any::Whole(n) => Some(*n),
            _ => None,
        }
    }

    /// A number; some programs write numbers as text.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Any::Nothing => None,
            Any::Text(t) => t.parse().ok(),
            Any::Whole(n) => Some(*n as f64),
            Any::Number(x) => Some(*x),
        }
    }
}

/// An event.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event<'a> {
    #[serde(borrow)]
    pub(super) ph: Any<'a>,
    #[serde(borrow)]
    pub(super) name: Any<'a>,
    #[serde(borrow)]
    pub(super) cat: Any<'a>,
    #[serde(borrow)]
    pub(super) pid: Any<'a>,
    #[serde(borrow)]
    pub(super) tid: Any<'a>,
    #[serde(borrow)]
    pub(super) ts: Any<'a>,
    #[serde(borrow)]
    pub(super) dur: Any<'a>,
    #[serde(borrow)]
    pub(super) id: Any<'a>,
    #[serde(borrow, deserialize_with = "fields")]
    pub(super) args: Args<'a>,
}

/// The arguments that are used.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Args<'a> {
    #[serde(borrow)]
    pub(super) name: Any<'a>,
    #[serde(borrow)]
    pub(super) row: Any<'a>,
    #[serde(borrow)]
    pub(super) index: Any<'a>,
    #[serde(borrow)]
    pub(super) role: Any<'a>,
    #[serde(borrow)]
    pub(super) warp: Any<'a>,
    #[serde(borrow)]
    pub(super) lanes: Any<'a>,
    #[serde(borrow)]
    pub(super) kind: Any<'a>,
    #[serde(borrow)]
    pub(super) label: Any<'a>,
    #[serde(borrow)]
    pub(super) at: Any<'a>,
    #[serde(borrow)]
    pub(super) source: Any<'a>,
    #[serde(borrow)]
    pub(super) start_cycle: Any<'a>,
    #[serde(borrow)]
    pub(super) cycles: Any<'a>,
    #[serde(borrow)]
    pub(super) bytes: Any<'a>,
    #[serde(borrow)]
    pub(super) woken_by: Any<'a>,
    #[serde(borrow)]
    pub(super) started_by: Any<'a>,
    #[serde(borrow)]
    pub(super) on: Any<'a>,
    /// Proton states the clock in each slice.
    #[serde(borrow, rename = "Frequency (MHz)")]
    pub(super) frequency: Any<'a>,
}

/// What our own files say about the run.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct About<'a> {
    #[serde(borrow)]
    pub(super) producer: Any<'a>,
    #[serde(borrow)]
    pub(super) title: Any<'a>,
    #[serde(borrow)]
    pub(super) subtitle: Any<'a>,
    #[serde(borrow)]
    pub(super) mhz: Any<'a>,
    #[serde(borrow)]
    pub(super) end_cycles: Any<'a>,
    #[serde(borrow)]
    pub(super) took_cycles: Any<'a>,
    #[serde(borrow)]
    pub(super) not_recorded_after_cycle: Any<'a>,
}

/// Reads a file: an object with events, or a list of events.
pub(super) fn events<'a>(text: &'a str, sink: &mut impl Sink<'a>) -> serde_json::Result<()> {
    let mut json = serde_json::Deserializer::from_str(text);
    if text.trim_start().starts_with('[') {
        Events(sink).deserialize(&mut json)?;
    } else {
        File(sink).deserialize(&mut json)?;
    }
    json.end()
}

struct File<'s, S>(&'s mut S);

impl<'de, S: Sink<'de>> DeserializeSeed<'de> for File<'_, S> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_map(self)
    }
}

impl<'de, S: Sink<'de>> Visitor<'de> for File<'_, S> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object with `traceEvents`")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut there = false;
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match key.as_ref() {
                "traceEvents" => {
                    map.next_value_seed(Events(&mut *self.0))?;
                    there = true;
                }
                "otherData" => self.0.about(map.next_value::<Fields<About>>()?.0),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        if there { Ok(()) } else { Err(serde::de::Error::missing_field("traceEvents")) }
    }
}

struct Events<'s, S>(&'s mut S);

impl<'de, S: Sink<'de>> DeserializeSeed<'de> for Events<'_, S> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_seq(self)
    }
}

impl<'de, S: Sink<'de>> Visitor<'de> for Events<'_, S> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of events")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(event) = seq.next_element::<Event>()? {
            self.0.event(event);
        }
        Ok(())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Any<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Any<'a>, D::Error> {
        struct One;
        impl<'de> Visitor<'de> for One {
            type Value = Any<'de>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Any<'de>, E> {
                Ok(Any::Text(Cow::Borrowed(v)))
            }
            fn visit_str<E>(self, v: &str) -> Result<Any<'de>, E> {
                Ok(Any::Text(Cow::Owned(v.to_string())))
            }
            fn visit_u64<E>(self, v: u64) -> Result<Any<'de>, E> {
                Ok(Any::Whole(v))
            }
            fn visit_i64<E>(self, v: i64) -> Result<Any<'de>, E> {
                Ok(Any::Number(v as f64))
            }
            fn visit_f64<E>(self, v: f64) -> Result<Any<'de>, E> {
                Ok(Any::Number(v))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Any<'de>, E> {
                Ok(Any::Nothing)
            }
            fn visit_unit<E>(self) -> Result<Any<'de>, E> {
                Ok(Any::Nothing)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Any<'de>, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Any::Nothing)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Any<'de>, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Any::Nothing)
            }
        }
        d.deserialize_any(One)
    }
}

/// The fields of an object; other values have none.
struct Fields<T>(T);

fn fields<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(d: D) -> Result<T, D::Error> {
    Fields::deserialize(d).map(|f| f.0)
}

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Fields<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Fields<T>, D::Error> {
        struct Object<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for Object<T> {
            type Value = Fields<T>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Fields<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Fields)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Fields<T>, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Fields(T::default()))
            }
            fn visit_unit<E>(self) -> Result<Fields<T>, E> {
                Ok(Fields(T::default()))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Fields<T>, E> {
                Ok(Fields(T::default()))
            }
            fn visit_u64<E>(self, _: u64) -> Result<Fields<T>, E> {
                Ok(Fields(T::default()))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Fields<T>, E> {
                Ok(Fields(T::default()))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Fields<T>, E> {
                Ok(Fields(T::default()))
            }
            fn visit_str<E>(self, _: &str) -> Result<Fields<T>, E> {
                Ok(Fields(T::default()))
            }
        }
        d.deserialize_any(Object(PhantomData))
    }
}
