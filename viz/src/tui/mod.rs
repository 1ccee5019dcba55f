//! The terminal viewer, without the terminal.
//!
//! ```text
//!    key, script, clock                  +--------------------------------+
//!          |                             | title          cycles, zoom    |
//!          v                             | the whole run, the window in it|
//!    Msg -> update(State) -> State       | axis, marks                    |
//!                              |         | CTA 0                          |
//!                              v         |   load w0   |Y|p////|LL        |
//!                           render ----> |   a[0]      |~~~A 0,1~~|       |
//!                              ^         | what is under the cursor,      |
//!    Timeline -> Model, Runs --+         | stalls of the window           |
//!                                        | status                         |
//!                                        +--------------------------------+
//! ```
//!
//! [`update`] and [`render`] are pure functions: the same state gives the same cells. [`commands`] is the table from
//! which keys, help, palette, scripts and documents are made. The owner of a terminal sends messages and shows the
//! buffer; a script does the same without a terminal.

mod act;
mod by_row;
mod chain;
mod class;
pub mod commands;
mod index;
mod jumps;
pub mod keys;
mod layout;
mod model;
mod overview;
mod palette;
mod render;
mod runs;
pub mod script;
mod search;
mod state;
pub mod svg;
pub mod text;
mod tree;
mod update;
mod view;

pub(crate) use class::{ALL as CLASSES, number as class_number};
pub use commands::{Command, Keymap};
pub use model::{Model, ModelError};
pub use palette::{Colours, Palette};
pub use render::{chart, render};
pub use runs::Runs;
pub use state::{Msg, State};
pub use update::update;
