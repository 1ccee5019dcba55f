//! Types of the elements of objects.

/// Element types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Dtype {
    F64,
    F32,
    Tf32,
    F16,
    Bf16,
    Fp8,
    I8,
    Fp4,
    I32,
}

impl Dtype {
    /// Width in bits.
    pub fn bits(self) -> u32 {
        match self {
            Dtype::F64 => 64,
            Dtype::F32 | Dtype::Tf32 | Dtype::I32 => 32,
            Dtype::F16 | Dtype::Bf16 => 16,
            Dtype::Fp8 | Dtype::I8 => 8,
            Dtype::Fp4 => 4,
        }
    }

    /// Name in the kernel language.
    pub fn name(self) -> &'static str {
        match self {
            Dtype::F64 => "f64",
            Dtype::F32 => "f32",
            Dtype::Tf32 => "tf32",
            Dtype::F16 => "f16",
            Dtype::Bf16 => "bf16",
            Dtype::Fp8 => "fp8",
            Dtype::I8 => "i8",
            Dtype::Fp4 => "fp4",
            Dtype::I32 => "i32",
        }
    }
}
