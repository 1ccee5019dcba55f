//! The stable code of every kind of finding, as pages (`warpline explain WL0104`), suppressions and CI reports cite it.
//!
//! One table. A code keeps its meaning for ever: a finding that is split gets new codes, and a removed one leaves a
//! gap. The first two digits are the group, in the order of the table. The kind is the property that the code violates.

use std::fmt;
use std::str::FromStr;

use crate::report::FindingKind;

/// Each line has variant, code, kind and title.
macro_rules! codes {
    ($($name:ident $id:literal $kind:ident $title:literal)*) => {
        /// A kind of finding, finer than [`FindingKind`]. A variant's documentation is the title that `explain` shows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $title] $name,)*
        }

        impl Code {
            /// Every code, in ascending order.
            pub const ALL: &'static [Code] = &[$(Code::$name),*];

            /// `WL0104`.
            pub fn id(self) -> &'static str {
                match self {
                    $(Code::$name => $id,)*
                }
            }

            /// The property that the finding violates.
            pub fn kind(self) -> FindingKind {
                match self {
                    $(Code::$name => FindingKind::$kind,)*
                }
            }

            /// The title, one line.
            pub fn title(self) -> &'static str {
                match self {
                    $(Code::$name => $title,)*
                }
            }
        }
    };
}

