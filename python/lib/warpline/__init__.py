"""warpline: simulate, prove and draw the software pipelines inside GPU kernels.

>>> import warpline
>>> warpline.run("metal/triple_buffer").cycles > 0
True
>>> warpline.verify("hopper/tma_wgmma").proved
True

Every function takes a kernel as the name of a built-in scenario (`warpline.scenarios()`), as a path (`.toml`, `.pipe`,
`.ptx`), as text (a kernel or PTX), or as a compiled kernel of Triton. No GPU is needed, and torch and triton are not
imported.
"""

from warpline._api import (
    barriers,
    compare,
    gantt,
    machines,
    plan,
    proved,
    report,
    run,
    scenarios,
    sweep,
    verify,
    whatif,
)
from warpline._errors import Error
from warpline._native import __version__
from warpline._results import Barriers, Chart, Comparison, Plan, Report, Run, Sweep, Verdict, Whatif

__all__ = [
    "Barriers",
    "Chart",
    "Comparison",
    "Error",
    "Plan",
    "Report",
    "Run",
    "Sweep",
    "Verdict",
    "Whatif",
    "__version__",
    "barriers",
    "compare",
    "gantt",
    "machines",
    "plan",
    "proved",
    "report",
    "run",
    "scenarios",
    "sweep",
    "verify",
    "whatif",
]
