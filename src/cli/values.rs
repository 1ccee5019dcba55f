//! Values of flags, as text.

use warpline_api::draw::{Mark, Size};
use warpline_scenarios::pipeline::{Schedule, Via};

/// Bytes: `4GB`, `512MB`, `800kB`, or a plain number.
pub(super) fn memory(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit: u64 = match text[digits..].trim().to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return Err("expected a size such as `4GB` or `512MB`".to_string()),
    };
    let number = text[..digits].parse::<u64>().ok().and_then(|n| n.checked_mul(unit)).filter(|n| *n > 0);
    number.ok_or_else(|| "expected a size such as `4GB` or `512MB`".to_string())
}

/// A cycle, also with the commas of the reports: `41,495`.
pub(super) fn cycle(text: &str) -> Result<u64, String> {
    text.replace(',', "").parse().map_err(|_| "expected a cycle: a whole number from 0 on".to_string())
}

/// Seconds, from 0 on.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let number = text.trim().parse::<f64>().ok().filter(|s| s.is_finite() && *s >= 0.0);
    number.ok_or_else(|| "expected a number of seconds, such as `20` or `0.5`".to_string())
}

/// Three numbers, one for each dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Three(pub [u32; 3]);

/// Up to three numbers: `128`, `2x1`, `2x1x1`.
pub(super) fn three(text: &str) -> Result<Three, String> {
    let wrong = || "expected one to three numbers, as in `128`, `2x1` or `2x1x1`".to_string();
    let mut list = [1; 3];
    for (n, part) in text.split('x').enumerate() {
        let number = part.trim().parse::<u32>().ok().filter(|v| (1..=1024).contains(v));
        *list.get_mut(n).ok_or_else(wrong)? = number.ok_or_else(wrong)?;
    }
    Ok(Three(list))
}

/// The sizes of a grid: `132`, `64x64`, `8x8x16`.
pub(super) fn grid(text: &str) -> Result<Three, String> {
    warpline_api::parse_grid(text).map(Three)
}

/// The size of a chart in pixels: `page`, `slide`, `800`, `1600x900`.
pub(super) fn size(text: &str) -> Result<Size, String> {
    let side = |s: &str| s.trim().parse::<u32>().ok();
    let size = match text {
        "page" => Some(Size::Page),
        "slide" => Some(Size::Slide),
        _ => match text.split_once('x') {
            Some((w, h)) => side(w).zip(side(h)).map(|(width, height)| Size::Exact { width, height }),
            None => side(text).map(Size::Width),
        },
    };
    size.ok_or_else(|| "expected `page`, `slide`, a width, or a size as in 1600x900".to_string())
}

/// A mark of a chart: `4000=steady state`.
pub(super) fn mark(text: &str) -> Result<Mark, String> {
    let (cycle, label) = text.split_once('=').ok_or("expected CYCLE=TEXT, as in `4000=steady state`")?;
    let cycle = cycle.trim().replace(',', "").parse().map_err(|_| format!("`{cycle}` is not a cycle"))?;
    Ok(Mark { cycle, text: label.trim().to_string() })
}

/// The size of a frame in cells: `80x24`.
pub(super) fn frame(text: &str) -> Result<Cells, String> {
    /// More than any terminal has, and small enough to keep in memory.
    const MOST: u16 = 1000;
    let side = |s: &str| s.trim().parse::<u16>().ok().filter(|n| (1..=MOST).contains(n));
    let size = text.split_once('x').and_then(|(w, h)| Some(Cells { width: side(w)?, height: side(h)? }));
    size.ok_or_else(|| format!("expected a size in cells as in 80x24, up to {MOST}x{MOST}"))
}

/// The instruction for the copies of a `pipelined` loop, by its word.
pub(super) fn via(word: &str) -> Result<Via, String> {
    let all: Vec<&str> = Via::all().map(Via::name).collect();
    Via::all().find(|v| v.name() == word).ok_or_else(|| format!("there are {}", all.join(", ")))
}

/// A schedule, by its word.
pub(super) fn schedule(word: &str) -> Result<Schedule, String> {
    let all: Vec<&str> = Schedule::all().map(Schedule::name).collect();
    Schedule::all().find(|v| v.name() == word).ok_or_else(|| format!("there are {}", all.join(", ")))
}

/// A size in cells of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size("1600x900"), Ok(Size::Exact { width: 1600, height: 900 }));
        assert_eq!(size("800"), Ok(Size::Width(800)));
        assert!(size("big").is_err() && size("9x").is_err());
    }
}
