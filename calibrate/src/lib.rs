//! Ties the machine models to hardware: probes, their records, fits, and the error of the model on timed kernels.
//!
//! ```text
//!  probes/* ──▶ Device ──▶ Measurement ──fit──▶ Fitted ──machine_file──▶ models/x.toml
//!  emitted kernels ──▶ Device ──▶ Timed ──accuracy──▶ errors of the simulator
//!  -DWL_STAMP ──▶ trace ──▶ Timeline
//! ```
//!
//! # Tour
//!
//! * A [`Device`] delivers measurements. [`Recorded`] replays those of one H200 in `data/`. [`Cuda`] and [`Hip`] compile probes and kernels
//!   with the machine's CUDA toolkit or ROCm and run them; [`Metal`] asks macOS to. `Hip` and `Metal` were never run by us: we have no
//!   such device.
//! * [`fit()`] derives a machine's numbers from probes, with one rule for each key. [`machine_file`] writes them into a machine file.
//!   Nothing is fitted to kernels.
//! * [`accuracy`] compares the model with timed kernels.
//! * [`trace`] reads what an emitted kernel recorded of itself.
//!
//! `probes/gemm.py` times matrix products that Triton compiled; `data/h200_gemm.csv` has those of one H200.
//!
//! ```
//! use warpline_calibrate::{Device, NoListener, Recorded, fit};
//!
//! let measured = Recorded.probes(&NoListener)?;
//! let h200 = warpline_models::embedded("h200").expect("a built-in machine");
//! for number in fit(&h200, &measured) {
//!     println!("{} = {} ({})", number.key, number.value, number.source);
//! }
//! # Ok::<(), warpline_calibrate::DeviceError>(())
//! ```

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
pub use device::{Device, DeviceError, Kernel, Listener, NoListener, Recorded};
pub use fit::{Fitted, fit};
pub use hip::Hip;
pub use measure::{Measurement, Measurements};
pub use metal::Metal;
