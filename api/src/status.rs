//! The status of an answer.

/// The status of an answer; the exit status of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// 0: the answer is complete and names no fault.
    Holds,
    /// 1: a fault, a hang, a claim whose verdict is no longer true, or a file that is not formatted.
    Violated,
    /// 2: the input is wrong, or an output cannot be written.
    BadInput,
    /// 3: a limit was reached before the answer.
    GaveUp,
}

impl Status {
    /// The exit status of the process, 0 to 3.
    pub fn code(self) -> u8 {
        match self {
            Status::Holds => 0,
            Status::Violated => 1,
            Status::BadInput => 2,
            Status::GaveUp => 3,
        }
    }

    /// The more serious of two statuses: bad input, then a violation, then a limit.
    pub fn and(self, other: Status) -> Status {
        let rank = |s| match s {
            Status::Holds => 0,
            Status::GaveUp => 1,
            Status::Violated => 2,
            Status::BadInput => 3,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_outranks_a_limit() {
        assert_eq!(Status::GaveUp.and(Status::Violated), Status::Violated);
        assert_eq!(Status::Violated.and(Status::GaveUp), Status::Violated);
        assert_eq!(Status::Holds.and(Status::GaveUp).code(), 3);
    }
}
