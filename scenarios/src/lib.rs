//! The kernel language and the scenario files.
