"""The command line: the same entry as the `warpline` binary."""

import signal
import sys

from warpline import _native


def main() -> int:
    """Run the command line of this process and return its exit status, 0 to 3."""
    # Python's handler would only note Ctrl-C until the work is done.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.main(["warpline", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
