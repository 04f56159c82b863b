"""Exports well-known networks from PyTorch in several ways and trains each file.

usage: check.py [--lowtide PROGRAM] [--work FOLDER] [--only GLOB ...] [--exporters GLOB ...]
                [--markdown FILE] [--keep]

Needs PyTorch, torchvision, onnx and onnxruntime. For each network and exporter:

  inspect   the trained elements are as many as the module's parameters, the running statistics as
            its buffers
  run       the untrained file gives what PyTorch gives in float64, or is not much farther from that
            than onnxruntime (unless the file is in training mode)
  train     the loss falls on one batch
  budget    at the smallest budget the bytes are those of a run that keeps everything
  written   the trained file has the same interface and nodes, and onnxruntime and `run` agree
"""

import argparse
import ast
import dataclasses
import fnmatch
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from statistics import median

import numpy
import onnx
import onnxruntime
import torch
from torch import nn

import exporters
import zoo

ROOT = pathlib.Path(__file__).resolve().parents[2]
BATCH = 4
STEPS = 12
TOLERANCE = 1e-4  # relative to the largest output
FARTHER = 4  # times as far from float64 as onnxruntime is: rounding in another order
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d)
CONVOLUTIONS = (nn.Conv2d, nn.ConvTranspose2d)


class Failed(Exception):
    """What went wrong, in one line."""


def lowtide(options, *arguments, refusable=False):
    result = subprocess.run([options.lowtide, *map(str, arguments)], capture_output=True,
                            text=True, check=False, timeout=1800)
    if result.returncode != 0 and not (refusable and result.stdout):
        lines = result.stderr.strip().splitlines() or [f"exit code {result.returncode}"]
        raise Failed(f"{arguments[0]}: {lines[-1]}")
    return result.stdout


@dataclasses.dataclass
class File:
    """A model and one batch to train it on."""

    path: pathlib.Path
    arrays: dict  # by input
    label: numpy.ndarray
    training: tuple = ("--optimizer", "adam", "--lr", "3e-4", "--output", "logits")

    @property
    def batch(self):
        return len(self.label)

    def beside(self, name):
        return self.path.parent / name

    def write_data(self):
        numpy.savez(self.beside("train.npz"), **self.arrays, label=self.label)
        for name, array in self.arrays.items():
            numpy.save(self.beside(f"{name}.npy"), array)


