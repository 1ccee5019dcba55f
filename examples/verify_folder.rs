//! Verifies every scenario below a folder, and draws no terminal: the verdicts are data.
//!
//! ```text
//! $ cargo run --example verify_folder scenarios/mla
//! decode: proved
//! fused_kv: violated
//!   line 27: WL0801 range: uses part 2 of 2
//! fused_kv_fixed: proved
//! proj_k16: violated
//!   line 28: WL0107 WAW race: writes stage; nothing orders it after the other write
//! proj_k16_fixed: proved
//! proj_k32: violated
//!   line 28: WL0107 WAW race: writes stage; nothing orders it after the other write
//! proj_k32_fixed: proved
//! rope: proved
//! rope_fixed: proved
//! status 1
//! ```

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;

use warpline_api::{Collection, Position, ProofOptions, Request, outcome_word, verify_all};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "scenarios/mla".to_string());
    example(&folder, &mut io::stdout())
}

/// The example; a test compares its output with the header of this file.
pub fn example(folder: &str, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let scenarios = Collection::find(&[folder.to_string()]);
    let all = verify_all(scenarios, &Request::named(""), &ProofOptions::default(), &|_progress| {});
    for entry in &all.entries {
        let name = Path::new(&entry.name).file_stem().unwrap_or_default().to_string_lossy();
        match &entry.result {
            Err(error) => writeln!(out, "{name}: {error}")?,
            Ok(v) => {
                writeln!(out, "{name}: {}", outcome_word(&v.verdict.outcome))?;
                let Some(violation) = &v.verdict.violation else { continue };
                // The first finding is the fault; others often follow from it.
                for finding in violation.findings.iter().take(1) {
                    let Some(d) = v.subject.diagnostic(finding, &violation.sites) else { continue };
                    let text = v.subject.sources.get(&d.file).map_or("", String::as_str);
                    writeln!(out, "  line {}: {}", Position::of(text, d.span.start).line, d.message)?;
                }
            }
        }
    }
    writeln!(out, "status {}", all.status().code())?;
    Ok(())
}
