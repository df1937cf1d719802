"""Thumbnails of pictures, made by workers. Needs a node and a worker; run all three from this folder:

    headrace serve --at data --port 7420
    headrace work thumbnails:app --processes 2
    python thumbnails.py *.png

It stands in for real work: a "thumbnail" is the first bytes of a file.
"""

from __future__ import annotations

import sys
from concurrent.futures import as_completed
from pathlib import Path

import headrace

app = headrace.App("headrace://localhost")


@app.task(queue="thumbs", retries=5, backoff=headrace.Backoff(1, 60), timeout=30)
def thumbnail(path: str, width: int = 200) -> str:
    """Make a thumbnail beside the picture; the path of it."""
    target = Path(f"{path}.{width}.thumb")
    target.write_bytes(Path(path).read_bytes()[:width])
    return str(target)


def main(paths: list[str]) -> None:
    with app:
        results = {thumbnail.submit(path, width=100).future: path for path in paths}
        for future in as_completed(results):
            try:
                print(future.result())
            except headrace.TaskFailed as error:
                print(f"{results[future]}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
