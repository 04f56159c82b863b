#!/usr/bin/env python3
"""Runs the commands of a tutorial, in order, on tiny data: every block marked `sh`.

usage: run.py LOWTIDE TUTORIAL.md DOCS
"""

import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib


EXPORTED = pathlib.Path(__file__).resolve().parent.parent / "e2e" / "exported"


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width: int, height: int, colour: tuple[int, int, int]) -> bytes:
    """A noisy picture of mostly one colour."""
    rows = b"".join(
        b"\0" + bytes(min(255, max(0, c + random.randrange(-40, 40))) for _ in range(width) for c in colour)
        for _ in range(height)
    )
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def provide(folder: pathlib.Path, docs: pathlib.Path, exported: bool) -> None:
    """What tutorials say that a reader has: photos of three or four classes, a network that PyTorch
    exported, and some text."""
    random.seed(1)
    colours = {"cat": (200, 60, 60), "dog": (60, 200, 60), "hedgehog": (60, 60, 200)}
    if exported:
        colours["otter"] = (160, 160, 40)
        shutil.copy(EXPORTED / "convolutions_plain.onnx", folder / "model.onnx")
        shutil.copy(EXPORTED / "convolutions_plain.onnx.data", folder)
    for name, colour in colours.items():
        (folder / "photos" / name).mkdir(parents=True)
        for i in range(8):
            picture = png(60 + 5 * i, 90 - 4 * i, colour)
            (folder / "photos" / name / f"{i}.png").write_bytes(picture)
    text = b"".join(path.read_bytes() for path in sorted(docs.rglob("*.md")))
    (folder / "text.txt").write_bytes(text)


def main() -> int:
    lowtide, tutorial, docs = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    blocks = re.findall(r"^```sh\n(.*?)^```$", tutorial.read_text(), re.DOTALL | re.MULTILINE)
    if not blocks:
        sys.exit(f"{tutorial}: no block of commands")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        provide(folder, docs, exported="model.onnx" in "".join(blocks))
        script = f'set -euo pipefail\nPATH="{lowtide.parent}:$PATH"\nset -x\n' + "\n".join(blocks)
        return subprocess.run(["bash", "-c", script], cwd=folder).returncode


if __name__ == "__main__":
    sys.exit(main())
