//! A CUDA device: its driver through cudarc, loaded when the device is opened, and kernels compiled by the toolkit's
//! `nvcc`.
//!
//! ```text
//! driver.rs   identity and attributes of the device, launches and clock under load, with the feature `cuda`
//! absent.rs   its replacement without the feature: cudarc is a large crate that most builds do not need
//! counters.rs counters of Nsight Compute
//! ```

mod counters;
#[cfg_attr(not(feature = "cuda"), path = "absent.rs")]
mod driver;

use std::path::{Path, PathBuf};

use warpline_sim::machine::Vendor;

use crate::accuracy::{Counted, Timed};
use crate::device::{Device, DeviceError, Kernel, Listener, RECORDED};
use crate::measure::Measurements;
use crate::programs::{Programs, find};

use driver::Driver;

/// The probes: name and text. Their header is next to them.
const PROBES: [(&str, &str); 2] =
    [("hopper", include_str!("../../probes/hopper.cu")), ("memory", include_str!("../../probes/memory.cu"))];
const HEADER: (&str, &str) = ("probe.cuh", include_str!("../../probes/probe.cuh"));

/// A CUDA device of this machine.
#[derive(Debug)]
pub struct Cuda {
    driver: Driver,
    programs: Programs,
    /// Nsight Compute, if installed.
    ncu: Option<PathBuf>,
}

impl Cuda {
    /// Opens the device with an index. Sources and programs go to `folder`, which is removed at the end.
    ///
    /// # Errors
    /// No driver, no such device, or no compiler.
    pub fn open(index: u32, folder: PathBuf) -> Result<Cuda, DeviceError> {
        let driver = Driver::open(index)?;
        let program = |name: &str| find(name, &["CUDA_HOME", "CUDA_PATH"], "/usr/local/cuda/bin");
        let Some(nvcc) = program("nvcc") else {
            return Err(DeviceError::Missing(
                "there is no `nvcc` on the PATH, in CUDA_HOME or in /usr/local/cuda".to_string(),
                format!("install the CUDA toolkit, or set CUDA_HOME to where it is; {RECORDED}"),
            ));
        };
        let code = format!("arch=compute_{0},code=sm_{0}", driver.arch());
        let visible = Some(("CUDA_VISIBLE_DEVICES", index.to_string()));
        let programs = Programs::new(folder, nvcc, &["-O2", "-std=c++17", "-gencode", &code], "cu", visible)?;
        Ok(Cuda { driver, programs, ncu: program("ncu") })
    }

    /// Counts the fourth launch of a kernel, with caches flushed before it.
    fn count(&self, ncu: &Path, program: &Path) -> Result<Counted, String> {
        let mut c = std::process::Command::new(ncu);
        c.args(["--clock-control", "none", "-k", "regex:^kernel$", "--launch-skip", "3", "--launch-count", "1"])
            .args(["--metrics", &counters::METRICS.join(","), "--csv", "--page", "raw"])
            .arg(program)
            .args(["--time", "1"]);
        counters::read(&self.programs.output(&mut c)?)
    }
}

impl Device for Cuda {
    fn name(&self) -> String {
        format!("cuda:{}, {}", self.driver.index(), self.driver.name())
    }

    fn vendor(&self) -> Vendor {
        Vendor::Nvidia
    }

    fn probes(&self, listener: &dyn Listener) -> Result<Measurements, DeviceError> {
        if self.driver.arch() != "90a" {
            return Err(DeviceError::Missing(
                format!("the probes are written for sm_90a; {} is sm_{}", self.driver.name(), self.driver.arch()),
                "its number can be set in a machine file by hand; `--device recorded` replays those of an H200"
                    .to_string(),
            ));
        }
        let (name, text) = HEADER;
        self.programs.put(name, text).map_err(|why| DeviceError::Probe { probe: name.to_string(), why })?;
        listener.more(PROBES.len() + 1);
        let mut all = self.driver.probes()?;
        listener.done();
        for (probe, text) in PROBES {
            all = all.join(self.programs.probe(probe, text)?);
            listener.done();
        }
        Ok(all)
    }

    fn kernels(&self, kernels: &[Kernel], listener: &dyn Listener) -> Result<Vec<Timed>, DeviceError> {
        match &self.ncu {
            Some(ncu) => self.programs.kernels(kernels, listener, Some(&|program| self.count(ncu, program))),
            None => self.programs.kernels(kernels, listener, None),
        }
    }

    fn trace(&self, kernel: &Kernel) -> Result<Option<String>, DeviceError> {
        self.programs.trace(kernel)
    }
}
