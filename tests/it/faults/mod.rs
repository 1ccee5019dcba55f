//! Faults planted into scenarios: each ends in a diagnosis, with the right kind, line and barrier.

mod amd;
mod blackwell;
mod groups;
mod hopper;
mod metal;
mod plant;
