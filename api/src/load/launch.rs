//! The launch of a compiled kernel: its file, and the limits that the kernel's parameters set.
//!
//! ```json
//! {"grid": [64, 64, 1], "args": [{"ptr": [8192, 2048], "dtype": "float16"}, 8192, null], "shared": 98304, "regs": 168}
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use warpline_import::lift::Launch;
use warpline_import::lift::launch::{Argument, Array, TensorMap};
use warpline_import::ptx::{Entry, Param};
use warpline_sim::diag::Diagnostic;
use warpline_sim::ir::{Class, Dtype, Object, Program};
use warpline_sim::words::of;

use super::readable_name;
use crate::error::{Error, Position, Sources};
use crate::request::Request;

/// Most threads of a block, and CTAs of a cluster, along a dimension.
const MOST_ALONG: i64 = 1024;
/// Largest grid along each dimension.
const LARGEST_GRID: [i64; 3] = [(1 << 31) - 1, 65_535, 65_535];
/// Most bytes of shared memory of a launch.
const MOST_SHARED: i64 = 1 << 20;
/// Largest number of registers of a thread, rounded up to the allocation granule.
const MOST_REGISTERS: i64 = 256;
/// Element types, as frameworks name them.
const DTYPES: [&str; 17] = [
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float4_e2m1",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint64",
    "uint32",
    "uint16",
    "uint8",
    "bool",
    "tfloat32",
];

/// A launch file, as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LaunchFile {
    #[serde(default, deserialize_with = "grid")]
    grid: Option<[u32; 3]>,
    #[serde(default, deserialize_with = "three")]
    block: Option<[u32; 3]>,
    #[serde(default, deserialize_with = "three")]
    cluster: Option<[u32; 3]>,
    #[serde(default, deserialize_with = "arguments")]
    args: Option<Vec<Argument>>,
    #[serde(default, deserialize_with = "shared")]
    shared: Option<u32>,
    #[serde(default, deserialize_with = "registers")]
    regs: Option<u32>,
}

fn grid<'de, D: Deserializer<'de>>(d: D) -> Result<Option<[u32; 3]>, D::Error> {
    let list = Vec::<i64>::deserialize(d)?;
    sizes(&list).map(Some).map_err(serde::de::Error::custom)
}

/// One to three sizes of a grid.
pub(super) fn sizes(list: &[i64]) -> Result<[u32; 3], String> {
    if list.is_empty() || list.len() > 3 {
        return Err(format!("a grid has one to three sizes, not {}", list.len()));
    }
    let mut grid = [1; 3];
    for (d, n) in list.iter().enumerate() {
        if *n < 1 || *n > LARGEST_GRID[d] {
            let axis = ["x", "y", "z"][d];
            return Err(format!("the grid is {n} along {axis}; it has 1 to {} CTAs there", LARGEST_GRID[d]));
        }
        grid[d] = *n as u32;
    }
    Ok(grid)
}

/// The sizes of a block or a cluster.
fn three<'de, D: Deserializer<'de>>(d: D) -> Result<Option<[u32; 3]>, D::Error> {
    let list = Vec::<i64>::deserialize(d)?;
    if list.is_empty() || list.len() > 3 || list.iter().any(|n| !(1..=MOST_ALONG).contains(n)) {
        let message = format!("a block or a cluster has one to three sizes from 1 to {MOST_ALONG}");
        return Err(serde::de::Error::custom(message));
    }
    let mut sizes = [1; 3];
    sizes.iter_mut().zip(list).for_each(|(size, n)| *size = n as u32);
    Ok(Some(sizes))
}

fn shared<'de, D: Deserializer<'de>>(d: D) -> Result<Option<u32>, D::Error> {
    ranged(d, "bytes of shared memory", 0, MOST_SHARED)
}

fn registers<'de, D: Deserializer<'de>>(d: D) -> Result<Option<u32>, D::Error> {
    ranged(d, "registers of a thread", 1, MOST_REGISTERS)
}

fn ranged<'de, D: Deserializer<'de>>(d: D, what: &str, from: i64, to: i64) -> Result<Option<u32>, D::Error> {
    let n = i64::deserialize(d)?;
    if (from..=to).contains(&n) {
        return Ok(Some(n as u32));
    }
    Err(serde::de::Error::custom(format!("{n} {what}; a launch has {from} to {to}")))
}

