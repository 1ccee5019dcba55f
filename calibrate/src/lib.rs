//! Ties the machine models to hardware.
//!
//! ```text
//!  probes/* ──▶ Device ──▶ Measurement ──fit──▶ Fitted ──machine_file──▶ models/x.toml
//!  emitted kernels ──▶ Device ──▶ Timed ──accuracy──▶ errors, beside what the simulator says
//!  -DWL_STAMP ──▶ trace ──▶ Timeline
//! ```
//!
//! A [`Device`] answers with measurements: [`Recorded`] replays what is stored in `data/`, [`Cuda`] and [`Hip`] compile probes
//! and kernels with the machine's CUDA toolkit or ROCm and run them, [`Metal`] asks macOS to. Those two were never run by us:
//! we have no such device. Nothing here is fitted to kernels: [`fit()`] derives a machine's numbers from
//! probes alone, and [`accuracy`] judges the model on kernels. `probes/gemm.py` times matrix products as Triton compiles
//! them; `data/h200_gemm.csv` is what one H200 took.

pub mod accuracy;
mod cuda;
pub mod device;
pub mod fit;
mod hip;
pub mod machine_file;
pub mod measure;
mod metal;
pub mod pace;
mod programs;
pub mod trace;

pub use cuda::Cuda;
pub use device::{Deaf, Device, DeviceError, Kernel, Listener, Recorded};
pub use fit::{Fitted, fit};
pub use hip::Hip;
pub use measure::{Measurement, Measurements};
pub use metal::Metal;
