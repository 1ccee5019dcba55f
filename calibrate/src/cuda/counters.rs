//! Counters of Nsight Compute for one launch.

use std::collections::BTreeMap;

use crate::accuracy::Counted;

/// Metrics requested at once; the profiler repeats the kernel as often as needed.
pub(super) const METRICS: &[&str] = &[
    "sm__cycles_elapsed.max",
    "lts__t_sector_hit_rate.pct",
    "lts__t_sectors_srcunit_tex.sum",
    "lts__t_sectors_srcunit_ltcfabric.sum",
    "l1tex__m_xbar2l1tex_read_bytes.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_branch_resolving_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_dispatch_stall_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_drain_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_imc_miss_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_membar_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_misc_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_not_selected_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_selected_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_sleeping_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio",
];

/// Stall causes that are a barrier. The next list has those that are data, a phase, a product or a pipe; the rest is
/// a warp's own work.
const BARRIER: [&str; 1] = ["barrier"];
const DATA: [&str; 9] = [
    "long_scoreboard",
    "short_scoreboard",
    "gmma",
    "membar",
    "sleeping",
    "drain",
    "math_pipe_throttle",
    "mio_throttle",
    "lg_throttle",
];

/// Reads the profiler's rows: names, units, one launch.
pub(super) fn read(text: &str) -> Result<Counted, String> {
    let rows: String = text.lines().filter(|l| l.starts_with('"')).map(|l| format!("{l}\n")).collect();
    let mut csv = csv::ReaderBuilder::new().has_headers(false).from_reader(rows.as_bytes());
    let rows: Result<Vec<csv::StringRecord>, csv::Error> = csv.records().collect();
    let rows = rows.map_err(|e| e.to_string())?;
    let [names, units, launch, ..] = &rows[..] else {
        let last = text.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("nothing");
        return Err(format!("the profiler counted nothing: {last}"));
    };
    let value = |name: &str| {
        let i = names.iter().position(|n| n == name)?;
        let scale = match units.get(i)? {
            "Kbyte" => 1e3,
            "Mbyte" => 1e6,
            "Gbyte" => 1e9,
            _ => 1.0,
        };
        Some(launch.get(i)?.replace(',', "").parse::<f64>().ok()? * scale)
    };
    let need = |name: &str| value(name).ok_or_else(|| format!("the profiler did not count `{name}`"));
    let cause = |m: &&str| {
        let name = m.strip_prefix("smsp__average_warps_issue_stalled_")?.strip_suffix("_per_issue_active.ratio")?;
        Some((name.to_string(), value(m)?))
    };
    let causes: BTreeMap<String, f64> = METRICS.iter().filter_map(cause).collect();
    let all: f64 = causes.values().sum();
    let share = |of: &[&str]| of.iter().filter_map(|c| causes.get(*c)).sum::<f64>() / all.max(1e-9);
    let round = |v: f64| (v * 1e4).round() / 1e4;
    // Requests of cores, and of one half of the cache for the other. A sector has 32 bytes.
    let looked = need("lts__t_sectors_srcunit_tex.sum")? + need("lts__t_sectors_srcunit_ltcfabric.sum")?;
    let got = need("l1tex__m_xbar2l1tex_read_bytes.sum")? / 32.0;
    Ok(Counted {
        cycles: need("sm__cycles_elapsed.max")?,
        l2_hit: round(need("lts__t_sector_hit_rate.pct")? / 100.0),
        l2_looked_up: (got > 0.0).then(|| round(looked / got)),
        dram_read: need("dram__bytes_read.sum")?,
        dram_written: need("dram__bytes_write.sum")?,
        at_barriers: round(share(&BARRIER)),
        for_data: round(share(&DATA)),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const SAID: &str = "==PROF== Connected\n\"ID\",\"sm__cycles_elapsed.max\",\"lts__t_sector_hit_rate.pct\",\
        \"lts__t_sectors_srcunit_tex.sum\",\"lts__t_sectors_srcunit_ltcfabric.sum\",\"l1tex__m_xbar2l1tex_read_bytes.sum\",\
        \"dram__bytes_read.sum\",\"dram__bytes_write.sum\",\
        \"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio\",\
        \"smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio\",\
        \"smsp__average_warps_issue_stalled_selected_per_issue_active.ratio\"\n\
        \"\",\"cycle\",\"%\",\"sector\",\"sector\",\"Mbyte\",\"Mbyte\",\"Kbyte\",\"inst\",\"inst\",\"inst\"\n\
        \"0\",\"463,689\",\"78.1\",\"500,000\",\"100,000\",\"32\",\"288.75\",\"33\",\"1\",\"2\",\"1\"\n";

    #[test]
    fn units_and_shares() {
        let c = read(SAID).unwrap();
        assert_eq!((c.cycles, c.l2_hit, c.dram_read, c.dram_written), (463_689.0, 0.781, 288.75e6, 33e3));
        assert_eq!(c.l2_looked_up, Some(0.6));
        assert_eq!((c.at_barriers, c.for_data), (0.25, 0.5));
    }

    #[test]
    fn a_profiler_without_rights_is_quoted() {
        let e = read("==ERROR== ERR_NVGPUCTRPERM\n").unwrap_err();
        assert!(e.contains("ERR_NVGPUCTRPERM"), "{e}");
    }
}
