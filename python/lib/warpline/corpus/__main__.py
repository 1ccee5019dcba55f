"""The command line of a corpus: `python -m warpline.corpus`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Optional, Sequence

from warpline import corpus
from warpline._errors import Error
from warpline.corpus._verify import UNDECIDED

EPILOG = """\
Every command continues where the last call ended. Exit status: 0 fine, whatever the verdicts are; 1 kernels without a
verdict (stopped or crashed); 2 bad input; 130 interrupted.
"""


def _share(word: str) -> tuple[int, int]:
    """A share of the work: `3/8`."""
    i, slash, n = word.partition("/")
    if not slash or not i.isdecimal() or not n.isdecimal() or not 1 <= int(i) <= int(n):
        raise argparse.ArgumentTypeError(f"expected I/N with 1 <= I <= N, not `{word}`")
    return int(i), int(n)


def arguments() -> argparse.ArgumentParser:
    """The arguments of all commands."""
    parser = argparse.ArgumentParser(
        prog="python -m warpline.corpus",
        description="Compile, verify and report a corpus of kernels.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, words: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=words, description=words)
        made.add_argument("folder", type=Path, help="the folder of the corpus")
        return made

    run = command("run", "Compile the kernels of recipes, verify every kernel of the folder, and report.")
    generate = command("generate", "Compile the kernels of recipes into FOLDER/ptx.")
    verify = command("verify", "Verify the kernels of FOLDER/ptx.")
    command("report", "Write verdicts.csv, costs.csv and report.md from the records of all shares.")
    for made in (run, generate):
        made.add_argument(
            "--recipe", type=Path, action="append", default=[], help="a Python file with `kernels()`; repeatable"
        )
    for made in (run, generate, verify):
        made.add_argument("--workers", type=int, help="processes; one for each core by default")
        made.add_argument("--limit", type=float, default=3600.0, help="seconds after which a kernel is left out (3600)")
        made.add_argument("-q", "--quiet", action="store_true", help="no progress bar")
    for made in (run, verify):
        made.add_argument(
            "--fence", action="append", default=[], metavar="RULE=LEVEL", help="as for `warpline verify`; repeatable"
        )
    verify.add_argument(
        "--shard", type=_share, default=(1, 1), metavar="I/N", help="the I-th of N shares of the kernels"
    )
    return parser


def main(words: Optional[Sequence[str]] = None) -> int:
    """Run a command and return its exit status."""
    args = arguments().parse_args(words)
    fences = [f"--fence={level}" for level in getattr(args, "fence", [])]
    try:
        for recipe in getattr(args, "recipe", []):
            bar = _bar(args.quiet)
            corpus.generate(args.folder, recipe, workers=args.workers, limit_s=args.limit, progress=bar)
        if args.command == "generate":
            return 0
        if args.command == "report":
            found = corpus.report(args.folder)
        else:
            found = corpus.verify(
                args.folder,
                args=fences,
                shard=getattr(args, "shard", (1, 1)),
                workers=args.workers,
                limit_s=args.limit,
                progress=_bar(args.quiet),
            )
        if args.command != "verify":
            found.save(args.folder)
            print(found, end="")
    except Error as error:
        print(f"error: {str(error).strip()}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: the same command continues", file=sys.stderr)
        return 130
    return int(any(row["verdict"] in UNDECIDED for row in found.rows))


def _bar(quiet: bool) -> bool:
    """Whether a progress bar is shown: on a terminal, and with tqdm."""
    if quiet or not sys.stderr.isatty():
        return False
    try:
        import tqdm  # noqa: F401
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
