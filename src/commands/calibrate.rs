//! `warpline calibrate`.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use warpline_calibrate::fit::{FitEffect, fate, fit};
use warpline_calibrate::machine_file;

use crate::cli::Calibrate;
use crate::console::Console;
use crate::device::{self, DeviceBar};
use crate::output;
use warpline_api::{Error, MachineFile, Status};

pub(super) fn calibrate(args: &Calibrate, console: &mut Console) -> Result<Status, Error> {
    let device = device::open(&args.device, console)?;
    let MachineFile { machine, text } = device::machine(&*device, args.machine.as_deref())?;
    let bar = DeviceBar::start(console, &*device);
    let measured = device.probes(&bar).map_err(device::refused)?;
    drop(bar);
    let fitted = fit(&machine, &measured);
    let mut table = format!("{} into {}\n{}\n\n", device.name(), machine.name, measured.device);
    let _ = writeln!(table, "{:<24}{:>12}{:>12}{:>26}  kept", "", "was", "measured", "spread");
    for f in &fitted {
        let was = machine.params.get(f.key).map_or("-".to_string(), |p| digits(p.value));
        let kept = match fate(&machine, f) {
            FitEffect::Replaced => "",
            FitEffect::Added => "new",
            FitEffect::Documented => "the documented number",
        };
        let spread = format!("{} to {}", digits(f.spread.0), digits(f.spread.1));
        let row = format!("{:<24}{was:>12}{:>12}{spread:>26}  {kept}", f.key, digits(f.value));
        let _ = writeln!(table, "{}", row.trim_end());
    }
    if let Some(path) = &args.record {
        output::write(console, path, measured.text().as_bytes())?;
    }
    if let Some(path) = &args.output {
        let date = device.date().map_or_else(today, str::to_string);
        output::write(console, path, machine_file::rewrite(&text, &machine, &fitted, &date).as_bytes())?;
    }
    console.print(&table)?;
    Ok(Status::Holds)
}

/// A number with two decimals, or none for a large whole number.
fn digits(v: f64) -> String {
    if v.fract() == 0.0 && v.abs() >= 1000.0 { format!("{v:.0}") } else { format!("{v:.2}") }
}

/// Today's date, as 2026-11-21.
fn today() -> String {
    let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs() / 86_400) as i64;
    // The civil calendar of 400 years is 146,097 days; years begin in March.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day = z.rem_euclid(146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (d, m) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    format!("{:04}-{m:02}-{d:02}", era * 400 + year + (m <= 2) as i64)
}
