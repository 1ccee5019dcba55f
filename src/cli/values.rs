//! How values of flags read.

use warpline_scenarios::pipeline::{Schedule, Via};
use warpline_sim::fences::Fences;

use super::Size;

/// One `--set`.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// A parameter of the kernel.
    Kernel(String, i64),
    /// A number of the machine, by its key.
    Machine(String, f64),
}

pub(super) fn setting(text: &str) -> Result<Setting, String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, as in `m=4096`")?;
    let (name, value) = (name.trim(), value.trim());
    if let Some(key) = name.strip_prefix("machine.") {
        return match value.parse::<f64>() {
            Ok(v) if v.is_finite() => Ok(Setting::Machine(key.to_string(), v)),
            _ => Err(format!("`{value}` is not a number")),
        };
    }
    if name.is_empty() {
        return Err("expected a name before `=`, as in `m=4096`".to_string());
    }
    match value.parse::<i64>() {
        Ok(v) => Ok(Setting::Kernel(name.to_string(), v)),
        Err(_) => Err(format!("`{value}` is not a whole number; kernel parameters are whole numbers")),
    }
}

/// One `--fence`: a rule and its level, both known to exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FenceLevel {
    /// The rule.
    pub rule: String,
    /// Its level.
    pub level: String,
}

pub(super) fn fence(text: &str) -> Result<FenceLevel, String> {
    let (rule, level) = text.split_once('=').ok_or("expected RULE=LEVEL, as in `async-read=strict`")?;
    let (rule, level) = (rule.trim().to_string(), level.trim().to_string());
    Fences::default().set(&rule, &level).map_err(|e| e.to_string())?;
    Ok(FenceLevel { rule, level })
}

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

pub(super) fn size(text: &str) -> Result<Size, String> {
    let side = |s: &str| s.trim().parse::<u32>().ok();
    let size = match text {
        "page" => Some(Size::Page),
        "slide" => Some(Size::Slide),
        _ => match text.split_once('x') {
            Some((w, h)) => side(w).zip(side(h)).map(|(w, h)| Size::Exact(w, h)),
            None => side(text).map(Size::Width),
        },
    };
    size.ok_or_else(|| "expected `page`, `slide`, a width, or a size as in 1600x900".to_string())
}

pub(super) fn mark(text: &str) -> Result<(u64, String), String> {
    let (cycle, label) = text.split_once('=').ok_or("expected CYCLE=TEXT, as in `4000=steady state`")?;
    let cycle = cycle.trim().replace(',', "").parse().map_err(|_| format!("`{cycle}` is no cycle"))?;
    Ok((cycle, label.trim().to_string()))
}

pub(super) fn frame(text: &str) -> Result<(u16, u16), String> {
    /// Far more than a terminal has, and little enough to hold.
    const MOST: u16 = 1000;
    let side = |s: &str| s.trim().parse::<u16>().ok().filter(|n| (1..=MOST).contains(n));
    let size = text.split_once('x').and_then(|(w, h)| Some((side(w)?, side(h)?)));
    size.ok_or_else(|| format!("expected a size in cells as in 80x24, up to {MOST}x{MOST}"))
}

/// A way for copies, by its word.
pub(super) fn via(word: &str) -> Result<Via, String> {
    let all: Vec<&str> = Via::all().map(Via::name).collect();
    Via::all().find(|v| v.name() == word).ok_or_else(|| format!("there are {}", all.join(", ")))
}

/// A schedule, by its word.
pub(super) fn schedule(word: &str) -> Result<Schedule, String> {
    let all: Vec<&str> = Schedule::all().map(Schedule::name).collect();
    Schedule::all().find(|v| v.name() == word).ok_or_else(|| format!("there are {}", all.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fence_levels() {
        let strict = FenceLevel { rule: "async-read".into(), level: "strict".into() };
        assert_eq!(fence("async-read = strict"), Ok(strict));
        for bad in ["async-read", "async-read=", "async=off", "tmem-wait=note"] {
            assert!(fence(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn settings() {
        assert_eq!(setting("m=4096"), Ok(Setting::Kernel("m".into(), 4096)));
        assert_eq!(setting("machine.memory.dram_gbps=1.5"), Ok(Setting::Machine("memory.dram_gbps".into(), 1.5)));
        for bad in ["m", "m=", "=1", "m=1.5", "m=4k", "machine.x=inf", "machine.x=NaN", "m=99999999999999999999"] {
            assert!(setting(bad).is_err(), "{bad}");
        }
        assert_eq!(size("1600x900"), Ok(Size::Exact(1600, 900)));
        assert_eq!(size("800"), Ok(Size::Width(800)));
        assert!(size("big").is_err() && size("9x").is_err());
    }
}
