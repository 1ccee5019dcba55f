//! What rows and slices of a trace are: as our own say, and as others' names let one think.

use serde_json::Value;
use warpline_sim::timeline::{Engine, Lanes, Row, RowKind, Stall, What, Work};

use super::super::chrome::ROWS;
use crate::words;

/// The row of a thread of another program: a warp of the number at its name's end, if it has one.
pub(super) fn other(name: &str, cta: u32) -> Row {
    // Proton's overlap lanes stand in brackets.
    let name = name.split(" (line").next().unwrap_or(name).to_string();
    let digits: String = name.chars().rev().take_while(char::is_ascii_digit).collect();
    let warp = digits.chars().rev().collect::<String>().parse().unwrap_or(0);
    let role = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ' || c == 'w').trim();
    let role = if name.starts_with("warp") || role.is_empty() { "warp" } else { role };
    Row { cta, kind: RowKind::Agent { role: role.to_string(), warp, lanes: None }, name }
}

/// The row that a thread of our own says it is.
pub(super) fn own(args: &Value, pid: &str) -> Option<Row> {
    let (name, role) = (args["row"].as_str()?, args["role"].as_str()?.to_string());
    let engine = || [Engine::Loads, Engine::Copy, Engine::Tensor].into_iter().find(|e| words::engine(*e) == role);
    let kind = match ROWS.iter().position(|k| args["kind"] == *k)? {
        0 => RowKind::Agent {
            warp: u32::try_from(args["warp"].as_u64()?).ok()?,
            lanes: match args["lanes"].as_str()? {
                "elected" => Some(Lanes::Elected),
                "rest" => Some(Lanes::Rest),
                _ => None,
            },
            role,
        },
        1 => RowKind::Engine(engine()?),
        2 => RowKind::Barrier(role),
        _ => RowKind::Slot(role),
    };
    Some(Row { name: name.to_string(), cta: pid.parse().ok()?, kind })
}

/// The class that a slice of our own says it is.
pub(super) fn own_class(category: &str, kind: &str) -> Option<What> {
    match category {
        "work" => Work::ALL.into_iter().find(|w| words::work(*w) == kind).map(What::Work),
        "stall" => Stall::ALL.into_iter().find(|s| words::stall(*s) == kind).map(What::Stall),
        "state" => Some(What::Hold { filling: kind == "filling" }),
        _ => None,
    }
}
