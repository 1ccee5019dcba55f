//! Probes and kernels as separate programs, so that one that hangs or faults ends alone.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rayon::prelude::*;

use crate::accuracy::{Counted, Timed};
use crate::device::{DeviceError, Kernel, Listener};
use crate::measure::Measurements;
use crate::pace;

/// Launches of a kernel in a round.
pub(crate) const LAUNCHES: &str = "15";
/// Cycles of the first CTA that a trace keeps.
const SHOWN: u64 = 12_000;

/// A folder of sources and programs, removed at the end, with their compiler.
#[derive(Debug)]
pub(crate) struct Programs {
    folder: PathBuf,
    compiler: PathBuf,
    flags: Vec<String>,
    /// Extension of a source.
    ending: &'static str,
    /// The variable that selects the visible device, with its value.
    visible: Option<(&'static str, String)>,
}

/// A function that counts a program's kernel with a profiler.
pub(crate) type Count<'a> = &'a dyn Fn(&Path) -> Result<Counted, String>;

impl Programs {
    /// A folder with a compiler that was found.
    pub(crate) fn new(
        folder: PathBuf,
        compiler: PathBuf,
        flags: &[&str],
        ending: &'static str,
        visible: Option<(&'static str, String)>,
    ) -> Result<Programs, DeviceError> {
        std::fs::create_dir_all(&folder).map_err(|e| {
            let why = format!("cannot make the folder `{}`: {e}", folder.display());
            DeviceError::Missing(why, "set TMPDIR to a folder that can be written".to_string())
        })?;
        let flags = flags.iter().map(|f| f.to_string()).collect();
        Ok(Programs { folder, compiler, flags, ending, visible })
    }

    /// Writes a file.
    pub(crate) fn put(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.folder.join(name);
        std::fs::write(&path, text).map_err(|e| format!("cannot write `{}`: {e}", path.display()))?;
        Ok(path)
    }

    /// Compiles a source to a program beside it.
    pub(crate) fn compile(&self, source: &Path, name: &str, flags: &[&str]) -> Result<PathBuf, String> {
        let out = source.with_file_name(name);
        let mut c = Command::new(&self.compiler);
        c.args(&self.flags).args(flags).arg("-o").arg(&out).arg(source);
        let done = c.output().map_err(|e| format!("cannot start `{}`: {e}", self.compiler.display()))?;
        if done.status.success() { Ok(out) } else { Err(said(&done)) }
    }

    /// Runs a program and returns its output.
    pub(crate) fn run(&self, program: &Path, args: &[&str]) -> Result<String, String> {
        self.output(Command::new(program).args(args))
    }

    /// Runs a command that sees the device, and returns its output.
    pub(crate) fn output(&self, c: &mut Command) -> Result<String, String> {
        let done = c.envs(self.visible.iter().map(|(k, v)| (k, v))).output().map_err(|e| e.to_string())?;
        if done.status.success() { Ok(String::from_utf8_lossy(&done.stdout).into_owned()) } else { Err(said(&done)) }
    }

    /// Compiles and runs a probe.
    pub(crate) fn probe(&self, probe: &str, text: &str) -> Result<Measurements, DeviceError> {
        let failed = |why: String| DeviceError::Probe { probe: probe.to_string(), why };
        let source = self.put(&format!("{probe}.{}", self.ending), text).map_err(failed)?;
        let program = self.compile(&source, probe, &[]).map_err(failed)?;
        let said = self.run(&program, &[]).map_err(failed)?;
        Measurements::parse(&said).map_err(|why| DeviceError::Row { probe: probe.to_string(), why })
    }

    /// Times kernels that contain their harness, as those of CUDA and HIP do.
    pub(crate) fn kernels(
        &self,
        kernels: &[Kernel],
        listener: &dyn Listener,
        count: Option<Count<'_>>,
    ) -> Result<Vec<Timed>, DeviceError> {
        listener.more(kernels.len() * (4 + count.is_some() as usize));
        let compile = |k: &Kernel| self.pair(k).inspect(|_| listener.done());
        let programs: Vec<[PathBuf; 2]> = kernels.par_iter().map(compile).collect::<Result<_, _>>()?;
        let round = || -> Result<Vec<Timed>, DeviceError> {
            kernels.iter().zip(&programs).map(|(k, p)| self.round(k, &p[0]).inspect(|_| listener.done())).collect()
        };
        let mut all = two_rounds(round)?;
        for ((t, k), p) in all.iter_mut().zip(kernels).zip(&programs) {
            t.pace = self.pace(k, &p[1])?;
            listener.done();
            if let Some(count) = count {
                t.counted = Some(count(&p[0]).map_err(|why| k.failed(why))?);
                listener.done();
            }
        }
        Ok(all)
    }

    /// The programs of a kernel: without and with stamps on its products.
    fn pair(&self, k: &Kernel) -> Result<[PathBuf; 2], DeviceError> {
        let source = self.put(&format!("{}.{}", k.case, self.ending), k.text()?).map_err(|why| k.failed(why))?;
        let program = |suffix: &str, flags: &[&str]| {
            self.compile(&source, &format!("{}.{suffix}", k.case), flags).map_err(|why| k.failed(why))
        };
        Ok([program("x", &[])?, program("pace", &["-DWL_STAMP", "-DWL_PACE"])?])
    }

    /// One round of launches with cold caches.
    fn round(&self, k: &Kernel, program: &Path) -> Result<Timed, DeviceError> {
        let said = self.run(program, &["--time", LAUNCHES, "--cold"]).map_err(|why| k.failed(why))?;
        Timed::of_harness(&k.case, said.lines().last().unwrap_or_default()).map_err(|why| k.failed(why))
    }

    /// Cycles from product to product, from the kernel's own record.
    fn pace(&self, k: &Kernel, program: &Path) -> Result<Option<f64>, DeviceError> {
        Ok(pace::of_stamps(&self.stamps(k, program, "csv")?))
    }

    /// The record of one launch with cold caches.
    fn stamps(&self, k: &Kernel, program: &Path, suffix: &str) -> Result<String, DeviceError> {
        let path = self.folder.join(format!("{}.{suffix}", k.case));
        let args = ["--time", "1", "--cold", "--trace", &path.to_string_lossy()];
        self.run(program, &args).map_err(|why| k.failed(why))?;
        std::fs::read_to_string(&path).map_err(|e| k.failed(e.to_string()))
    }

    /// Begin and end of the operations of the first CTA of a timed kernel.
    pub(crate) fn trace(&self, k: &Kernel) -> Result<Option<String>, DeviceError> {
        let source = self.folder.join(format!("{}.{}", k.case, self.ending));
        let program = self.compile(&source, &format!("{}.stamps", k.case), &["-DWL_STAMP"]);
        let text = self.stamps(k, &program.map_err(|why| k.failed(why))?, "stamps.csv")?;
        // The start of the first CTA; the rest repeats.
        let keep = |l: &&str| {
            let mut f = l.split(',');
            let (cta, start) = (f.next(), f.nth(3));
            cta == Some("cta")
                || (cta == Some("0") && start.and_then(|s| s.parse().ok()).is_some_and(|s: u64| s < SHOWN))
        };
        Ok(Some(text.lines().filter(keep).map(|l| format!("{l}\n")).collect()))
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        // Files left in a temporary folder do no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Two rounds of all kernels, so that all others run between the two of one.
pub(crate) fn two_rounds(round: impl Fn() -> Result<Vec<Timed>, DeviceError>) -> Result<Vec<Timed>, DeviceError> {
    let first = round()?;
    let again = round()?;
    Ok(first.into_iter().zip(&again).map(|(t, a)| t.with_round(a)).collect())
}

/// The end of a failed program's output.
fn said(done: &Output) -> String {
    let (err, out) = (String::from_utf8_lossy(&done.stderr), String::from_utf8_lossy(&done.stdout));
    let lines: Vec<&str> = out.lines().chain(err.lines()).filter(|l| !l.trim().is_empty()).collect();
    let end = lines[lines.len().saturating_sub(6)..].join("\n");
    if end.is_empty() { done.status.to_string() } else { end }
}

/// Looks for a program on the PATH, in `bin` of the folders that variables name, and in its default place.
pub(crate) fn find(name: &str, homes: &[&str], usual: &str) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let homes = homes.iter().filter_map(std::env::var_os).map(|h| PathBuf::from(h).join("bin"));
    let usual = std::iter::once(PathBuf::from(usual));
    std::env::split_paths(&path).chain(homes).chain(usual).map(|d| d.join(&name)).find(|p| p.is_file())
}
