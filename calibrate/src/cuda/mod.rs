//! A CUDA device: its driver through cudarc, loaded when the device is opened, and kernels compiled by the toolkit's `nvcc`.
//!
//! ```text
//! driver.rs   which device it is, what it says of itself, launches and its clock under load, by the driver
//! toolkit.rs  nvcc and ncu: where they are, what they say
//! counters.rs what Nsight Compute counts of a kernel
//! ```
//!
//! Probes and emitted kernels are programs of their own, each with its `main`: one that hangs or faults ends alone.

mod counters;
mod driver;
mod toolkit;

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::accuracy::Timed;
use crate::device::{Device, DeviceError, Kernel, Listener};
use crate::measure::Measurements;
use crate::pace;

use driver::Driver;
use toolkit::Toolkit;

/// The probes: name, and text. Their header is beside them.
const PROBES: [(&str, &str); 2] =
    [("hopper", include_str!("../../probes/hopper.cu")), ("memory", include_str!("../../probes/memory.cu"))];
const HEADER: (&str, &str) = ("probe.cuh", include_str!("../../probes/probe.cuh"));
/// Launches of a kernel in a round.
const LAUNCHES: &str = "15";
/// Cycles of the first CTA that a trace keeps.
const SHOWN: u64 = 12_000;

/// A CUDA device of this machine.
#[derive(Debug)]
pub struct Cuda {
    driver: Driver,
    toolkit: Toolkit,
    folder: PathBuf,
}

impl Cuda {
    /// Opens the device with an index; sources and programs go to `folder`, which is removed in the end.
    ///
    /// # Errors
    /// When there is no driver, no such device, or no compiler.
    pub fn open(index: u32, folder: PathBuf) -> Result<Cuda, DeviceError> {
        let driver = Driver::open(index)?;
        let toolkit = Toolkit::find(index)?;
        std::fs::create_dir_all(&folder).map_err(|e| {
            let why = format!("cannot make the folder `{}`: {e}", folder.display());
            DeviceError::Missing(why, "set TMPDIR to a folder that can be written".to_string())
        })?;
        Ok(Cuda { driver, toolkit, folder })
    }

    fn put(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.folder.join(name);
        std::fs::write(&path, text).map_err(|e| format!("cannot write `{}`: {e}", path.display()))?;
        Ok(path)
    }

    fn probe(&self, probe: &str, text: &str) -> Result<Measurements, DeviceError> {
        let failed = |why: String| DeviceError::Probe { probe: probe.to_string(), why };
        let source = self.put(&format!("{probe}.cu"), text).map_err(failed)?;
        let program = self.toolkit.compile(&source, probe, &self.driver.arch, &[]).map_err(failed)?;
        let said = self.toolkit.run(&program, &[]).map_err(failed)?;
        Measurements::parse(&said).map_err(|why| DeviceError::Row { probe: probe.to_string(), why })
    }

    /// The programs of a kernel: as it is, and with stamps on its products.
    fn compile(&self, k: &Kernel) -> Result<[PathBuf; 2], DeviceError> {
        let failed = |why: String| DeviceError::Kernel { kernel: k.case.clone(), why };
        let text = k.source.as_deref().ok_or_else(|| failed("it came without its text".to_string()))?;
        let source = self.put(&format!("{}.cu", k.case), text).map_err(failed)?;
        let program = |suffix: &str, flags: &[&str]| {
            let name = format!("{}.{suffix}", k.case);
            self.toolkit.compile(&source, &name, &self.driver.arch, flags).map_err(failed)
        };
        Ok([program("x", &[])?, program("pace", &["-DWL_STAMP", "-DWL_PACE"])?])
    }

    /// One round of launches with cold caches.
    fn round(&self, k: &Kernel, program: &Path) -> Result<Timed, DeviceError> {
        let failed = |why: String| DeviceError::Kernel { kernel: k.case.clone(), why };
        let said = self.toolkit.run(program, &["--time", LAUNCHES, "--cold"]).map_err(failed)?;
        Timed::of_harness(&k.case, said.lines().last().unwrap_or_default()).map_err(failed)
    }

