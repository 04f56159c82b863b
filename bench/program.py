"""What the benchmarks share: the built program, its JSON, networks and data made once."""

import json
import math
import pathlib
import random
import struct
import subprocess
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOWTIDE = ROOT / "build/release/cli/lowtide"
WORK = pathlib.Path(tempfile.gettempdir()) / "lowtide-bench"
# Goes before a command that is to run before other processes. Not one that spills: its transfers
# would wait for whole time slices of the kernels.
REALTIME = ["chrt", "-r", "1"]


def lowtide(*arguments, json_output=True, prefix=()):
    """Runs the program and returns its JSON (or nothing); raises with its message on failure."""
    command = [*prefix, str(LOWTIDE), *map(str, arguments)] + (["--json"] if json_output else [])
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode not in (0, 1) or (result.returncode and not result.stdout):
        raise RuntimeError(f"{' '.join(command)}: exit {result.returncode}\n{result.stderr}")
    return json.loads(result.stdout) if json_output else None


SEQUENCE = 256  # tokens of a sample

# name: (zoo arguments, channels, size, classes); no channels: tokens
NETWORKS = {
    "gpt2-small": (["gpt2", "--sequence", str(SEQUENCE)], None, SEQUENCE, 50257),
    "vit-b16": (["vit"], 3, 224, 1000),
    "resnet50": (["resnet", "--depth", "50", "--classes", "1000"], 3, 224, 1000),
    "resnet18-64": (["resnet", "--depth", "18", "--classes", "10", "--size", "64"], 3, 64, 10),
    "densenet121": (["densenet", "--depth", "121", "--classes", "1000"], 3, 224, 1000),
    "inception-v4": (["inception", "--classes", "1000"], 3, 299, 1000),
    "unet": (["unet"], 3, 256, 2),  # classes are those of each pixel
    "mobilenet-v3": (None, 3, 224, 1000),  # not of the zoo: exported
    "googlenet": (None, 3, 224, 1000),
    "vgg16": (["vgg", "--depth", "16", "--classes", "1000"], 3, 224, 1000),
    "wrn-28-2": (["wrn", "--depth", "28", "--width", "2"], 3, 32, 10),
    "wrn-16-2": (
        ["wrn", "--depth", "16", "--width", "2", "--channels", "1", "--size", "28"], 1, 28, 10),
}


def network(name):
    """The ONNX file of a network of the zoo, written once."""
    WORK.mkdir(exist_ok=True)
    path = WORK / f"{name}.onnx"
    if not path.exists():
        lowtide("zoo", *NETWORKS[name][0], "-o", path, json_output=False)
    return path


def npy(dtype, shape, payload):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + payload


def data(name, samples):
    """Random samples with labels for a network, as an .npz, written once. Needs no NumPy."""
    path = WORK / f"{name}-{samples}.npz"
    if path.exists():
        return path
    WORK.mkdir(exist_ok=True)
    rng = random.Random(0)
    _, channels, size, classes = NETWORKS[name]

    def integers(*shape):
        count = math.prod(shape)
        return npy("<i8", shape, struct.pack(f"<{count}q", *(rng.randrange(classes)
                                                            for _ in range(count))))

    if channels is None:
        arrays = {"input": integers(samples, size), "label": integers(samples, size)}
    else:
        places = (samples, size, size) if name == "unet" else (samples,)
        arrays = {"input": images(rng, (samples, channels, size, size)), "label": integers(*places)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for array, content in arrays.items():
            archive.writestr(f"{array}.npy", content)
    return path


def images(rng, shape):
    # A short random block, rotated: enough to keep batch norm honest, quick to make.
    block = struct.pack(f"<{4 * 4096}f", *(rng.gauss(0, 1) for _ in range(4 * 4096)))
    size = 4 * math.prod(shape)
    return npy("<f4", shape, (block * (size // len(block) + 1))[:size])
