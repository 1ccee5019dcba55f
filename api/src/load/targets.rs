//! Machines for the targets of compiled kernels.

use warpline_import::ptx::{Entry, Module};
use warpline_sim::engine::supported;
use warpline_sim::machine::Machine;
use warpline_sim::report::RunError;

use crate::error::Error;
use crate::request::Request;

use super::library::{Library, Place};
use super::ptx::{CompiledKernel, of_text};

/// The built-in machines of targets, oldest first.
const LATER: [&str; 3] = ["a100", "h200", "b200"];

/// The built-in machine for a target.
fn machine_of(target: &str) -> &'static str {
    let number: u32 = target
        .trim_start_matches("sm_")
        .chars()
        .take_while(char::is_ascii_digit)
        .collect::<String>()
        .parse()
        .unwrap_or(0);
    match number {
        0..90 => "a100",
        90..100 => "h200",
        _ => "b200",
    }
}

/// A machine, and the assumption that it needs.
pub(super) type Chosen = (Machine, Option<(String, u32)>);

/// The built-in machine for a kernel. A target without a suffix runs on later GPUs, too. A kernel may have more shared
/// memory than its own GPU has, or instructions that the GPU lacks. It is then one for the first later GPU that has them.
/// The compiler passes inline assembly on without a look at the target.
pub(super) fn usual_machine(library: &mut Library, kernel: &CompiledKernel) -> Result<Chosen, Error> {
    let program = &kernel.lifted.program;
    let first = machine_of(&kernel.target);
    let later = LATER.iter().skip_while(|m| **m != first).skip(1);
    let later = later.filter(|_| kernel.target.ends_with(|c: char| c.is_ascii_digit()));
    let mut lacks = None;
    for name in std::iter::once(&first).chain(later) {
        let model = library.machine(&Place::WorkingFolder, name)?;
        let fits = model.get("limit.shared_per_cta").is_some_and(|most| program.shared_bytes() as f64 <= most);
        match supported(program, &model) {
            Err(RunError::Unsupported { message, site: Some(site) }) => {
                let target = &kernel.target;
                let what = format!("the text is for a later target than {target}: {message}");
                lacks = lacks.or(Some((what, program.sites.get(site as usize).map_or(0, |s| s.line))));
            }
            _ if fits => return Ok((model, lacks)),
            _ => {}
        }
    }
    Ok((library.machine(&Place::WorkingFolder, first)?, None))
}

/// The error for a launch with more shared memory than the machine has. A kernel that is not read may be one: its slots
/// lie where no descriptor of a product reaches.
pub(super) fn too_large(request: &Request) -> Option<Error> {
    of_text(request, |module, entry, launch| {
        let bytes = declared_shared(module, entry) + u64::from(launch.shared?);
        // A target without a suffix runs on later GPUs.
        let later = module.target.ends_with(|c: char| c.is_ascii_digit());
        let usual = if later { LATER[LATER.len() - 1] } else { machine_of(&module.target) };
        let name = request.machine.as_deref().unwrap_or(usual);
        let model = Library::default().machine(&Place::WorkingFolder, name).ok()?;
        let most = model.get("limit.shared_per_cta")?;
        let words = || format!("a CTA needs {bytes} bytes of shared memory; {} gives one at most {most}", model.name);
        (bytes as f64 > most).then(|| Error::new(words()))
    })?
}

/// Bytes of shared memory that the text declares for an entry.
pub(super) fn declared_shared(module: &Module, entry: &Entry) -> u64 {
    module.shared.iter().chain(&entry.shared).map(|v| v.bytes).sum()
}