    /// Cycles from product to product, as the kernel itself notes them.
    fn pace(&self, k: &Kernel, program: &Path) -> Result<Option<f64>, DeviceError> {
        let failed = |why: String| DeviceError::Kernel { kernel: k.case.clone(), why };
        let path = self.folder.join(format!("{}.csv", k.case));
        self.toolkit.run(program, &["--time", "1", "--cold", "--trace", &path.to_string_lossy()]).map_err(failed)?;
        let text = std::fs::read_to_string(&path).map_err(|e| failed(e.to_string()))?;
        Ok(pace::of_stamps(&text))
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // What is left behind in a folder for temporary files does no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Device for Cuda {
    fn name(&self) -> String {
        format!("cuda:{}, {}", self.driver.index, self.driver.name)
    }

    fn probes(&self, listener: &dyn Listener) -> Result<Measurements, DeviceError> {
        if self.driver.arch != "90a" {
            return Err(DeviceError::Missing(
                format!("the probes are written for sm_90a; {} is sm_{}", self.driver.name, self.driver.arch),
                "its number can be set in a machine file by hand; `--device recorded` replays those of an H200"
                    .to_string(),
            ));
        }
        let (name, text) = HEADER;
        self.put(name, text).map_err(|why| DeviceError::Probe { probe: name.to_string(), why })?;
        listener.more(PROBES.len() + 1);
        let mut all = self.driver.probes()?;
        listener.done();
        for (probe, text) in PROBES {
            all = all.join(self.probe(probe, text)?);
            listener.done();
        }
        Ok(all)
    }

    fn kernels(&self, kernels: &[Kernel], listener: &dyn Listener) -> Result<Vec<Timed>, DeviceError> {
        let counters = self.toolkit.counters();
        listener.more(kernels.len() * (4 + counters as usize));
        let compile = |k: &Kernel| self.compile(k).inspect(|_| listener.done());
        let programs: Vec<[PathBuf; 2]> = kernels.par_iter().map(compile).collect::<Result<_, _>>()?;
        let round = || -> Result<Vec<Timed>, DeviceError> {
            kernels.iter().zip(&programs).map(|(k, p)| self.round(k, &p[0]).inspect(|_| listener.done())).collect()
        };
        // Two rounds, with all other kernels between them.
        let first = round()?;
        let again = round()?;
        let mut all: Vec<Timed> = first.into_iter().zip(&again).map(|(t, a)| t.with_round(a)).collect();
        for ((t, k), p) in all.iter_mut().zip(kernels).zip(&programs) {
            t.pace = self.pace(k, &p[1])?;
            listener.done();
            if counters {
                let failed = |why: String| DeviceError::Kernel { kernel: k.case.clone(), why };
                t.counted = Some(self.toolkit.count(&p[0]).map_err(failed)?);
                listener.done();
            }
        }
        Ok(all)
    }

    fn trace(&self, k: &Kernel) -> Result<Option<String>, DeviceError> {
        let failed = |why: String| DeviceError::Kernel { kernel: k.case.clone(), why };
        let source = self.folder.join(format!("{}.cu", k.case));
        let program = self.toolkit.compile(&source, &format!("{}.stamps", k.case), &self.driver.arch, &["-DWL_STAMP"]);
        let path = self.folder.join(format!("{}.stamps.csv", k.case));
        let args = ["--time", "1", "--cold", "--trace", &path.to_string_lossy()];
        self.toolkit.run(&program.map_err(failed)?, &args).map_err(failed)?;
        let text = std::fs::read_to_string(&path).map_err(|e| failed(e.to_string()))?;
        // How the first CTA begins; the rest is more of the same.
        let keep = |l: &&str| {
            let mut f = l.split(',');
            let (cta, start) = (f.next(), f.nth(3));
            cta == Some("cta")
                || (cta == Some("0") && start.and_then(|s| s.parse().ok()).is_some_and(|s: u64| s < SHOWN))
        };
        Ok(Some(text.lines().filter(keep).map(|l| format!("{l}\n")).collect()))
    }
}