fn arguments<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Vec<Argument>>, D::Error> {
    /// One argument, read separately so that an error has its place.
    struct One(Argument);
    impl<'de> Deserialize<'de> for One {
        fn deserialize<D: Deserializer<'de>>(d: D) -> Result<One, D::Error> {
            argument(&Value::deserialize(d)?).map(One).map_err(serde::de::Error::custom)
        }
    }
    Ok(Some(Vec::<One>::deserialize(d)?.into_iter().map(|a| a.0).collect()))
}

fn argument(v: &Value) -> Result<Argument, String> {
    let forms = r#"a number, `{"ptr": [..], "dtype": ..}`, `{"desc": [..], "strides": [..], "box": [..], "dtype": .., "swizzle": ..}`, `{"fields": {"BYTE": ..}}` or null"#;
    let fields = match v {
        Value::Null => return Ok(Argument::Unused),
        Value::Number(n) => return number(n),
        Value::Object(fields) => fields,
        _ => return Err(format!("an argument is {forms}")),
    };
    let known: &[&str] = match () {
        () if fields.contains_key("ptr") => &["ptr", "dtype"],
        () if fields.contains_key("desc") => &["desc", "strides", "box", "dtype", "swizzle"],
        () if fields.contains_key("fields") => &["fields"],
        () => return Err(format!("an argument is {forms}")),
    };
    if let Some(other) = fields.keys().find(|k| !known.contains(&k.as_str())) {
        return Err(format!("`{other}` is not a field of this argument, which has {}", known.join(", ")));
    }
    if let Some(list) = fields.get("fields") {
        return structure(list);
    }
    let list = |name: &str, most: u64| -> Result<Vec<u64>, String> {
        let items = fields.get(name).and_then(Value::as_array).ok_or(format!("`{name}` is a list of whole numbers"))?;
        let number = |v: &Value| v.as_u64().filter(|n| *n <= most);
        let wrong = format!("`{name}` has whole numbers from 0 to {most}");
        items.iter().map(|v| number(v).ok_or(wrong.clone())).collect()
    };
    let dtype = fields.get("dtype").and_then(Value::as_str).ok_or("`dtype` names the element type")?;
    if !DTYPES.contains(&dtype) {
        return Err(format!("`{dtype}` is not an element type; the types are {}", DTYPES.join(", ")));
    }
    let array = |name| Ok::<_, String>(Array { shape: list(name, 1 << 40)?, dtype: dtype.to_string() });
    if fields.contains_key("ptr") {
        return Ok(Argument::Array(array("ptr")?));
    }
    let array = array("desc")?;
    let (strides, tile) = (list("strides", 1 << 40)?, list("box", 256)?);
    if strides.len() != array.shape.len() || tile.len() != array.shape.len() {
        return Err("`desc`, `strides` and `box` have one number a dimension".into());
    }
    let swizzle = fields.get("swizzle").map_or(Some(0), Value::as_u64).filter(|s| [0, 32, 64, 128].contains(s));
    let swizzle = swizzle.ok_or("`swizzle` is 0, 32, 64 or 128")?;
    let tile = tile.into_iter().map(|n| n as u32).collect();
    Ok(Argument::Map(TensorMap { array, strides, tile, swizzle: swizzle as u32 }))
}

/// The values of a structure, by the byte at which each starts.
fn structure(fields: &Value) -> Result<Argument, String> {
    let wrong =
        r#"`fields` has values by the byte at which each starts in the parameter, as in `{"0": 4096, "8": 64}`"#;
    let mut list = BTreeMap::new();
    for (byte, value) in fields.as_object().ok_or(wrong)? {
        let value = match argument(value)? {
            Argument::Fields(_) | Argument::Unused => return Err(wrong.into()),
            value => value,
        };
        list.insert(byte.parse().map_err(|_| wrong)?, value);
    }
    Ok(Argument::Fields(list))
}

fn number(n: &serde_json::Number) -> Result<Argument, String> {
    match (n.as_i64(), n.as_u64(), n.as_f64()) {
        (Some(v), ..) => Ok(Argument::Number(v)),
        (_, None, Some(v)) => Ok(Argument::Real(v)),
        _ => Err(format!("{n} is more than 64 bits hold")),
    }
}

