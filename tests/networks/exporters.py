"""PyTorch's exporters, called the ways people call them."""

import dataclasses
import warnings
from collections.abc import Callable

import torch
from torch import nn

PRESERVE = torch.onnx.TrainingMode.PRESERVE
TRAINING = torch.onnx.TrainingMode.TRAINING


@dataclasses.dataclass
class Exporter:
    export: Callable  # (module, arguments, path, input names, output names)
    training: bool = False  # the module is exported in training mode


def dynamo(opset, dynamic, **options):
    def export(module, arguments, path, inputs, outputs):
        shapes = tuple({0: torch.export.Dim("batch")} for _ in inputs) if dynamic else None
        torch.onnx.export(module, arguments, path, dynamo=True, opset_version=opset, verbose=False,
                          input_names=inputs, output_names=outputs, dynamic_shapes=shapes, **options)

    return Exporter(export)


def torchscript(opset, mode, dynamic, folding=False):
    def export(module, arguments, path, inputs, outputs):
        axes = {name: {0: "batch"} for name in (*inputs, *outputs)} if dynamic else None
        torch.onnx.export(module, arguments, path, dynamo=False, opset_version=opset, training=mode,
                          do_constant_folding=folding, input_names=inputs, output_names=outputs,
                          dynamic_axes=axes)

    return Exporter(export, training=mode == TRAINING)


EXPORTERS = {
    "dynamo": dynamo(20, dynamic=False),
    "dynamo-18": dynamo(18, dynamic=True),
    "dynamo-plain": dynamo(18, dynamic=True, optimize=False),
    "script-eval": torchscript(17, torch.onnx.TrainingMode.EVAL, dynamic=True, folding=True),
    "script-13": torchscript(13, PRESERVE, dynamic=False),
    "script-17": torchscript(17, PRESERVE, dynamic=True),
    "script-13-train": torchscript(13, TRAINING, dynamic=True),
    "script-17-train": torchscript(17, TRAINING, dynamic=False),
}


def settle_statistics(module, arguments):
    """Makes the running statistics those of a batch, as training would have.

    With those of a fresh network, what is left of a folded norm would let the signal die out.
    """
    norms = [m for m in module.modules() if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d))]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 1.0
    with torch.no_grad():
        module.train()(*arguments)
    for norm, momentum in zip(norms, momenta):
        norm.momentum = momentum


def export(network, name, batch, path):
    """Writes the network as that exporter does and returns the module."""
    torch.manual_seed(0)
    exporter = EXPORTERS[name]
    module = network.make()
    arguments = []
    for shape in network.inputs.values():
        bound = getattr(shape, "bound", None)
        full = (batch, *shape)
        arguments.append(torch.randn(full) if bound is None else torch.randint(bound, full))
    settle_statistics(module, arguments)
    module.train(exporter.training)
    outputs = network.training_outputs if exporter.training else network.outputs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exporter.export(module, tuple(arguments), str(path), list(network.inputs), list(outputs))
    return module
