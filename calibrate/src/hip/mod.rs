//! An AMD device: its runtime, loaded when the device is opened, and kernels compiled by ROCm's `hipcc`.
//!
//! ```text
//! driver.rs   the runtime and hiprtc: identity of the device, launches and clock under load
//! asked.rs    attributes and kernels for these
//! ```
//!
//! We have no such device: nothing here was ever run on one by us.

mod asked;
mod driver;

use std::path::PathBuf;

use warpline_sim::machine::Vendor;

use crate::accuracy::Timed;
use crate::device::{Device, DeviceError, Kernel, Listener, RECORDED};
use crate::measure::Measurements;
use crate::programs::{Programs, find};

use driver::Driver;

const PROBE: &str = include_str!("../../probes/cdna.hip");

/// An AMD device of this machine.
pub struct Hip {
    driver: Driver,
    programs: Programs,
}

impl Hip {
    /// Opens the device with an index. Sources and programs go to `folder`, which is removed at the end.
    ///
    /// # Errors
    /// No runtime, no such device, no compiler, or a device that is not CDNA.
    pub fn open(index: u32, folder: PathBuf) -> Result<Hip, DeviceError> {
        let driver = Driver::open(index)?;
        if !["gfx90a", "gfx942", "gfx950"].contains(&&*driver.arch) {
            return Err(DeviceError::Missing(
                format!(
                    "probes and kernels are written for CDNA 2 to 4 (gfx90a, gfx942, gfx950); {} is {}",
                    driver.name, driver.arch
                ),
                RECORDED.to_string(),
            ));
        }
        let Some(hipcc) = find("hipcc", &["ROCM_PATH", "HIP_PATH"], "/opt/rocm/bin") else {
            return Err(DeviceError::Missing(
                "there is no `hipcc` on the PATH, in ROCM_PATH or in /opt/rocm".to_string(),
                format!("install ROCm's compiler, or set ROCM_PATH to where it is; {RECORDED}"),
            ));
        };
        let arch = format!("--offload-arch={}", driver.arch);
        let visible = Some(("HIP_VISIBLE_DEVICES", index.to_string()));
        let programs = Programs::new(folder, hipcc, &["-O3", "-std=c++17", &arch], "hip", visible)?;
        Ok(Hip { driver, programs })
    }
}

impl Device for Hip {
    fn name(&self) -> String {
        format!("hip:{}, {}", self.driver.index, self.driver.name)
    }

    fn vendor(&self) -> Vendor {
        Vendor::Amd
    }

    fn warning(&self) -> Option<&'static str> {
        Some("warpline's authors have no AMD device: this driver, its probes and its kernels were never run by them")
    }

    fn probes(&self, listener: &dyn Listener) -> Result<Measurements, DeviceError> {
        listener.more(2);
        let said = self.driver.probes()?;
        listener.done();
        let all = said.join(self.programs.probe("cdna", PROBE)?);
        listener.done();
        Ok(all)
    }

    fn kernels(&self, kernels: &[Kernel], listener: &dyn Listener) -> Result<Vec<Timed>, DeviceError> {
        self.programs.kernels(kernels, listener, None)
    }

    fn trace(&self, kernel: &Kernel) -> Result<Option<String>, DeviceError> {
        self.programs.trace(kernel)
    }
}
