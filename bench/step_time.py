"""Seconds per training step and peak resident memory: Lowtide (--policy keep) against PyTorch.

usage: step_time.py [--rounds N] [--steps N] [--threads N] [--realtime] [--ways WAY ...] [NETWORK ...]

Both train the same network from random weights on the same shapes: convolutional ones with SGD and
momentum, transformers with AdamW. PyTorch runs in each of its ways: eager, compiled and, for
convolutional networks, channels-last or not; the best one counts, --ways names fewer. They take
turns, each in a process of its own; the best step of all rounds counts. Run with a Python that has
torch and torchvision (mobilenet-v3, which PyTorch exports, needs onnx), as root or with the right
to `chrt` for --realtime.
"""

import argparse
import json
import resource
import subprocess
import sys
import time

import program

BATCH = {"densenet121": 16, "mobilenet-v3": 32, "googlenet": 16, "inception-v4": 16, "unet": 4,
         "gpt2-small": 4, "vit-b16": 8, "resnet50": 16, "vgg16": 16, "wrn-28-2": 100,
         "resnet18-64": 32, "wrn-16-2": 128}
OURS_ALONE = ("inception-v4", "unet")  # other benchmarks' networks, not written for PyTorch here
TRANSFORMERS = ("gpt2-small", "vit-b16")
WAYS = ("channels-last", "contiguous", "compiled")  # of PyTorch; the first is eager for all networks


def torch_network(name):
    import torch
    from torch import nn

    if name in TRANSFORMERS:
        import torch_transformers

        classes = program.NETWORKS[name][3]
        if name.startswith("gpt2"):
            return torch_transformers.Gpt2(classes, program.SEQUENCE)
        return torch_transformers.Vit(classes)

    if name in ("densenet121", "mobilenet-v3", "googlenet"):
        import torchvision

        classes = program.NETWORKS[name][3]
        if name == "googlenet":
            return torchvision.models.googlenet(num_classes=classes, aux_logits=False, init_weights=False)
        make = {"densenet121": torchvision.models.densenet121,
                "mobilenet-v3": torchvision.models.mobilenet_v3_large}[name]
        return make(num_classes=classes)

    if name.startswith("vgg"):
        import torchvision

        net = torchvision.models.vgg16(num_classes=program.NETWORKS[name][3])
        net.classifier = nn.Sequential(*(m for m in net.classifier if not isinstance(m, nn.Dropout)))
        return net

    if name.startswith("resnet"):
        import torchvision

        depth = name.removeprefix("resnet").split("-")[0]
        classes = program.NETWORKS[name][3]
        return getattr(torchvision.models, f"resnet{depth}")(num_classes=classes)

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.norm1, self.norm2 = nn.BatchNorm2d(inputs), nn.BatchNorm2d(outputs)
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.shortcut = None
            if stride != 1 or inputs != outputs:
                self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

        def forward(self, x):
            first = torch.relu_(self.norm1(x))
            y = self.conv2(torch.relu_(self.norm2(self.conv1(first))))
            return y + (x if self.shortcut is None else self.shortcut(first))

    _, depth, width = name.split("-")
    channels, classes = program.NETWORKS[name][1], program.NETWORKS[name][3]
    layers = [nn.Conv2d(channels, 16, 3, 1, 1, bias=False)]
    inputs = 16
    for group in range(3):
        outputs = 16 * int(width) * 2**group
        for block in range((int(depth) - 4) // 6):
            layers.append(Block(inputs, outputs, 2 if group and not block else 1))
            inputs = outputs
    layers += [nn.BatchNorm2d(inputs), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1),
               nn.Flatten(), nn.Linear(inputs, classes)]
    return nn.Sequential(*layers)


def batch_of(name):
    import torch

    _, channels, size, classes = program.NETWORKS[name]
    if channels is None:
        return torch.randint(0, classes, (BATCH[name], size)), torch.randint(
            0, classes, (BATCH[name] * size,))
    x = torch.randn(BATCH[name], channels, size, size)
    return x, torch.randint(0, classes, (BATCH[name],))