codes! {
    // 01: who touches memory when.
    RawShared      "WL0101" Raw          "shared memory is read, and nothing orders the read after the write"
    RawRegister    "WL0102" Raw          "a register is used before the wait for the operation that fills it"
    RawTensor      "WL0103" Raw          "tensor memory is read, and nothing orders the read after the write"
    WarShared      "WL0104" War          "shared memory is overwritten, and nothing orders the write after a read"
    WarRegister    "WL0105" War          "a register is overwritten while an operation in flight may still read it"
    WarTensor      "WL0106" War          "tensor memory is overwritten, and nothing orders the write after a read"
    WawShared      "WL0107" Waw          "shared memory is written twice, and nothing orders the writes"
    WawRegister    "WL0108" Waw          "a register is written while an operation in flight may still write it"
    WawTensor      "WL0109" Waw          "tensor memory is written twice, and nothing orders the writes"
    Stale          "WL0110" Stale        "a read finds another tile than the program states"
    Unwritten      "WL0111" Stale        "a slot of a ring is read before anything is written to it"
    RawGlobal      "WL0112" Raw          "global memory is read, and nothing orders the read after the write"
    WarGlobal      "WL0113" War          "global memory is overwritten, and nothing orders the write after a read"
    WawGlobal      "WL0114" Waw          "global memory is written twice, and nothing orders the writes"
    // 02: who can proceed.
    Hang           "WL0201" Deadlock     "agents wait for each other without end"
    TripCounts     "WL0202" Deadlock     "an agent waits for a role that has ended: the roles disagree on the number of steps"
    Divergent      "WL0203" Divergent    "a barrier is reached by only some of its participants"
    Livelock       "WL0204" Deadlock     "agents repeat the same steps without end, and nothing changes"
    // 03: phases of mbarriers.
    LateWait       "WL0301" ParityAlias  "a wait can come two phases late and see its parity flip back"
    EarlyWait      "WL0302" ParityAlias  "a wait can come before its phase is open, and an older phase answers"
    // 04: counts.
    Arrivals       "WL0401" ArrivalCount "more arrivals on an mbarrier than its phase needs"
    ThreadCounts   "WL0402" ArrivalCount "threads at a numbered barrier do not fit its count"
    ClusterTurns   "WL0403" ArrivalCount "arrive and wait of the cluster barrier do not alternate"
    BytesTooMany   "WL0404" TxBytes      "copies deliver more bytes than their phase expects"
    BytesMissing   "WL0405" TxBytes      "a phase expects more bytes than copies deliver"
    LateExpect     "WL0406" TxBytes      "a phase can complete before its bytes are expected"
    BytesField     "WL0407" TxBytes      "a transaction count leaves its field"
    Mixed          "WL0408" ArrivalCount "which warps meet at a numbered barrier depends on the schedule"
    // 05: visibility across proxies and scopes.
    ProxyRead      "WL0501" Fence        "the asynchronous proxy reads ordinary stores that no proxy fence covers"
    ProxyWrite     "WL0502" Fence        "the asynchronous proxy overwrites data that was read, with no proxy fence after the read"
    TensorFence    "WL0503" Fence        "tensor memory passes between threads without `tcgen05.fence`"
    WgmmaFence     "WL0504" Fence        "`wgmma` uses registers that were touched since the last `wgmma.fence`"
    Scope          "WL0505" Scope        "CTA scope where another CTA's data is needed"
    LaneArrive     "WL0506" Fence        "one lane arrives for a warp whose other lanes may be behind"
    // 06: life cycles.
    NotLive        "WL0601" LifeCycle    "an mbarrier is used before its `init` or after its `inval`"
    InitAgain      "WL0602" LifeCycle    "a live mbarrier is initialized again"
    InitFence      "WL0603" LifeCycle    "an mbarrier is signaled from outside its CTA's threads with no fence after its `init`"
    InvalInFlight  "WL0604" LifeCycle    "an mbarrier is invalidated with copies in flight"
    ExitSignal     "WL0605" LifeCycle    "a CTA ends before an arrival on one of its mbarriers"
    ExitBytes      "WL0606" LifeCycle    "a CTA ends with bytes in flight to it"
    NotAllocated   "WL0607" LifeCycle    "tensor memory is used outside its allocation"
    FreedInUse     "WL0608" LifeCycle    "tensor memory is deallocated while it may be in use"
    AllocBalance   "WL0609" LifeCycle    "tensor memory is not allocated and deallocated exactly once"
    ExitStore      "WL0610" LifeCycle    "a CTA ends while a bulk store may still read its shared memory"
    RegsPart       "WL0611" LifeCycle    "only a part of a warpgroup changes its registers, or its warps change them differently"
    RegsAgain      "WL0612" LifeCycle    "a warpgroup changes its registers twice without a barrier in between"
    NotStarted     "WL0613" LifeCycle    "memory of another CTA is accessed, and nothing orders the access after that CTA's start"
    ExitAccess     "WL0614" LifeCycle    "memory of another CTA is accessed, and nothing orders the access before that CTA's end"
    // 07: results.
    SumBlocks      "WL0701" Coverage     "a block of the contracted dimension is not added exactly once"
    StoredTwice    "WL0702" Coverage     "a part of the output is stored twice"
    NotStored      "WL0703" Coverage     "a part of the output is not stored"
    Redundant      "WL0704" Coverage     "two CTAs compute the same part of the output"
    Outside        "WL0705" Coverage     "threads read or write a block that lies outside its matrix"
    // 08: numbers.
    Index          "WL0801" Range        "a slot, part, barrier or CTA that does not exist"
    Number         "WL0802" Range        "a number that has no meaning"
    TensorLanes    "WL0803" Range        "a warp accesses lanes of tensor memory that it cannot reach"
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl FromStr for Code {
    type Err = ();

    /// Parses `WL0104`, in upper or lower case.
    fn from_str(s: &str) -> Result<Code, ()> {
        Code::ALL.iter().copied().find(|c| c.id().eq_ignore_ascii_case(s)).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_ascend_and_read_back() {
        assert!(Code::ALL.windows(2).all(|w| w[0] < w[1] && w[0].id() < w[1].id()));
        for c in Code::ALL {
            assert_eq!(c.id().parse(), Ok(*c));
            assert_eq!(c.id().to_lowercase().parse(), Ok(*c));
        }
        assert_eq!("WL9999".parse::<Code>(), Err(()));
    }
}
