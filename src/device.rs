//! The devices of `calibrate` and `validate`.

use warpline_calibrate::{Cuda, Device, DeviceError, Hip, Listener, Metal, Recorded};
use warpline_sim::machine::Vendor;

use crate::console::Console;
use crate::progress::Bar;
use warpline_api::{Error, MachineFile};

/// The values of `--device`.
pub(crate) const NAMES: &str = "`cuda:0` is the first NVIDIA device of this machine (needs its driver and nvcc), `hip:0` the first AMD \
                                device (needs ROCm), `metal:0` the first of a Mac (for kernels swiftc, too), `recorded` what \
                                was measured on one H200";

/// Opens a device by its name, and prints its warning.
pub(crate) fn open(name: &str, console: &mut Console) -> Result<Box<dyn Device>, Error> {
    let folder = std::env::temp_dir().join(format!("warpline-{}", std::process::id()));
    let index = |n: &str| n.parse().ok();
    let device: Box<dyn Device> = match name.split_once(':').map(|(kind, n)| (kind, index(n))) {
        None if name == "recorded" => Box::new(Recorded),
        Some(("cuda", Some(n))) => Box::new(Cuda::open(n, folder).map_err(refused)?),
        Some(("hip", Some(n))) => Box::new(Hip::open(n, folder).map_err(refused)?),
        Some(("metal", Some(n))) => Box::new(Metal::open(n, folder).map_err(refused)?),
        _ => return Err(Error::with_help(format!("there is no device `{name}`"), NAMES)),
    };
    if let Some(warning) = device.warning() {
        console.error(&format!("note: {warning}\n"))?;
    }
    Ok(device)
}

/// The machine of a device: the named one, or the built-in one of the device's vendor.
pub(crate) fn machine(device: &dyn Device, named: Option<&str>) -> Result<MachineFile, Error> {
    let name = named.unwrap_or(match device.vendor() {
        Vendor::Amd => "mi300x",
        Vendor::Apple => "m4-max",
        Vendor::Nvidia | Vendor::Paper => "h200",
    });
    let file = warpline_api::machine_file(name)?;
    let machine = &file.machine;
    if machine.vendor == device.vendor() {
        return Ok(file);
    }
    Err(Error::with_help(
        format!("{} is not of the vendor of {} ({})", device.name(), machine.name, machine.title),
        "name another one with `--machine`; `warpline models` lists them",
    ))
}

/// The error for a device that gives no answer.
pub(crate) fn refused(e: DeviceError) -> Error {
    match e.help() {
        Some(help) => Error::with_help(e.to_string(), help),
        None => Error::new(e.to_string()),
    }
}

/// A progress bar over a device's work.
pub(crate) struct DeviceBar(Bar);

impl DeviceBar {
    pub(crate) fn start(console: &Console, device: &dyn Device) -> DeviceBar {
        DeviceBar(Bar::pieces(console.look.progress, 0, device.name()))
    }
}

impl Listener for DeviceBar {
    fn more(&self, pieces: usize) {
        self.0.add(pieces);
    }
    fn done(&self) {
        self.0.step();
    }
}
