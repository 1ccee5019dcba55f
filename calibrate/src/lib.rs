//! Probes, drivers and fits that tie the machine models to hardware.
