//! Probes, drivers and fits that tie the machine models to hardware.
//!
//! What is there: `calibrate/probes/hopper.cu`, a self-contained CUDA program that measures what no published table of an
//! sm_90a core has (barriers, mbarriers, clusters, copies, matrix issue), and its recorded output in
//! `calibrate/data/h200_probes.csv`; and `calibrate/probes/gemm.py`, matrix products as Triton compiles them, with
//! `calibrate/data/h200_gemm.csv`, which `models/h200.toml` cites number by number. Drivers that run probes from here
//! and write machine files are to come.
