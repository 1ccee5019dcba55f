//! An Apple GPU: probes through Metal's interface, emitted kernels through the program emitted with them.
//!
//! ```text
//! driver.rs   the device through objc2-metal, on macOS; absent.rs elsewhere
//! probes.rs   launches, and the rows that follow from their times
//! ```
//!
//! We have no such machine: nothing here was ever run by us, and Metal's compiler has not seen the probes.

#[cfg_attr(not(target_os = "macos"), path = "absent.rs")]
mod driver;
mod probes;

use std::path::PathBuf;
use std::time::Instant;

use warpline_sim::machine::Vendor;

use crate::accuracy::Timed;
use crate::device::{Device, DeviceError, Kernel, Listener};
use crate::measure::{Measurement, Measurements};
use crate::programs::{LAUNCHES, Programs, find, two_rounds};

use driver::Driver;
use probes::{PROBES, Probe, chained, row};

const REPEATS: usize = 21;
const LAUNCH: &str = "launch.buffer";

/// Whether there is a row of that name.
#[cfg(test)]
pub(crate) fn measures(name: &str, parameter: f64) -> bool {
    name == LAUNCH && parameter == 1.0 || PROBES.iter().any(|p| p.name == name && p.parameter == parameter)
}

/// A Metal device of this machine.
#[derive(Debug)]
pub struct Metal {
    driver: Driver,
    folder: PathBuf,
}

impl Metal {
    /// Opens the device with an index. Sources and programs go to `folder`, which is removed at the end.
    ///
    /// # Errors
    /// No Mac, or no such device.
    pub fn open(index: u32, folder: PathBuf) -> Result<Metal, DeviceError> {
        Ok(Metal { driver: Driver::open(index)?, folder })
    }

    fn probe(&self, p: &Probe) -> Result<Measurement, DeviceError> {
        if p.chain_kb > 0 {
            self.driver.fill(&chained(p.chain_kb));
        }
        let time = |turns| self.driver.time(p.kernel, [p.simdgroups, p.threadgroups], turns);
        let pair = || Ok((time(p.turns[0])?, time(p.turns[1])?));
        // The first is a warm-up.
        pair()?;
        Ok(row(p, &(0..REPEATS).map(|_| pair()).collect::<Result<Vec<_>, _>>()?))
    }

    /// Microseconds from submitting an empty kernel until it is known to be done.
    fn launches(&self) -> Result<Measurement, DeviceError> {
        let launch = || {
            let from = Instant::now();
            self.driver.time("nothing", [1, 1], 0).map(|_| from.elapsed().as_secs_f64() * 1e6)
        };
        launch()?;
        let mut all = (0..REPEATS).map(|_| launch()).collect::<Result<Vec<_>, _>>()?;
        Ok(Measurement::of(LAUNCH, "us", &mut all))
    }
}

impl Device for Metal {
    fn name(&self) -> String {
        format!("metal:{}, {}", self.driver.index(), self.driver.name())
    }

    fn vendor(&self) -> Vendor {
        Vendor::Apple
    }

    fn warning(&self) -> Option<&'static str> {
        Some("warpline's authors have no Apple machine: this driver, its probes and its kernels were never run by them")
    }

    fn probes(&self, listener: &dyn Listener) -> Result<Measurements, DeviceError> {
        listener.more(PROBES.len() + 1);
        self.driver.prepare(include_str!("../../probes/apple.metal"))?;
        let mut rows = vec![self.launches()?];
        listener.done();
        for p in PROBES {
            rows.push(self.probe(p)?);
            listener.done();
        }
        let device = format!("{}, times of launches on {}", self.driver.name(), std::env::consts::OS);
        Ok(Measurements { device, rows })
    }

    fn kernels(&self, kernels: &[Kernel], listener: &dyn Listener) -> Result<Vec<Timed>, DeviceError> {
        let Some(swiftc) = find("swiftc", &[], "/usr/bin") else {
            return Err(DeviceError::Missing(
                "there is no `swiftc` on the PATH or in /usr/bin".to_string(),
                "`xcode-select --install` brings it: a Metal kernel is run by a program in Swift".to_string(),
            ));
        };
        let programs = Programs::new(self.folder.clone(), swiftc, &["-O"], "swift", None)?;
        listener.more(3 * kernels.len());
        let prepare = |k: &Kernel| {
            let harness = k.harness.as_deref().ok_or("it came without its harness".to_string());
            let files = harness.and_then(|h| {
                let source = programs.put(&format!("{}.swift", k.case), h)?;
                let text = k.text().map_err(|e| e.to_string())?;
                let kernel = programs.put(&format!("{}.metal", k.case), text)?;
                Ok((programs.compile(&source, &format!("{}.x", k.case), &[])?, kernel))
            });
            files.map_err(|why| k.failed(why)).inspect(|_| listener.done())
        };
        let files = kernels.iter().map(prepare).collect::<Result<Vec<_>, _>>()?;
        let round = || -> Result<Vec<Timed>, DeviceError> {
            let one = |(k, (program, kernel)): (&Kernel, &(PathBuf, PathBuf))| {
                let said = programs.run(program, &[&kernel.to_string_lossy(), "--time", LAUNCHES]);
                let timed = said.and_then(|s| Timed::of_launches(&k.case, s.lines().last().unwrap_or_default(), k.mhz));
                timed.map_err(|why| k.failed(why)).inspect(|_| listener.done())
            };
            kernels.iter().zip(&files).map(one).collect()
        };
        two_rounds(round)
    }

    fn trace(&self, _: &Kernel) -> Result<Option<String>, DeviceError> {
        // MSL has no clock to record operations with.
        Ok(None)
    }
}
