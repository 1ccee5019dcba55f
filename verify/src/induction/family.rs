//! Values of a symbol for all trip counts of a loop.

/// Values of a symbol: `zero + n * step`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// The symbol.
    pub symbol: String,
    /// Its value for `n` = 0.
    pub zero: i64,
    /// Increment for each `n`.
    pub step: i64,
}

impl Family {
    /// `k = n x 64 + 1`, with the name of a trip count.
    pub(crate) fn words(&self, count: &str) -> String {
        let product = if self.step == 1 { count.to_string() } else { format!("{count} x {}", self.step) };
        let rest = match self.zero {
            0 => String::new(),
            r if r > 0 => format!(" + {r}"),
            r => format!(" - {}", -r),
        };
        format!("{} = {product}{rest}", self.symbol)
    }
}
