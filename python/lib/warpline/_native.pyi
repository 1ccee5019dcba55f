from typing import Callable, Mapping, Optional, Sequence

__version__: str

def answer(
    args: Sequence[str],
    texts: Mapping[str, str],
    progress: Optional[Callable[[int, int], object]] = None,
) -> tuple[int, str, str, bytes]:
    """Answer a command line: status, text, JSON and picture. `texts` stand in the place of files, by name."""

def main(args: Sequence[str]) -> int:
    """Run the command line with the process's streams and return its exit status."""

def scenarios() -> list[str]:
    """Names of the built-in scenarios."""

def machines() -> list[str]:
    """Names of the built-in machines."""
