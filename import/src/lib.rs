//! Reads compiled GPU kernels and lifts their pipelines to [`warpline_sim::ir::Program`].
//!
//! ```text
//!   k.ptx ──ptx──▶ instructions ──flow──▶ blocks, loops ──symbolic──▶ one tree of operations a warp ──lift──▶ Program
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | `ptx` | reads PTX text: instructions with modifiers as a set, scopes, source lines |
//! | `flow` | basic blocks, dominators, post-dominators, natural loops |
//! | `symbolic` | values per lane: affine forms over arguments, coordinates and loop counters |
//! | `sass` | reads a disassembly: registers and the order of loads, for the time of a run |
//! | `lift` | walks each warp's control flow, recovers loops, rings, barriers and slots, and builds the program |
//!
//! # Tour
//!
//! [`ptx::read`] parses the text, and [`lift::lift`] builds the program of one entry. [`lift::Launch`] has what the text does
//! not say: the size of a block, the grid, arguments. Text that the crate does not understand is an error with its line, or
//! an assumption that [`lift::Lifted`] lists. [`text`] shows the result to people.
//!
//! ```
//! use warpline_import::{lift, ptx, text};
//!
//! let source = "
//! .version 8.6
//! .target sm_90a
//! .address_size 64
//! .visible .entry k()
//! .reqntid 64
//! {
//!   .reg .b32 %r<2>;
//!   .shared .align 4 .b8 data[4];
//!   mov.u32 %r1, 1;
//!   st.shared.b32 [data], %r1;
//!   bar.sync 0;
//!   ret;
//! }";
//! let module = ptx::read(source).expect("PTX");
//! let lifted = lift::lift(&module, &module.entries[0], "k.ptx", source, &lift::Launch::default()).expect("it lifts");
//! assert_eq!(lifted.program.warps, 2);
//! print!("{}", text::explain(&lifted, &lifted.program.name));
//! ```

pub mod flow;
pub mod lift;
pub mod ptx;
pub mod sass;
pub mod symbolic;
pub mod text;
