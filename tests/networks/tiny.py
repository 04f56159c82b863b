"""Writes the small exported networks that the end-to-end tests train (tests/e2e/exported).

usage: tiny.py

Fresh weights on purpose: exporters merge what is equal then. Beside the files lie the data, and in
expected.json what PyTorch has: parameters, statistics, the output in inference mode and the loss of
the first step (without dropout; of the eval mode where batch norm is folded away).
"""

import json
import pathlib
import warnings

import numpy
import onnx
import torch
from torch import nn
from torch.nn import functional as F

import check
import exporters

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "e2e/exported"
BATCH = check.BATCH = 6
CLASSES = 4


def convolution(inside, outside, size=3, stride=1, groups=1):
    return nn.Sequential(
        nn.Conv2d(inside, outside, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outside))


class Squeeze(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.down, self.up = nn.Conv2d(width, 4, 1), nn.Conv2d(4, width, 1)

    def forward(self, x):
        scale = F.adaptive_avg_pool2d(x, 1)
        return x * torch.sigmoid(self.up(F.silu(self.down(scale))))


class Convolutions(nn.Module):
    """Residual and shuffled blocks with batch norm, squeeze-and-excite, dropout before the end."""

    def __init__(self):
        super().__init__()
        self.stem = convolution(3, 8, stride=2)
        self.block = nn.Sequential(convolution(8, 16, 1), nn.ReLU6(),
                                   convolution(16, 16, groups=16), nn.Hardswish(),
                                   Squeeze(16), convolution(16, 8, 1))
        self.branch = convolution(4, 4)
        self.drop = nn.Dropout(0.3)
        self.head = nn.Linear(8, CLASSES)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = x + self.block(x)
        left, right = x.chunk(2, dim=1)
        x = torch.cat((left, F.relu(self.branch(right))), dim=1)
        x = x.view(-1, 2, 4, *x.shape[2:]).transpose(1, 2).flatten(1, 2)
        return self.head(self.drop(x.mean((2, 3))))


class Window(nn.Module):
    """Attention with a table of relative positions, as Swin has it."""

    def __init__(self, width, heads, tokens):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.table = nn.Parameter(torch.randn(2 * tokens - 1, heads) * 0.02)
        places = torch.arange(tokens)
        self.register_buffer("index", (places[:, None] - places[None, :] + tokens - 1).flatten())
        self.scale = nn.Parameter(torch.full((width,), 0.1))
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(batch, tokens, 3, self.heads, -1).permute(
            2, 0, 3, 1, 4)
        bias = self.table[self.index].view(tokens, tokens, -1).permute(2, 0, 1)
        scores = q * (width // self.heads) ** -0.5 @ k.transpose(-2, -1) + bias
        y = (self.drop(scores.softmax(-1)) @ v).transpose(1, 2).reshape(batch, tokens, width)
        return x + self.scale * self.out(y)


class Tokens(nn.Module):
    """Patches, a class token, positions, relative attention with layer scale, GELU."""

    def __init__(self, width=16):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 4, 4)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.place = nn.Parameter(torch.randn(1, 10, width) * 0.02)
        self.blocks = nn.ModuleList(Window(width, 2, 10) for _ in range(2))
        self.norm, self.mlp = nn.LayerNorm(width), nn.Linear(width, width)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.place
        for block in self.blocks:
            x = block(x)
        return self.head(F.gelu(self.mlp(self.norm(x)))[:, 0])


class Heads(nn.Module):
    """An auxiliary head that exists in training only."""

    def __init__(self):
        super().__init__()
        self.first, self.second = convolution(3, 6, stride=2), convolution(6, 6, stride=2)
        self.aux, self.head = nn.Linear(6, CLASSES), nn.Linear(6, CLASSES)

    def forward(self, x):
        x = F.relu(self.first(x))
        y = self.head(F.relu(self.second(x)).mean((2, 3)))
        return (y, self.aux(x.mean((2, 3)))) if self.training else y


CASES = {  # name: (module, exporter)
    "convolutions_dynamo": (Convolutions, "dynamo-18"),
    "convolutions_plain": (Convolutions, "dynamo-plain"),
    "convolutions_script13": (Convolutions, "script-13"),
    "convolutions_script17_train": (Convolutions, "script-17-train"),
    "convolutions_eval": (Convolutions, "script-eval"),
    "tokens_dynamo": (Tokens, "dynamo"),
    "tokens_plain": (Tokens, "dynamo-plain"),
    "tokens_script17": (Tokens, "script-17"),
    "tokens_script13_train": (Tokens, "script-13-train"),
    "heads_script13_train": (Heads, "script-13-train"),
}


def strip(path):
    """Drops what the exporter notes of its own machine and source lines."""
    model = onnx.load(path, load_external_data=False)
    for node in model.graph.node:
        kept = [p for p in node.metadata_props if p.key == "pkg.onnxscript.rewriter.rule_name"]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    onnx.save(model, path)


def write_case(name, make, exporter, x, label):
    torch.manual_seed(0)
    folds = exporter in ("dynamo", "dynamo-18", "script-eval")
    module = make().train(exporters.EXPORTERS[exporter].training)
    path = FOLDER / f"{name}.onnx"
    outputs = ["logits", "aux"] if make is Heads else ["logits"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exporters.EXPORTERS[exporter].export(module, (x,), str(path), ["input"], outputs)
    strip(path)
    # Tracing in training mode has moved the running statistics, in the file as well.
    module.eval()
    with torch.no_grad():
        logits = module(x)
        if not folds:
            for part in module.modules():
                part.training = not isinstance(part, nn.Dropout)
        answer = module(x)
        loss = F.cross_entropy(answer[0] if isinstance(answer, tuple) else answer, label)
    trained, moving = check.expected_counts(
        module, path, exporters.EXPORTERS[exporter].training)
    return {"parameters": trained, "statistics": moving, "loss": float(loss),
            "logits": logits.flatten().tolist()}


def main():
    FOLDER.mkdir(exist_ok=True)
    torch.manual_seed(1)
    x, label = torch.randn(BATCH, 3, 12, 12), torch.randint(CLASSES, (BATCH,))
    numpy.savez(FOLDER / "data.npz", input=x.numpy(), label=label.numpy())
    expected = {name: write_case(name, *case, x, label) for name, case in CASES.items()}
    (FOLDER / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
