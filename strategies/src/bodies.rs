//! Loops of the generated protocols, as text with placeholders in capitals.

pub(crate) const READ: &str =
    "lds a[i % stages].rows(self) : A[cta.m, i] -> fa;  lds b[i % stages] : B[cta.n, i] -> fb;  mma fa, fb -> acc";
pub(crate) const READ_MANUAL: &str = "lds a[i % stages].rows(self) : A[cta.m, i] -> fa;  lds b[i % stages] : B[cta.n, i] -> fb;  wait lgkm <= 0;  mfma fa, fb -> acc";

pub(crate) const TMA_WHOLE: &str = "    load: elect:
      for i in self..tiles step PRODUCERS:
        wait empty[i % stages] for i / stages - 1
        arrive full[i % stages] expect bytes(a) + bytes(b)
        tma A[cta.m, i] -> a[i % stages] signals full[i % stages]
        tma B[cta.n, i] -> b[i % stages] signals full[i % stages]
";

pub(crate) fn tma_parts(producers: i64) -> String {
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

pub(crate) const CONSUME: &str = "    math:
      for i in 0..tiles:
        wait full[i % stages] for i / stages
        lds a[i % stages].rows(self) : A[cta.m, i] -> fa;  lds b[i % stages] : B[cta.n, i] -> fb
        mma fa, fb -> acc
        arrive empty[i % stages] per warp
";

pub(crate) const WGMMA_ONE: &str = "    math:
      for i in 0..tiles:
        wait full[i % stages] for i / stages
        wgmma.fence
        wgmma a[i % stages].rows(self) : A[cta.m, i], b[i % stages] : B[cta.n, i] -> acc
        commit wgmma;  wait wgmma <= 0
        arrive empty[i % stages] per warp
";

pub(crate) const WGMMA: &str = "    math:
      for i in 0..tiles:
        wait full[i % stages] for i / stages
        wgmma.fence
        wgmma a[i % stages].rows(self) : A[cta.m, i], b[i % stages] : B[cta.n, i] -> acc
        commit wgmma;  wait wgmma <= 1
        if i > 0: arrive empty[(i - 1) % stages] per warp
      wait wgmma <= 0
";

pub(crate) const UMMA: &str = "    warp 4: elect:
      for i in 0..tiles:
        wait full[i % stages] for i / stages
        umma a[i % stages] : A[cta.m, i], b[i % stages] : B[cta.n, i] -> acc
        commit umma -> empty[i % stages]
      commit umma -> done
";

pub(crate) const UMMA_END: &str = "    math:
      wait done for 0
      tmem.fence after
      if tiles > 0: tmem.ld acc.rows(self) -> r;  wait tmem.ld <= 0;  store r -> C[cta.m, cta.n].rows(self)
    barrier
    warp 1: tmem.dealloc acc
";

pub(crate) const CP_MBAR: &str = "    load:
     for i in 0..tiles:
      wait empty[i % stages] for i / stages - 1
      cp A[cta.m, i] -> a[i % stages];  cp B[cta.n, i] -> b[i % stages]
      cp.arrive full[i % stages] NOINC
      COUNTED
     commit cp;  wait cp <= 0
";

pub(crate) const NAMED: &str = "    load:
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

pub(crate) const STEP_ONE: &str = "    for i in 0..tiles:
      LOAD: MOVE A[cta.m, i] -> a[0];  MOVE B[cta.n, i] -> b[0];  LANDED
      barrier
      math: READ
      barrier
";

pub(crate) const CP_GROUPS: &str = "    LOAD:
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

pub(crate) const LOADS: &str = "    for j in 0..stages - 1:
      if j < tiles: LOAD: MOVE A[cta.m, j] -> a[j];  MOVE B[cta.n, j] -> b[j]
    barrier
    for i in 0..tiles:
      LOAD:
        let next = i + stages - 1
        if next < tiles: MOVE A[cta.m, next] -> a[next % stages];  MOVE B[cta.n, next] -> b[next % stages]
      math: READ
      barrier
";

pub(crate) const REGISTERS_ONE: &str =
    "    LOAD: if tiles > 0: ldg A[cta.m, 0] -> ra;  ldg B[cta.n, 0] -> rb;  sts ra -> a[0];  sts rb -> b[0]
    barrier
    for i in 0..tiles:
      LOAD: if i + 1 < tiles: ldg A[cta.m, i + 1] -> ra;  ldg B[cta.n, i + 1] -> rb
      math: READ
      barrier
      LOAD: if i + 1 < tiles: sts ra -> a[0];  sts rb -> b[0]
      barrier
";

pub(crate) const REGISTERS: &str =
    "    LOAD: if tiles > 0: ldg A[cta.m, 0] -> ra;  ldg B[cta.n, 0] -> rb;  sts ra -> a[0];  sts rb -> b[0]
    barrier
    for i in 0..tiles:
      LOAD: if i + 1 < tiles: ldg A[cta.m, i + 1] -> ra;  ldg B[cta.n, i + 1] -> rb
      math: READ
      LOAD: if i + 1 < tiles: sts ra -> a[(i + 1) % stages];  sts rb -> b[(i + 1) % stages]
      barrier
";

pub(crate) const DMA: &str = "    LOAD:
      for j in 0..min(stages - 1, tiles): MOVE A[cta.m, j] -> a[j];  MOVE B[cta.n, j] -> b[j]
    for i in 0..tiles:
      LOAD: wait vm <= (min(i + stages - 1, tiles) - i - 1) * q
      barrier
      LOAD:
        let next = i + stages - 1
        if next < tiles: MOVE A[cta.m, next] -> a[next % stages];  MOVE B[cta.n, next] -> b[next % stages]
      math: READ
";

pub(crate) const MULTICAST: &str = "    load: elect:
      for i in 0..tiles:
        wait empty[i % stages] for i / stages - 1
        arrive full[i % stages] expect bytes(a) + bytes(b)
        tma A[0, i].rows(cta, CTAS) -> a[i % stages].rows(cta, CTAS) signals full[i % stages] multicast EVERYBODY
        tma B[cta, i] -> b[i % stages] signals full[i % stages]
    math:
      for i in 0..tiles:
        wait full[i % stages] for i / stages
        lds a[i % stages].rows(self) : A[0, i] -> fa;  lds b[i % stages] : B[cta, i] -> fb
        mma fa, fb -> acc
        arrive empty[i % stages] @ctas EVERYBODY per warp cluster
";

pub(crate) const NEIGHBOURS: &str = "    for i in 0..tiles:
      math:
        ldg A[cta, i].rows(self) -> r
        sts r -> a[i % stages].rows(self) @cta (cta + 1) % CTAS
      cluster.sync
      math: lds a[i % stages].rows(self) : A[(cta + CTAS - 1) % CTAS, i] -> fa;  alu fma 16 x 16 uses fa
      if stages == 1: cluster.sync
";

pub(crate) const BULK: &str = "    for i in 0..tiles:
      warp 0: elect: wait bulk.read <= stages - 1
      barrier
      math:
        ldg A[i, 0].rows(self) -> r
        sts r -> a[i % stages].rows(self)
        fence async
      barrier
      warp 0: elect: tma.store a[i % stages] : A[i, 0] -> C[i, 0];  commit bulk
    warp 0: elect: wait bulk <= 0
";
