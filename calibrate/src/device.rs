//! Devices that answer with measurements.

use std::path::PathBuf;
use std::process::Command;

use crate::measure::{BadRow, Measurements};

/// Why a device gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// There is no such device here, or not what is needed to use it.
    #[error("{0}")]
    Missing(String),
    /// A probe did not run to its end.
    #[error("the probe `{probe}` failed: {why}")]
    Probe {
        /// Which.
        probe: String,
        /// What it said.
        why: String,
    },
    /// A probe printed something else than measurements.
    #[error("the probe `{probe}` is not understood: {why}")]
    Row {
        /// Which.
        probe: String,
        /// The line.
        why: BadRow,
    },
}

/// Something that runs probes, or ran them once.
pub trait Device {
    /// A name for people.
    fn name(&self) -> String;

    /// The day of the measurements, where it is not today.
    fn date(&self) -> Option<&'static str> {
        None
    }

    /// Runs all probes.
    ///
    /// # Errors
    /// When there is no device, or a probe fails.
    fn probes(&self) -> Result<Measurements, DeviceError>;
}

/// The probes: name, and text with its header.
const PROBES: [(&str, &str); 2] =
    [("hopper", include_str!("../probes/hopper.cu")), ("memory", include_str!("../probes/memory.cu"))];
const HEADER: (&str, &str) = ("probe.cuh", include_str!("../probes/probe.cuh"));

/// What was measured on one H200, replayed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recorded;

impl Device for Recorded {
    fn name(&self) -> String {
        "recorded: one NVIDIA H200".to_string()
    }

    fn date(&self) -> Option<&'static str> {
        Some("2026-11-21")
    }

    fn probes(&self) -> Result<Measurements, DeviceError> {
        let read = |probe: &str, text| {
            Measurements::parse(text).map_err(|why| DeviceError::Row { probe: probe.to_string(), why })
        };
        let all = read("hopper", include_str!("../data/h200_probes.csv"))?;
        Ok(all.join(read("memory", include_str!("../data/h200_memory.csv"))?))
    }
}

/// A CUDA device, by way of its toolkit: the probes are compiled with `nvcc` and started as programs of their own, so that
/// nothing of CUDA is part of warpline, and a probe that hangs or faults ends alone.
#[derive(Clone, Debug)]
pub struct Nvcc {
    /// Index of the device.
    pub index: u32,
    /// Where sources and programs are put.
    pub folder: PathBuf,
}

impl Nvcc {
    /// Compiles one probe and runs it.
    fn run(&self, probe: &str, text: &str) -> Result<Measurements, DeviceError> {
        let failed = |why: String| DeviceError::Probe { probe: probe.to_string(), why };
        let (source, program) = (self.folder.join(format!("{probe}.cu")), self.folder.join(probe));
        std::fs::write(&source, text).map_err(|e| failed(format!("cannot write `{}`: {e}", source.display())))?;
        let mut compile = Command::new("nvcc");
        compile
            .args(["-O2", "-std=c++17", "-gencode", "arch=compute_90a,code=sm_90a", "-o"])
            .arg(&program)
            .arg(&source);
        let done = compile.output().map_err(|e| missing(&e.to_string()))?;
        if !done.status.success() {
            return Err(failed(String::from_utf8_lossy(&done.stderr).trim().to_string()));
        }
        let ran = Command::new(&program)
            .env("CUDA_VISIBLE_DEVICES", self.index.to_string())
            .output()
            .map_err(|e| failed(e.to_string()))?;
        if !ran.status.success() {
            return Err(failed(String::from_utf8_lossy(&ran.stderr).trim().to_string()));
        }
        Measurements::parse(&String::from_utf8_lossy(&ran.stdout))
            .map_err(|why| DeviceError::Row { probe: probe.to_string(), why })
    }
}

fn missing(why: &str) -> DeviceError {
    DeviceError::Missing(format!(
        "there is no `nvcc` to compile the probes with ({why}); install the CUDA toolkit on the machine with the device, or \
         take what was recorded: --device recorded"
    ))
}

impl Device for Nvcc {
    fn name(&self) -> String {
        format!("cuda:{}", self.index)
    }

    fn probes(&self) -> Result<Measurements, DeviceError> {
        Command::new("nvcc").arg("--version").output().map_err(|e| missing(&e.to_string()))?;
        let (name, text) = HEADER;
        std::fs::create_dir_all(&self.folder)
            .and_then(|()| std::fs::write(self.folder.join(name), text))
            .map_err(|e| DeviceError::Missing(format!("cannot write in `{}`: {e}", self.folder.display())))?;
        PROBES.iter().try_fold(Measurements::default(), |all, (probe, text)| {
            let one = self.run(probe, text)?;
            let device = one.device.clone();
            Ok(Measurements { device, ..all.join(one) })
        })
    }
}
