//! The disassembly of a compiled kernel (SASS): what the assembler made of its PTX.
//!
//! The text is that of `nvdisasm -c`, `cuobjdump -sass` or Triton's `kernel.asm["sass"]`. A run takes two things from it
//! that PTX does not say. One is the registers of a thread. The other is how many loads of global memory are in flight
//! before the first of them is used. ptxas issues loads in batches where registers are few, and does not document how.

mod loads;

use std::collections::{BTreeMap, BTreeSet};

use crate::ptx::Error;

pub use loads::LoadOrder;
pub(crate) use loads::loads_by_use;

/// A machine instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inst {
    /// Bytes from the start of the kernel.
    pub address: u64,
    /// The opcode and its modifiers: `LDG`, `E`, `128`.
    pub words: Vec<String>,
    /// Operands, as written.
    pub operands: Vec<String>,
}

impl Inst {
    /// The opcode.
    pub fn op(&self) -> &str {
        &self.words[0]
    }

    /// Whether the instruction has a modifier.
    pub fn has(&self, modifier: &str) -> bool {
        self.words[1..].iter().any(|w| w == modifier)
    }

    /// Registers that the value of the instruction takes.
    fn width(&self) -> u32 {
        match () {
            () if self.has("128") => 4,
            () if self.has("64") => 2,
            () => 1,
        }
    }
}

/// The machine code of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// Instructions in the order of their addresses.
    pub code: Vec<Inst>,
    /// Addresses that branches lead to.
    pub targets: BTreeSet<u64>,
}

impl Kernel {
    /// Registers of a thread at launch: the highest one of the text, and those below it. `None` where warps change
    /// their number (`setmaxnreg`).
    pub fn registers(&self) -> Option<u32> {
        if self.code.iter().any(|i| i.op() == "USETMAXREG") {
            return None;
        }
        let each = self.code.iter().flat_map(|i| i.operands.iter().map(move |o| (i, o)));
        let last = |(i, o): (&Inst, &String)| {
            let first = registers(o).max()?;
            Some(first + if o.contains(".64") { 2 } else { i.width() })
        };
        each.filter_map(last).max()
    }

    /// Loads and stores of registers that ptxas spilled, in the text.
    pub fn spills(&self) -> usize {
        self.code.iter().filter(|i| matches!(i.op(), "LDL" | "STL")).count()
    }
}

/// The machine code of the kernel `name` in a disassembly.
///
/// # Errors
/// A text without machine instructions, or one that lacks the kernel.
pub fn read(text: &str, name: &str) -> Result<Kernel, Error> {
    let mut kernel = Kernel::default();
    let (mut names, mut inside) = (BTreeSet::new(), false);
    let (mut labels, mut waiting) = (BTreeMap::new(), Vec::new());
    for line in text.lines() {
        let line = line.trim();
        if let Some(started) = header(line) {
            inside = started == name;
            names.insert(started);
        } else if let Some(label) = line.strip_suffix(':').filter(|l| l.starts_with(".L") || l.starts_with("LBB")) {
            waiting.push(label);
        } else if let Some(inst) = instruction(line, kernel.code.len()).filter(|_| inside) {
            labels.extend(waiting.drain(..).map(|l| (l, inst.address)));
            kernel.code.push(inst);
        }
    }
    if kernel.code.is_empty() {
        let list: Vec<&str> = names.into_iter().collect();
        let (message, expected) = match list.as_slice() {
            [] => ("this is no disassembly".to_string(), "the output of `nvdisasm -c` or `cuobjdump -sass`".into()),
            names => (format!("the disassembly has no kernel `{name}`"), format!("it among {}", names.join(", "))),
        };
        return Err(Error { line: 1, span: (0, 0), message, expected });
    }
    let jumps = kernel.code.iter().filter(|i| ["BRA", "BSSY", "CALL"].contains(&i.op()));
    let place = |o: &String| match o.strip_prefix("0x") {
        Some(address) => u64::from_str_radix(address, 16).ok(),
        None => labels.get(o.trim_start_matches("`(").trim_end_matches(')')).copied(),
    };
    kernel.targets = jumps.flat_map(|i| &i.operands).filter_map(place).collect();
    Ok(kernel)
}

/// The name of the kernel whose code follows this line.
fn header(line: &str) -> Option<&str> {
    match line.strip_prefix("Function") {
        Some(name) => Some(name.trim_start_matches([' ', ':']).trim()),
        None => line.strip_prefix(".text.")?.strip_suffix(':'),
    }
}

/// Bytes of an instruction.
const SIZE: u64 = 16;

/// The instruction of a line, behind its address (`/*0120*/  @!P0 LDG.E.128 R28, desc[UR10][R28.64] ;`) or, in Triton's
/// text, behind its waits (`01:-:2:Y:1  LDG.E.128 R28, ...`), where it is the `number`th.
fn instruction(line: &str, number: usize) -> Option<Inst> {
    let (address, rest) = match line.strip_prefix("/*") {
        Some(text) => {
            let (address, rest) = text.split_once("*/")?;
            (u64::from_str_radix(address, 16).ok()?, rest)
        }
        None => {
            let (waits, rest) = line.split_once(char::is_whitespace)?;
            (waits.matches(':').count() == 4).then_some((number as u64 * SIZE, rest))?
        }
    };
    let (text, _) = rest.split_once(';')?;
    let text = text.trim();
    let text = match text.strip_prefix('@') {
        Some(guarded) => guarded.split_once(char::is_whitespace)?.1.trim(),
        None => text,
    };
    let (opcode, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let words = opcode.split('.').map(String::from).collect();
    let operands = operands.split(',').map(|o| o.trim().to_string()).filter(|o| !o.is_empty()).collect();
    Some(Inst { address, words, operands })
}

/// The registers (`R28`) that an operand names. `RZ` is none, and uniform registers do not count.
fn registers(operand: &str) -> impl Iterator<Item = u32> + '_ {
    let words = operand.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter_map(|w| w.strip_prefix('R')?.parse().ok())
}
