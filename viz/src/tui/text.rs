//! Numbers and words of the viewer, and frames as text.

use std::fmt::Write;

use ratatui::buffer::Buffer;
use warpline_sim::timeline::TICKS;

use crate::gantt::format::grouped;

/// Ticks as cycles: `12,345`, with up to two decimals if needed.
pub(crate) fn cycles(ticks: u64) -> String {
    let hundredths = (u128::from(ticks % TICKS) * 100 + u128::from(TICKS) / 2) / u128::from(TICKS);
    let whole = ticks / TICKS + (hundredths / 100) as u64;
    match hundredths % 100 {
        0 => grouped(whole),
        h if h % 10 == 0 => format!("{}.{}", grouped(whole), h / 10),
        h => format!("{}.{h:02}", grouped(whole)),
    }
}

/// Ticks as cycles, with their sign.
pub(crate) fn cycles_signed(ticks: i64) -> String {
    format!("{}{}", if ticks < 0 { "-" } else { "+" }, cycles(ticks.unsigned_abs()))
}

/// Bytes in a readable unit.
pub(crate) fn bytes(n: u64) -> String {
    match n {
        0..10_000 => format!("{} B", grouped(n)),
        10_000..10_000_000 => format!("{} KB", grouped(n / 1000)),
        _ => format!("{} MB", grouped(n / 1_000_000)),
    }
}

/// A frame's text: a line for each of its lines, without trailing spaces.
pub fn plain(buffer: &Buffer) -> String {
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let line: String = (0..buffer.area.width).filter_map(|x| Some(buffer.cell((x, y))?.symbol())).collect();
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// A frame's text, and for each line the runs of cells with a style, for tests.
pub fn styled(buffer: &Buffer) -> String {
    let mut out = String::new();
    for (y, line) in plain(buffer).lines().enumerate() {
        let _ = writeln!(out, "{line}");
        let mut runs: Vec<(String, u16, u16)> = Vec::new();
        for x in 0..buffer.area.width {
            let Some(c) = buffer.cell((x, y as u16)) else { continue };
            let mut style = String::new();
            if c.fg != ratatui::style::Color::Reset {
                let _ = write!(style, "{}", c.fg);
            }
            if c.bg != ratatui::style::Color::Reset {
                let _ = write!(style, " on {}", c.bg);
            }
            if !c.modifier.is_empty() {
                let _ = write!(style, " {:?}", c.modifier);
            }
            match runs.last_mut() {
                Some((last, _, to)) if *last == style => *to = x,
                _ => runs.push((style, x, x)),
            }
        }
        let runs: Vec<String> = runs
            .iter()
            .filter(|(style, _, _)| !style.is_empty())
            .map(|(style, a, b)| format!("{a}..{b} {}", style.trim()))
            .collect();
        if !runs.is_empty() {
            let _ = writeln!(out, "    {{{}}}", runs.join("; "));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_have_the_decimals_they_need() {
        assert_eq!(cycles(0), "0");
        assert_eq!(cycles(1234 * TICKS), "1,234");
        assert_eq!(cycles(TICKS / 2), "0.5");
        assert_eq!(cycles(TICKS + 3), "1.01");
        assert_eq!(cycles(2 * TICKS - 1), "2");
        assert_eq!(cycles_signed(-(TICKS as i64)), "-1");
    }
}