def patches(random, image, label):
    """Adds bright and dark patches to images, and labels each pixel by which it is in."""
    coarse = random.choice([-1.0, 1.0], size=(len(image), *(side // 8 for side in label)))
    fine = coarse.repeat(8, axis=1).repeat(8, axis=2)
    return image + 2 * fine[:, None].astype(image.dtype), (fine > 0).astype(numpy.int64)


def generated(network, path):
    """Random inputs and labels for a network of the zoo; pixels are labelled by what they show."""
    random = numpy.random.default_rng(0)
    arrays = {}
    for name, shape in network.inputs.items():
        bound = getattr(shape, "bound", None)
        full = (BATCH, *shape)
        if bound is None:
            arrays[name] = random.standard_normal(full).astype(numpy.float32)
        else:
            arrays[name] = random.integers(bound, size=full)
    if "mask" in arrays:
        arrays["mask"][:, 0] = 1
    if "input" in arrays and network.label:
        arrays["input"], label = patches(random, arrays["input"], network.label)
        return File(path, arrays, label)
    return File(path, arrays, random.integers(network.classes, size=(BATCH, *network.label)))


def interface(path):
    graph = onnx.load(path, load_external_data=False).graph
    filled = {tensor.name for tensor in graph.initializer}
    ends = [value.SerializeToString() for value in (*graph.input, *graph.output)
            if value.name not in filled]
    return ends, [(node.name, node.op_type, node.output[0]) for node in graph.node]


def expected_counts(module, path, training):
    """Trained elements and elements of running statistics that the file should have."""
    modules = list(module.modules())
    if not training:  # auxiliary heads are no part of the file
        heads = [m for name in ("aux1", "aux2", "AuxLogits") if (m := getattr(module, name, None))]
        hidden = {id(m) for head in heads for m in head.modules()}
        modules = [m for m in modules if id(m) not in hidden]
    parameters = {id(p): p.numel() for m in modules for p in m.parameters(recurse=False)}
    norms = sum(m.num_features for m in modules if isinstance(m, NORMS))
    biases = sum(m.out_channels for m in modules
                 if isinstance(m, CONVOLUTIONS) and m.bias is not None)
    model = onnx.load(path, load_external_data=False)
    sizes = {t.name: int(numpy.prod(t.dims)) for t in model.graph.initializer}
    source = {n.output[0]: n.input[0] for n in model.graph.node if n.op_type == "Identity"}
    kept, kept_biases, lost = 0, 0, 0
    for node in model.graph.node:
        vectors = [source.get(name, name) for name in node.input]
        if node.op_type == "BatchNormalization":
            kept += sizes[vectors[3]]
        if node.op_type in ("Conv", "ConvTranspose") and len(vectors) > 2:
            kept_biases += sizes.get(vectors[2], 0)
        if node.op_type == "Gemm":
            lost += lost_bias(node, model)
    # What is left of a norm that is folded into a convolution is a bias, or nothing where it is 0.
    trained = sum(parameters.values()) - 2 * (norms - kept) - biases + kept_biases - lost
    return trained + gained_by_folding(module, model, sizes), 2 * kept


def lost_bias(gemm, model):
    """Elements of the zero bias that dynamo's optimizer took from a linear layer."""
    rules = [p.value for p in gemm.metadata_props if p.key == "pkg.onnxscript.rewriter.rule_name"]
    if not any("RemoveOptionalBias" in rule for rule in rules):
        return 0
    turned = any(a.name == "transB" and a.i for a in gemm.attribute)
    dims = next(t.dims for t in model.graph.initializer if t.name == gemm.input[1])
    return dims[0] if turned else dims[1]


def gained_by_folding(module, model, sizes):
    """Elements that dynamo's optimizer made more than the parameters it computed them from."""
    named = {name: p.numel() for name, p in module.named_parameters()}
    gained = 0
    for info in model.graph.value_info:
        notes = {p.key: p.value for p in info.metadata_props}
        folded = ast.literal_eval(notes.get("pkg.onnxscript.optimizer.folded_from", "[]"))
        sources = [name for name in folded if name in named]
        if info.name not in sizes or not sources:
            continue
        # Two layers shared it: the copy and its source are trained as one.
        if len(folded) == 1 and sources[0] in sizes:
            continue
        # A class token that is copied for each sample of a fixed batch is not trained.
        copied = info.type.tensor_type.shape.dim[0].dim_value == BATCH
        gained += 0 if copied else sizes[info.name]
        gained -= sum(named[name] for name in sources if name not in sizes)
    return gained


def close(found, wanted):
    scale = max(float(numpy.abs(wanted).max()), 1e-6)
    return float(numpy.abs(found - wanted).max()) / scale


def run_onnxruntime(file, path):
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, file.arrays)))


def run_lowtide(options, file, path):
    inputs = [word for name in file.arrays
              for word in ("--input", f"{name}={file.beside(name)}.npy")]
    lowtide(options, "run", path, *inputs, "-o", file.beside("out.npz"))
    with numpy.load(file.beside("out.npz")) as found:
        return dict(found)


def run_in_float64(module, file):
    """The outputs in the module's order."""
    arrays = [torch.from_numpy(array) for array in file.arrays.values()]
    training = module.training
    module.eval().double()
    with torch.no_grad():
        results = module(*(a.double() if a.dtype == torch.float32 else a for a in arrays))
    module.float().train(training)
    return [r.numpy() for r in (results if isinstance(results, tuple) else (results,))]


def compare_runs(options, file, path, what):
    found = run_lowtide(options, file, path)
    for name, wanted in run_onnxruntime(file, path).items():
        error = close(found[name], wanted)
        if not error < TOLERANCE:
            raise Failed(f"{what}: '{name}' is {error:.1e} from onnxruntime's")


def compare_untrained(options, module, file):
    found = run_lowtide(options, file, file.path)
    for (name, other), wanted in zip(run_onnxruntime(file, file.path).items(),
                                     run_in_float64(module, file)):
        error, theirs = close(found[name], wanted), close(other, wanted)
        if not error < max(TOLERANCE, FARTHER * theirs):
            raise Failed(f"untrained: '{name}' is {error:.1e} from float64, "
                         f"onnxruntime's {theirs:.1e}")


def data_arguments(file):
    return ("--data", file.beside("train.npz"), "--batch", file.batch, *file.training)


def train(options, file, out, *arguments):
    log = file.beside("log.jsonl")
    lowtide(options, "train", file.path, *data_arguments(file), "--no-shuffle", "-o", out, "--log",
            log, *arguments)
    return [json.loads(line)["loss"] for line in log.read_text().splitlines()]


