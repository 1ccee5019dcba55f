//! What documents say about a scenario, held against what a run computes.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::show::Neighbour;
use crate::simulate::Ran;

/// A claim and what became of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Judged {
    /// The claim in words.
    pub(crate) text: String,
    /// Where it stands.
    pub(crate) from: String,
    /// The expression that decides it.
    pub(crate) check: String,
    /// What the scenario says becomes of it: `held` or `refuted`.
    pub(crate) verdict: String,
    /// What became of it; `None` where it cannot be computed.
    pub(crate) holds: Option<bool>,
    /// Why it cannot be computed.
    pub(crate) error: Option<String>,
    /// The names in the expression with their values.
    pub(crate) values: BTreeMap<String, f64>,
}

impl Judged {
    /// Whether the verdict the scenario states is (still) true.
    pub(crate) fn as_stated(&self) -> bool {
        self.holds.is_some_and(|h| self.verdict == if h { "held" } else { "refuted" })
    }
}

/// Every claim of the scenario.
pub(crate) fn evaluate(ran: &Ran, others: &[Neighbour]) -> Vec<Judged> {
    let _ = (values(ran), others);
    Vec::new()
}

/// The names an expression can use.
///
/// Parameters and header `let`s of the kernel come first, so that a result's name always means the result.
fn values(ran: &Ran) -> BTreeMap<String, f64> {
    let (p, r) = (&ran.subject.program, &ran.report);
    let kernel = p.params.iter().chain(&p.lets).map(|(n, v)| (n.clone(), *v as f64));
    let mut values: BTreeMap<String, f64> = kernel.collect();
    let mut set = |name: &str, value: f64| values.insert(name.to_string(), value);
    set("cycles", r.cycles);
    set("time_us", r.time_us);
    set("flops", r.flops);
    set("tflops", r.tflops);
    set("ctas", r.ctas as f64);
    set("waves", r.waves as f64);
    set("shared_bytes", r.shared_bytes as f64);
    set("shared_free_bytes", r.shared_free_bytes as f64);
    set("ctas_per_core", r.occupancy.ctas_per_core.into());
    set("warps_per_core", r.occupancy.warps_per_core.into());
    set("l2_hit_rate", r.l2_hit_rate);
    set("dram_read_bytes", r.dram_read_bytes);
    set("dram_write_bytes", r.dram_write_bytes);
    set("findings", r.findings.len() as f64);
    if let Some(c) = r.cycles_per_tile {
        set("cycles_per_tile", c);
    }
    if let Some(x) = r.of_peak {
        set("of_peak", x);
    }
    values
}
