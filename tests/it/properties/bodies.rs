//! The loops of the generated rings; words in capitals are replaced.

pub(super) const READ: &str =
    "lds a[i % stages].rows(self) : A[cta.m, i] -> fa;  lds b[i % stages] : B[cta.n, i] -> fb;  mma fa, fb -> acc";
pub(super) const READ_MANUAL: &str = "lds a[i % stages].rows(self) : A[cta.m, i] -> fa;  lds b[i % stages] : B[cta.n, i] -> fb;  wait lgkm <= 0;  mfma fa, fb -> acc";

pub(super) const TMA_WHOLE: &str = "    load: elect:
      for i in self..tiles step PRODUCERS:
        wait empty[i % stages] for i / stages - 1
        arrive full[i % stages] expect bytes(a) + bytes(b)
        tma A[cta.m, i] -> a[i % stages] signals full[i % stages]
        tma B[cta.n, i] -> b[i % stages] signals full[i % stages]
";

pub(super) fn tma_parts(producers: i64) -> String {
    format!(
        "    load: elect:
      for i in 0..tiles:
        wait empty[i % stages] for i / stages - 1
        arrive full[i % stages] expect (bytes(a) + bytes(b)) / {producers}
        tma A[cta.m, i].rows(self) -> a[i % stages].rows(self) signals full[i % stages]
        tma B[cta.n, i].rows(self) -> b[i % stages].rows(self) signals full[i % stages]
"
    )
}

pub(super) const CONSUME: &str = "    math:
      for i in 0..tiles:
        wait full[i % stages] for i / stages
        lds a[i % stages].rows(self) : A[cta.m, i] -> fa;  lds b[i % stages] : B[cta.n, i] -> fb
        mma fa, fb -> acc
        arrive empty[i % stages] per warp
";

pub(super) const WGMMA_ONE: &str = "    math:
      for i in 0..tiles:
        wait full[i % stages] for i / stages
        wgmma.fence
        wgmma a[i % stages].rows(self) : A[cta.m, i], b[i % stages] : B[cta.n, i] -> acc
        commit wgmma;  wait wgmma <= 0
        arrive empty[i % stages] per warp
";

pub(super) const WGMMA: &str = "    math:
      for i in 0..tiles:
        wait full[i % stages] for i / stages
        wgmma.fence
        wgmma a[i % stages].rows(self) : A[cta.m, i], b[i % stages] : B[cta.n, i] -> acc
        commit wgmma;  wait wgmma <= 1
        if i > 0: arrive empty[(i - 1) % stages] per warp
      wait wgmma <= 0
";

pub(super) const UMMA: &str = "    warp 4: elect:
      for i in 0..tiles:
        wait full[i % stages] for i / stages
        umma a[i % stages] : A[cta.m, i], b[i % stages] : B[cta.n, i] -> acc
        commit umma -> empty[i % stages]
      commit umma -> done
";

pub(super) const UMMA_END: &str = "    math:
      wait done for 0
      tmem.fence after
      if tiles > 0: tmem.ld acc.rows(self) -> r;  wait tmem.ld <= 0;  store r -> C[cta.m, cta.n].rows(self)
    barrier
    warp 1: tmem.dealloc acc
";

pub(super) const CP_MBAR: &str = "    load:
     for i in 0..tiles:
      wait empty[i % stages] for i / stages - 1
      cp A[cta.m, i] -> a[i % stages];  cp B[cta.n, i] -> b[i % stages]
      cp.arrive full[i % stages] NOINC
      COUNTED
     commit cp;  wait cp <= 0
";

pub(super) const NAMED: &str = "    load:
      for i in 0..tiles:
        if i >= stages: bar sync empty[i % stages] (all_of)
        cp A[cta.m, i] -> a[i % stages];  cp B[cta.n, i] -> b[i % stages];  commit cp
        wait cp <= 0
        bar arrive full[i % stages] (all_of)
    math:
      for i in 0..tiles:
        bar sync full[i % stages] (all_of)
        lds a[i % stages].rows(self) : A[cta.m, i] -> fa;  lds b[i % stages] : B[cta.n, i] -> fb
        mma fa, fb -> acc
        if i + stages < tiles: bar arrive empty[i % stages] (all_of)
";

pub(super) const STEP_ONE: &str = "    for i in 0..tiles:
      LOAD: MOVE A[cta.m, i] -> a[0];  MOVE B[cta.n, i] -> b[0];  LANDED
      barrier
      math: READ
      barrier
";

pub(super) const CP_GROUPS: &str = "    LOAD:
      for j in 0..stages - 1:
        if j < tiles: MOVE A[cta.m, j] -> a[j];  MOVE B[cta.n, j] -> b[j]
        commit cp
    for i in 0..tiles:
      LOAD: wait cp <= stages - 2
      barrier
      LOAD:
        let next = i + stages - 1
        if next < tiles: MOVE A[cta.m, next] -> a[next % stages];  MOVE B[cta.n, next] -> b[next % stages]
        commit cp
      math: READ
    LOAD: wait cp <= 0
";

pub(super) const LOADS: &str = "    for j in 0..stages - 1:
      if j < tiles: LOAD: MOVE A[cta.m, j] -> a[j];  MOVE B[cta.n, j] -> b[j]
    barrier
    for i in 0..tiles:
      LOAD:
        let next = i + stages - 1
        if next < tiles: MOVE A[cta.m, next] -> a[next % stages];  MOVE B[cta.n, next] -> b[next % stages]
      math: READ
      barrier
";

pub(super) const REGISTERS_ONE: &str =
    "    LOAD: if tiles > 0: ldg A[cta.m, 0] -> ra;  ldg B[cta.n, 0] -> rb;  sts ra -> a[0];  sts rb -> b[0]
    barrier
    for i in 0..tiles:
      LOAD: if i + 1 < tiles: ldg A[cta.m, i + 1] -> ra;  ldg B[cta.n, i + 1] -> rb
      math: READ
      barrier
      LOAD: if i + 1 < tiles: sts ra -> a[0];  sts rb -> b[0]
      barrier
";

pub(super) const REGISTERS: &str =
    "    LOAD: if tiles > 0: ldg A[cta.m, 0] -> ra;  ldg B[cta.n, 0] -> rb;  sts ra -> a[0];  sts rb -> b[0]
    barrier
    for i in 0..tiles:
      LOAD: if i + 1 < tiles: ldg A[cta.m, i + 1] -> ra;  ldg B[cta.n, i + 1] -> rb
      math: READ
      LOAD: if i + 1 < tiles: sts ra -> a[(i + 1) % stages];  sts rb -> b[(i + 1) % stages]
      barrier
";

pub(super) const DMA: &str = "    LOAD:
      for j in 0..min(stages - 1, tiles): MOVE A[cta.m, j] -> a[j];  MOVE B[cta.n, j] -> b[j]
    for i in 0..tiles:
      LOAD: wait vm <= (min(i + stages - 1, tiles) - i - 1) * q
      barrier
      LOAD:
        let next = i + stages - 1
        if next < tiles: MOVE A[cta.m, next] -> a[next % stages];  MOVE B[cta.n, next] -> b[next % stages]
      math: READ
";