/// The short form of an argument: `5=4096`, or `5+8=4096` for the value at byte 8 of a structure.
///
/// # Errors
/// Text of another form.
pub fn parse_argument(text: &str) -> Result<(u16, Argument), String> {
    let wrong = "expected POSITION=NUMBER, as in `5=4096`, or POSITION+BYTE=NUMBER; positions and bytes count from 0";
    let (place, value) = text.split_once('=').ok_or(wrong)?;
    let (position, byte) = place_of(place).ok_or(wrong)?;
    let value = value.trim();
    let value = match value.parse::<i64>() {
        Ok(v) => Argument::Number(v),
        Err(_) => {
            let real = value.parse::<f64>().ok().filter(|v| v.is_finite() && value.contains(['.', 'e']));
            Argument::Real(real.ok_or(wrong)?)
        }
    };
    Ok((position, placed(value, byte)))
}

/// A value of a parameter, or the one at a byte of a structure.
pub(super) fn placed(value: Argument, byte: Option<u32>) -> Argument {
    match byte {
        Some(byte) => Argument::Fields(BTreeMap::from([(byte, value)])),
        None => value,
    }
}

/// The position of a parameter, and the byte in it where that is given: `5`, `5+8`.
pub(super) fn place_of(text: &str) -> Option<(u16, Option<u32>)> {
    match text.split_once('+') {
        Some((position, byte)) => Some((position.trim().parse().ok()?, Some(byte.trim().parse().ok()?))),
        None => Some((text.trim().parse().ok()?, None)),
    }
}

/// The arguments of several options. Values of one structure add up.
pub fn collected(options: impl IntoIterator<Item = (u16, Argument)>) -> BTreeMap<u16, Argument> {
    let mut launch = Launch::default();
    options.into_iter().for_each(|(position, a)| launch.give(position, a));
    launch.args
}

/// The short form of a grid: `32x32`.
///
/// # Errors
/// Text of another form, and a size out of range.
pub fn parse_grid(text: &str) -> Result<[u32; 3], String> {
    let list: Option<Vec<i64>> = text.split('x').map(|n| n.trim().parse().ok()).collect();
    sizes(&list.ok_or("expected one to three numbers, as in `132`, `64x64` or `8x8x16`")?)
}

/// The launch of a file, with values of options above those of the file.
pub(super) fn launch(request: &Request, entry: &Entry) -> Result<Launch, Error> {
    let (given, kernel) = (&request.launch, readable_name(&entry.name));
    let mut launch = given.clone();
    if let Some(path) = &request.launch_file {
        let text = request.read(path)?;
        let name = path.display().to_string();
        let from_file = parsed(&name, &text)?;
        let at = |key: &str, message: String, label: &str| {
            let span = text.find(&format!("\"{key}\"")).map_or(0..1, |at| at..at + key.len() + 2);
            let d = Diagnostic::new(&name, span, message, label);
            Error::Input { diagnostics: vec![d], sources: Sources::from([(name.clone(), text.clone())]) }
        };
        if let Some(args) = from_file.args {
            let (n, m) = (args.len() as i64, entry.params.len() as i64);
            if n != m {
                let message =
                    format!("`{kernel}` has {}, and the launch has {}", of(m, "parameter"), of(n, "argument"));
                let label =
                    format!("one for each parameter, null where it is not used: {}", parameter_types(&entry.params));
                return Err(at("args", message, &label));
            }
            let args: BTreeMap<u16, Argument> = (0..).zip(args).collect();
            args.iter().try_for_each(|(p, a)| fits(entry, *p, a)).map_err(|m| at("args", m, "of this list"))?;
            // Options replace values of the file, also single ones of a structure.
            let options = std::mem::replace(&mut launch.args, args);
            options.into_iter().for_each(|(p, a)| launch.give(p, a));
        }
        launch.grid = launch.grid.or(from_file.grid);
        launch.block = launch.block.or(from_file.block);
        launch.cluster = launch.cluster.or(from_file.cluster);
        launch.shared = launch.shared.or(from_file.shared);
        launch.regs = launch.regs.or(from_file.regs);
    }
    given.args.iter().try_for_each(|(p, a)| fits(entry, *p, a)).map_err(Error::new)?;
    Ok(launch)
}