def smallest_budget(options, file):
    planned = lowtide(options, "plan", file.path, *data_arguments(file), "--micro-batch",
                      file.batch, "--budget", 1, "--json", refusable=True)
    return json.loads(planned)["smallest_feasible_bytes"]


def check_counts(options, module, path, training):
    report = json.loads(lowtide(options, "inspect", path, "--batch", BATCH, "--json"))
    trained, statistics = expected_counts(module, path, training)
    moving = sum(t["elements"] for t in report["tensors"] if t["statistic"])
    if report["parameters"] != trained:
        raise Failed(f"inspect: {report['parameters']} trained elements, PyTorch has {trained}")
    if moving != statistics:
        raise Failed(f"inspect: {moving} elements of statistics, PyTorch has {statistics}")
    return "; ".join(report["notes"])


def weights_of(path):
    data = path.with_suffix(".onnx.data")
    return (data if data.exists() else path).read_bytes()


def check_training(options, file):
    trained = file.beside("trained.onnx")
    losses = train(options, file, trained, "--steps", STEPS)
    # Dropout makes single steps jump.
    if not median(losses[-4:]) < 0.95 * losses[0]:
        raise Failed(f"train: the loss went from {losses[0]:.3f} to {losses[-1]:.3f}")
    if interface(file.path) != interface(trained):
        raise Failed("written: interface or nodes differ")
    compare_runs(options, file, trained, "written")
    return f"loss {losses[0]:.3f} to {losses[-1]:.3f}"


def check_budget(options, file):
    steps = ("--steps", 2, "--micro-batch", file.batch)
    kept, small = file.beside("kept.onnx"), file.beside("small.onnx")
    train(options, file, kept, *steps, "--policy", "keep")
    budget = smallest_budget(options, file)
    train(options, file, small, *steps, "--budget", budget)
    if weights_of(kept) != weights_of(small):
        raise Failed("budget: other bytes than those of keeping everything")
    return f"{budget >> 20} MiB"


def run_parts(parts):
    """What went wrong in the parts, and what they have to tell."""
    failures, told = [], []
    for part in parts:
        try:
            told.append(part())
        except Failed as failure:
            failures.append(str(failure))
    return failures, [text for text in told if text]


def check(options, network, exporter, folder):
    """Everything for one network and exporter."""
    path = folder / "model.onnx"
    if options.keep and path.exists():
        module = network.make()
    else:
        module = exporters.export(network, exporter, BATCH, path)
    training = exporters.EXPORTERS[exporter].training
    file = generated(network, path)
    file.write_data()
    parts = [lambda: check_counts(options, module, path, training)]
    if not training:
        parts.append(lambda: compare_untrained(options, module, file))
    return run_parts([*parts, lambda: check_training(options, file),
                      lambda: check_budget(options, file)])


def markdown(results, columns):
    lines = ["| network | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name, row in results.items():
        lines.append(f"| {name} | " + " | ".join(row.get(c, "") for c in columns) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lowtide", default=str(ROOT / "build/release/cli/lowtide"))
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--only", nargs="*", default=["*"])
    parser.add_argument("--exporters", nargs="*", default=["*"])
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--keep", action="store_true", help="leave the files in the work folder, and use those found there")
    options = parser.parse_args()
    torch.set_num_threads(2)
    work = options.work or pathlib.Path(tempfile.mkdtemp(prefix="lowtide-networks-"))
    columns = [e for e in exporters.EXPORTERS
               if any(fnmatch.fnmatch(e, glob) for glob in options.exporters)]
    results, failures = {}, 0
    for name, network in zoo.NETWORKS.items():
        if not any(fnmatch.fnmatch(name, glob) for glob in options.only):
            continue
        for exporter in columns:
            folder = work / name / exporter
            folder.mkdir(parents=True, exist_ok=True)
            start = time.monotonic()
            try:
                wrong, told = check(options, network, exporter, folder)
                outcome = "no" if wrong else "yes"
            except Exception as error:  # an exporter's own failures have many types
                outcome, wrong, told = "-", [f"{type(error).__name__}: {str(error)[:300]!r}"], []
            failures += outcome == "no"
            results.setdefault(name, {})[exporter] = outcome
            print(f"{name:<16}{exporter:<16}{outcome:<4}{time.monotonic() - start:6.1f} s  "
                  f"{'; '.join(wrong + told)}", flush=True)
            if not options.keep:
                shutil.rmtree(folder)
    if options.markdown:
        options.markdown.write_text(markdown(results, columns))
    print(f"{failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
