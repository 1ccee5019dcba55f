"""Tasks of a corpus on the threads of this process; each waits for a process that does the work."""

from __future__ import annotations

import queue
import threading
from typing import Callable, Sequence

from warpline._log import Log, Record


def each(
    names: Sequence[str],
    task: Callable[[str], Record],
    log: Log,
    workers: int,
    count: Callable[[int], object],
) -> None:
    """Keep the record of each task. An interruption or an error ends all workers; finished records stay."""
    todo: "queue.Queue[str]" = queue.Queue()
    for name in names:
        todo.put(name)
    lock, stop, failures = threading.Lock(), threading.Event(), list[BaseException]()
    done = [0]

    def work() -> None:
        try:
            while not stop.is_set():
                name = todo.get_nowait()
                record = task(name)
                with lock:
                    if not stop.is_set():
                        log.add(name, record)
                        done[0] += 1
        except queue.Empty:
            return
        except BaseException as error:
            failures.append(error)
            stop.set()

    threads = [threading.Thread(target=work) for _ in range(max(1, min(workers, len(names))))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)
                count(done[0])
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
    count(done[0])