def prepare_torch(name, threads, channels_last):
    """The network in training mode, one batch, its labels and the optimizer."""
    import torch

    torch.set_num_threads(threads)
    network = torch_network(name).train()
    x, y = batch_of(name)
    if name in TRANSFORMERS:
        optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
    else:
        if channels_last:
            network, x = (t.to(memory_format=torch.channels_last) for t in (network, x))
        optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    return network, x, y, optimizer


def time_torch(call, x, y, optimizer, steps):
    """Trains and prints the seconds of the best step and VmHWM of this process."""
    import torch

    seconds = []
    for _ in range(steps):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(call(x), y).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": min(seconds), "peak": peak}))


def run_torch(name, steps, threads, way):
    import torch

    network, x, y, optimizer = prepare_torch(name, threads, way != "contiguous")
    time_torch(torch.compile(network) if way == "compiled" else network, x, y, optimizer, steps)


def onnx_file(name):
    """The network as Lowtide reads it: the zoo's, or PyTorch's export."""
    if program.NETWORKS[name][0]:
        return program.network(name)
    path = program.WORK / f"{name}.onnx"
    if not path.exists():
        import torch

        program.WORK.mkdir(exist_ok=True)
        torch.onnx.export(torch_network(name).train(), (batch_of(name)[0],), path, dynamo=False,
                          opset_version=17, training=torch.onnx.TrainingMode.TRAINING,
                          do_constant_folding=False, input_names=["input"])
    return path


def arguments(name, threads):
    """What Lowtide trains the network with, wherever its memory is."""
    update = ["--optimizer", "adamw", "--lr", "1e-4", "--weight-decay", "0.01"]
    if name not in TRANSFORMERS:
        update = ["--lr", "0.01", "--momentum", "0.9"]
    return [onnx_file(name), "--data", program.data(name, 2 * BATCH[name]), "--batch", BATCH[name],
            *update, "--threads", threads]


def run_lowtide(name, steps, threads, prefix):
    result = program.lowtide("train", *arguments(name, threads), "--steps", steps, "--policy",
                             "keep", prefix=prefix)
    return {"seconds": result["step_seconds"]["min"], "peak": result["peak_rss_bytes"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    paired = [name for name in BATCH if name not in OURS_ALONE]
    parser.add_argument("networks", nargs="*", default=["resnet50", "wrn-28-2"],
                        metavar="NETWORK", help=", ".join(paired))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--realtime", action="store_true", help="run both before other processes")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS, help="of PyTorch")
    parser.add_argument("--torch", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name in options.networks:
        if name not in paired:
            parser.error(f"no network '{name}'; there are {', '.join(paired)}")
    if options.torch:
        run_torch(options.networks[0], options.steps, options.threads, options.torch)
        return
    prefix = program.REALTIME if options.realtime else []
    print(f"{'network':<14}{'lowtide s':>11}{'torch s':>10}{'ratio':>8}"
          f"{'lowtide MiB':>13}{'torch MiB':>11}{'ratio':>8}")
    for name in options.networks:
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(run_lowtide(name, options.steps, options.threads, prefix))
            for way in options.ways:
                if way == "contiguous" and name in TRANSFORMERS:
                    continue
                output = subprocess.run(
                    [*prefix, sys.executable, __file__, "--torch", way, name, "--steps",
                     str(options.steps), "--threads", str(options.threads)],
                    capture_output=True, text=True, check=True).stdout
                theirs.append(json.loads(output.splitlines()[-1]))
        best = [min(run["seconds"] for run in runs) for runs in (ours, theirs)]
        peak = [min(run["peak"] for run in runs) / 2**20 for runs in (ours, theirs)]
        print(f"{name:<14}{best[0]:>11.3f}{best[1]:>10.3f}{best[0] / best[1]:>8.2f}"
              f"{peak[0]:>13.0f}{peak[1]:>11.0f}{peak[0] / peak[1]:>8.2f}")


if __name__ == "__main__":
    main()
