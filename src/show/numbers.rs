//! Numbers as people read them.

/// A whole number with its thousands apart: `4,194,304`.
pub(crate) fn count(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut text = String::from(if n < 0 { "-" } else { "" });
    for (i, d) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(d);
    }
    text
}

/// A number of cycles or the like: whole where it is whole or large, else one decimal.
pub(crate) fn plain(x: f64) -> String {
    if !x.is_finite() || x.abs() >= 9e15 {
        return format!("{x:e}");
    }
    if x.abs() >= 1e4 {
        return count(x.round() as i64);
    }
    let tenths = (x * 10.0).round();
    let (whole, tenth) = ((tenths / 10.0).trunc(), (tenths % 10.0).abs() as i64);
    if tenth == 0 { count(whole as i64) } else { format!("{}.{tenth}", count(whole as i64)) }
}

/// All that is known of a number, as it can be written back: no separators, no rounding.
pub(crate) fn exact(x: f64) -> String {
    x.to_string()
}

/// Microseconds or a rate: three significant digits at least, thousands apart.
pub(crate) fn short(x: f64) -> String {
    match x.abs() {
        a if a >= 100.0 => plain(x),
        a if a >= 10.0 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}

/// A fraction as per cent, without the sign: `41.2`.
pub(crate) fn percent(fraction: f64) -> String {
    format!("{:.1}", fraction * 100.0)
}

/// Bytes with the unit that fits, in powers of ten as bandwidths are given.
pub(crate) fn bytes(n: f64) -> String {
    match n {
        n if n >= 1e9 => format!("{:.2} GB", n / 1e9),
        n if n >= 1e6 => format!("{:.2} MB", n / 1e6),
        n if n >= 1e4 => format!("{:.1} kB", n / 1e3),
        n => format!("{} bytes", plain(n)),
    }
}

/// `1 warp`, `3 warps`.
pub(crate) fn of(n: i64, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{} {one}s", count(n)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(count(0), "0");
        assert_eq!(count(-1234567), "-1,234,567");
        assert_eq!(count(999), "999");
        assert_eq!(plain(10.5), "10.5");
        assert_eq!(plain(1999.96), "2,000");
        assert_eq!(plain(16.0), "16");
        assert_eq!(plain(28817967.1), "28,817,967");
        assert_eq!(short(1.2345), "1.234");
        assert_eq!(short(782.44), "782.4");
        assert_eq!(percent(0.41234), "41.2");
        assert_eq!(bytes(24576.0), "24.6 kB");
        assert_eq!(of(1, "CTA"), "1 CTA");
    }
}