fn parsed(name: &str, text: &str) -> Result<LaunchFile, Error> {
    serde_json::from_str(text).map_err(|e| {
        // The message ends with the place, which the caret already shows.
        let message = e.to_string();
        let message = match message.rsplit_once(" at line ").map_or(message.as_str(), |(m, _)| m) {
            end if end.starts_with("EOF while parsing") => "the file ends where more of its JSON is needed",
            other => other,
        };
        let offset = offset(text, Position { line: e.line(), column: e.column() });
        let d = Diagnostic::new(name, offset..(offset + 1).min(text.len()), message, "read up to here")
            .help("docs/import.md describes launch files");
        Error::Input { diagnostics: vec![d], sources: Sources::from([(name.to_string(), text.to_string())]) }
    })
}

/// The byte at a place of a JSON text, whose columns count bytes.
fn offset(text: &str, at: Position) -> usize {
    let start: usize = text.split_inclusive('\n').take(at.line.saturating_sub(1)).map(str::len).sum();
    let mut offset = (start + at.column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// Whether a parameter can have a value.
fn fits(entry: &Entry, position: u16, a: &Argument) -> Result<(), String> {
    let Some(p) = entry.params.get(usize::from(position)) else {
        let n = entry.params.len();
        return Err(format!(
            "there is no parameter {position}; `{}` has {n}, counted from 0",
            readable_name(&entry.name)
        ));
    };
    let what = parameter(position, p);
    if let Argument::Fields(fields) = a {
        let size = |a: &Argument| if matches!(a, Argument::Map(_)) { 128 } else { 1 };
        let end = |(byte, a): (&u32, &Argument)| u64::from(*byte) + size(a);
        return match fields.iter().map(end).find(|end| *end > p.bytes) {
            Some(end) => Err(format!("byte {} is outside of {what}", end - 1)),
            None => Ok(()),
        };
    }
    let float = p.ty.starts_with('f');
    let (least, most): (i128, i128) = (-(1 << (p.bytes.min(8) * 8 - 1)), (1 << (p.bytes.min(8) * 8)) - 1);
    match a {
        Argument::Number(_) | Argument::Real(_) if p.bytes > 8 => {
            Err(format!("{what} is not a number: name the byte at which the value starts, as in `{position}+0=64`"))
        }
        Argument::Number(v) if !float && !(least..=most).contains(&i128::from(*v)) => {
            Err(format!("{v} is out of range for {what}: {least} to {most}"))
        }
        Argument::Real(v) if !float => Err(format!("{v} is not a whole number, as {what} must be")),
        Argument::Array(_) if p.bytes != 8 => Err(format!("{what} is not a pointer")),
        Argument::Map(_) if p.bytes != 8 && p.bytes != 128 => Err(format!("{what} is not a tensor map")),
        _ => Ok(()),
    }
}

/// Longest name of a parameter that is shown whole.
const LONGEST_NAME: usize = 40;

/// A parameter in words: ``parameter 5, `k_param_5` (u32)``. Names that a compiler made of types are left out: they are
/// the name of the kernel and the position.
pub(super) fn parameter(position: u16, p: &Param) -> String {
    let ty = type_of(p);
    if p.name.len() > LONGEST_NAME {
        return format!("parameter {position} ({ty})");
    }
    format!("parameter {position}, `{}` ({ty})", p.name)
}

/// The type of a parameter: of a structure, its bytes.
fn type_of(p: &Param) -> String {
    if p.bytes > 8 || p.ty == "b8" && p.bytes > 1 { format!("{} bytes", p.bytes) } else { p.ty.clone() }
}

/// The types of all parameters by position, as a launch file lists their values: `0 to 2: u64; 3: u32`.
pub fn parameter_types(params: &[Param]) -> String {
    let types: Vec<String> = params.iter().map(type_of).collect();
    let (mut list, mut first) = (Vec::new(), 0);
    for same in types.chunk_by(|a, b| a == b) {
        let last = first + same.len() - 1;
        let at = if first == last { first.to_string() } else { format!("{first} to {last}") };
        list.push(format!("{at}: {}", same[0]));
        first = last + 1;
    }
    list.join("; ")
}

/// Sets the size of shared memory to that of the launch, which limits the number of CTAs of a core.
pub(super) fn reserve(program: &mut Program, bytes: i64) {
    let unused = bytes - program.shared_bytes();
    if unused > 0 {
        program.objects.push(Object::whole("unused".into(), Class::Shared, Dtype::I8, [unused, 1]));
    }
}
