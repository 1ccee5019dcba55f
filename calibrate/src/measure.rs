//! Measurements that probes print, one in each row.

/// One measurement: the median of several launches, and the smallest and largest.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Name of the probe: `mbarrier.handover`.
    pub probe: String,
    /// Size, count or number of warps that was measured.
    pub parameter: f64,
    /// Unit of the three numbers.
    pub unit: String,
    /// Median.
    pub median: f64,
    /// Smallest.
    pub low: f64,
    /// Largest.
    pub high: f64,
    /// Number of launches.
    pub repeats: u32,
}

impl Measurement {
    /// A measurement from the values of all launches, with parameter 1.
    pub fn of(probe: &str, unit: &str, values: &mut [f64]) -> Measurement {
        values.sort_by(f64::total_cmp);
        let at = |i: usize| values.get(i).copied().unwrap_or(f64::NAN);
        let (probe, unit, n) = (probe.to_string(), unit.to_string(), values.len());
        let (median, low, high) = (at(n / 2), at(0), at(n.saturating_sub(1)));
        Measurement { probe, parameter: 1.0, unit, median, low, high, repeats: n as u32 }
    }
}

/// All measurements of one device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements {
    /// The device, its driver, and the meaning of a cycle.
    pub device: String,
    /// Rows in the order of the measurements.
    pub rows: Vec<Measurement>,
}

/// A file of measurements that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}: `{text}`")]
pub struct BadRow {
    /// Line, from 1.
    pub line: usize,
    /// What was expected.
    pub why: &'static str,
    /// The line.
    pub text: String,
}

/// First line of every file of measurements.
const HEAD: &str = "probe,parameter,unit,median,low,high,repeats";

impl Measurements {
    /// Reads what the probes print.
    ///
    /// # Errors
    /// The first line that is neither a comment, the head, nor a row of seven fields with numbers in order.
    pub fn parse(text: &str) -> Result<Measurements, BadRow> {
        let mut all = Measurements::default();
        for (i, line) in text.lines().enumerate() {
            if let Some(device) = line.strip_prefix("# device: ") {
                all.device = device.to_string();
            } else if !(line.is_empty() || line.starts_with('#') || line == HEAD) {
                let row = row(line).map_err(|why| BadRow { line: i + 1, why, text: line.to_string() })?;
                all.rows.push(row);
            }
        }
        Ok(all)
    }

    /// The text that [`Measurements::parse`] reads.
    pub fn text(&self) -> String {
        let mut out = format!("# device: {}\n{HEAD}\n", self.device);
        for r in &self.rows {
            let Measurement { probe, parameter, unit, median, low, high, repeats } = r;
            out.push_str(&format!("{probe},{parameter},{unit},{median:.3},{low:.3},{high:.3},{repeats}\n"));
        }
        out
    }

    /// Adds the rows of another file of the same device.
    pub fn join(mut self, other: Measurements) -> Measurements {
        self.rows.extend(other.rows);
        self
    }

    /// A measurement by name and parameter.
    pub fn get(&self, probe: &str, parameter: f64) -> Option<&Measurement> {
        self.rows.iter().find(|m| m.probe == probe && m.parameter == parameter)
    }
}

fn row(line: &str) -> Result<Measurement, &'static str> {
    let fields: Vec<&str> = line.split(',').collect();
    let [probe, parameter, unit, median, low, high, repeats] = fields[..] else {
        return Err("seven fields were expected");
    };
    let number = |s: &str| s.parse::<f64>().ok().filter(|v| v.is_finite()).ok_or("a number was expected");
    let (median, low, high) = (number(median)?, number(low)?, number(high)?);
    if !(low <= median && median <= high) {
        return Err("low, median and high were expected in order");
    }
    let repeats = repeats.parse().map_err(|_| "a count was expected")?;
    Ok(Measurement {
        probe: probe.into(),
        parameter: number(parameter)?,
        unit: unit.into(),
        median,
        low,
        high,
        repeats,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_with_their_device() {
        let m =
            Measurements::parse("# device: X\nprobe,parameter,unit,median,low,high,repeats\na.b,4,cycles,2,1,3,21\n")
                .unwrap();
        assert_eq!((m.device.as_str(), m.rows.len()), ("X", 1));
        assert_eq!(m.get("a.b", 4.0).unwrap().high, 3.0);
        assert!(m.get("a.b", 5.0).is_none());
        assert_eq!(Measurements::parse(&m.text()).unwrap(), m);
    }

    #[test]
    fn a_bad_row_is_named() {
        for (row, why) in [
            ("a,1,cycles,2,1,3", "seven fields were expected"),
            ("a,1,cycles,x,1,3,21", "a number was expected"),
            ("a,1,cycles,4,1,3,21", "low, median and high were expected in order"),
            ("a,1,cycles,NaN,1,3,21", "a number was expected"),
            ("a,1,cycles,2,1,3,-1", "a count was expected"),
        ] {
            let e = Measurements::parse(row).unwrap_err();
            assert_eq!((e.line, e.why), (1, why), "{row}");
        }
    }
}
