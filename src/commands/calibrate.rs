//! `warpline calibrate`.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use warpline_calibrate::fit::{Fate, fate, fit};
use warpline_calibrate::{Device, Nvcc, Recorded, machine_file};

use crate::cli::Calibrate;
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::{load, output};

pub(super) fn calibrate(args: &Calibrate, console: &mut Console) -> Result<Status, Failure> {
    let (machine, text) = load::machine_file(&args.machine)?;
    let device = device(&args.device)?;
    let measured = device.probes().map_err(|e| Failure::new(e.to_string()))?;
    let fitted = fit(&machine, &measured);
    let mut table = format!("{} into {}\n{}\n\n", device.name(), machine.name, measured.device);
    let _ = writeln!(table, "{:<24}{:>10}{:>10}{:>20}  kept", "", "was", "measured", "spread");
    for f in &fitted {
        let was = machine.params.get(f.key).map_or("-".to_string(), |p| format!("{:.2}", p.value));
        let kept = match fate(&machine, f) {
            Fate::Replaced => "",
            Fate::Added => "new",
            Fate::Documented => "the documented number",
        };
        let spread = format!("{:.2} to {:.2}", f.spread.0, f.spread.1);
        let _ =
            writeln!(table, "{}", format!("{:<24}{was:>10}{:>10.2}{spread:>20}  {kept}", f.key, f.value).trim_end());
    }
    if let Some(path) = &args.output {
        let date = device.date().map_or_else(today, str::to_string);
        output::write(console, path, machine_file::rewrite(&text, &machine, &fitted, &date).as_bytes())?;
    }
    console.print(&table)?;
    Ok(Status::Holds)
}

fn device(name: &str) -> Result<Box<dyn Device>, Failure> {
    if name == "recorded" {
        return Ok(Box::new(Recorded));
    }
    if let Some(index) = name.strip_prefix("cuda:").and_then(|n| n.parse().ok()) {
        let folder = std::env::temp_dir().join(format!("warpline-calibrate-{}", std::process::id()));
        return Ok(Box::new(Nvcc { index, folder }));
    }
    Err(Failure::with_help(
        format!("there is no device `{name}`"),
        "`recorded` is what was measured on one H200, `cuda:0` the first CUDA device here; Metal and HIP are not written yet",
    ))
}

/// The day, as 2026-11-21.
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
