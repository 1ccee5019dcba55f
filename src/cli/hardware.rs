//! Kernels on real devices, and machine files.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Input;

/// `warpline emit`.
#[derive(Debug, Args)]
pub struct Emit {
    /// What to write.
    #[command(flatten)]
    pub input: Input,

    /// For what
    #[arg(long, value_enum)]
    pub target: Target,

    /// The file to write; `-` for the standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,

    /// Apply the N-th mutation first, from 0 in the order of docs/mutation.md; a note names the mutation
    #[arg(long, value_name = "N")]
    pub mutant: Option<usize>,
}

/// Source languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// CUDA C++, for NVIDIA machines.
    Cuda,
    /// HIP C++, for AMD's CDNA.
    Hip,
    /// The Metal Shading Language, for Apple's machines; the harness goes beside it (x.metal, x.swift)
    Metal,
}

impl Target {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Target::Cuda => "cuda",
            Target::Hip => "hip",
            Target::Metal => "metal",
        }
    }
}

/// `warpline calibrate`.
#[derive(Debug, Args)]
pub struct Calibrate {
    /// `cuda:N`, `hip:N` or `metal:N`, a device of this machine, which needs its driver and compiler (nvcc; ROCm; on macOS, for
    /// kernels, swiftc); or `recorded`, what was measured on one H200. Those for HIP and Metal were never run by us
    #[arg(long, value_name = "DEVICE")]
    pub device: String,

    /// The machine whose file the numbers go into: a built-in name (`h200`) or a machine file (.toml); by default h200,
    /// mi300x or m4-max, by whose device it is
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,

    /// The machine file to write; without it, what would move is shown only
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write what the probes measured (.csv)
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

/// `warpline validate`.
#[derive(Debug, Args)]
pub struct Validate {
    /// `cuda:N`, `hip:N` or `metal:N`, a device of this machine, which needs its driver and compiler (nvcc; ROCm; on macOS, for
    /// kernels, swiftc); or `recorded`, what was measured on one H200. Those for HIP and Metal were never run by us
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,

    /// The same as `--device recorded`
    #[arg(long, conflicts_with = "device")]
    pub recorded: bool,

    /// The machine that predicts: a built-in name or a machine file (.toml); by default h200, mi300x or m4-max, by whose
    /// device it is. Its clock is what the device ran at
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,

    /// Draw measured and simulated cycles against each other; the ending (.png or .svg) says the format
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Draw the worst kernels of the test set that there is a record of, simulated above measured, into a folder
    #[arg(long, value_name = "FOLDER")]
    pub worst: Option<PathBuf>,

    /// Write what was measured into a folder: validation.jsonl, and records of the worst kernels
    #[arg(long, value_name = "FOLDER")]
    pub record: Option<PathBuf>,
}
