//! The units of vector arithmetic that `alu` names.

/// A unit of vector arithmetic.
#[derive(Clone, Copy, Debug)]
pub struct AluUnit {
    /// The word after `alu`.
    pub name: &'static str,
    /// The machine parameter with the rate of a core.
    pub key: &'static str,
    /// The operations that it does.
    pub doc: &'static str,
}

/// Every unit. Each machine states the rate of each.
pub const ALU_UNITS: [AluUnit; 3] = [
    AluUnit {
        name: "fma",
        key: "alu.fma_per_clk",
        doc: "floating-point additions, multiplications, maxima, comparisons; one multiply-add is one operation",
    },
    AluUnit {
        name: "exp",
        key: "alu.exp_per_clk",
        doc: "special functions: exponential, logarithm, reciprocal, square root",
    },
    AluUnit { name: "int", key: "alu.int_per_clk", doc: "integer arithmetic, logic, conversions" },
];
