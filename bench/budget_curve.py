"""Seconds and bytes of a training step under smaller and smaller budgets, against checkpointing.

usage: budget_curve.py [--steps N] [--threads N] [--compiled] [--realtime] [--spill FOLDER]
                       [NETWORK ...]

PyTorch trains the network as it is (eager) and with torch.utils.checkpoint over 2, 4, 8, .. segments
of its blocks up to one for each; with --compiled also as torch.compile makes it for activation
budgets of 1 and 0.5. Lowtide trains with everything kept, and inside each number of bytes that
PyTorch's process reached at its peak, and inside 0.35 and 0.2 of what the eager one reached; with
--spill FOLDER it may move state and activations to a file there.
Every run is a process of its own; the best step counts. Needs torch and torchvision.
"""

import argparse
import json
import subprocess
import sys

import program
import step_time

CURVES = ("resnet50", "gpt2-small", "vit-b16", "wrn-28-2")
FRACTIONS = (0.35, 0.2)  # of the eager process's peak


def stages(name, network):
    """The network as modules in a row, blocks one by one, and what comes after the last."""
    from torch import nn

    if name == "gpt2-small":
        class Embed(nn.Module):
            def __init__(self):
                super().__init__()
                self.tokens, self.positions = network.tokens, network.positions

            def forward(self, x):
                return self.tokens(x) + self.positions

        def head(x):
            return (network.norm(x) @ network.tokens.weight.t()).flatten(0, 1)

        return Embed(), list(network.blocks), head
    if name == "vit-b16":
        class Patches(nn.Module):
            def forward(self, x):
                import torch

                x = network.patches(x).flatten(2).transpose(1, 2)
                return torch.cat([network.class_token.expand(len(x), -1, -1), x], 1) + network.positions

        return Patches(), list(network.blocks), lambda x: network.head(network.norm(x)[:, 0])
    if name.startswith("resnet"):
        stem = nn.Sequential(network.conv1, network.bn1, network.relu, network.maxpool)
        blocks = [b for i in range(1, 5) for b in getattr(network, f"layer{i}")]
        return stem, blocks, lambda x: network.fc(network.avgpool(x).flatten(1))
    layers = list(network)
    return layers[0], layers[1:-5], nn.Sequential(*layers[-5:])


def checkpointed(name, network, segments):
    """A call that keeps only what goes into each segment of blocks."""
    from torch import nn
    from torch.utils import checkpoint

    stem, blocks, head = stages(name, network)
    body = nn.Sequential(*blocks)

    def call(x):
        # The last segment is run plainly by checkpoint_sequential: there is nothing to save there.
        return head(checkpoint.checkpoint_sequential(body, segments, stem(x), use_reentrant=False))

    return call, len(blocks)


def run_torch(name, way, steps, threads):
    import torch

    network, x, y, optimizer = step_time.prepare_torch(name, threads, channels_last=True)
    kind, _, value = way.partition(":")
    call = network
    if kind == "checkpoint":
        call, _ = checkpointed(name, network, int(value))
    if kind == "compiled":
        torch._functorch.config.activation_memory_budget = float(value)
        call = torch.compile(network)
    step_time.time_torch(call, x, y, optimizer, steps)


def torch_point(name, way, options, prefix):
    output = subprocess.run(
        [*prefix, sys.executable, __file__, name, "--torch", way, "--steps", str(options.steps),
         "--threads", str(options.threads)], capture_output=True, text=True, check=True).stdout
    return json.loads(output.splitlines()[-1])


def lowtide_point(name, budget, options, prefix):
    """None where the budget is too small."""
    memory = ["--policy", "keep"]
    if budget is not None:
        memory = ["--budget", budget, "--micro-batch", step_time.BATCH[name]]
        memory += ["--spill", options.spill] if options.spill else []
    arguments = [*step_time.arguments(name, options.threads), *memory]
    if budget is not None and not program.lowtide("plan", *arguments)["fits"]:
        return None
    result = program.lowtide("train", *arguments, "--steps", options.steps, prefix=prefix)
    return {"seconds": result["step_seconds"]["min"], "peak": result["peak_rss_bytes"]}


def show(what, point, whole):
    if point is None:
        print(f"  {what:<28}does not fit", flush=True)
    else:
        print(f"  {what:<28}{point['peak'] / 2**20:>9.0f}{point['seconds']:>9.3f}"
              f"{point['seconds'] / whole['seconds'] - 1:>9.1%}", flush=True)


def curve(name, options, prefix):
    print(f"{name:<30}{'peak MiB':>9}{'s/step':>9}{'extra':>9}")
    eager = torch_point(name, "eager", options, prefix)
    show("PyTorch eager", eager, eager)
    points = [("eager's bytes", eager["peak"])]
    _, blocks = checkpointed(name, step_time.torch_network(name), 1)
    ways, segments = [], 2
    while segments < blocks:
        ways.append(f"checkpoint:{segments}")
        segments *= 2
    ways.append(f"checkpoint:{blocks}")
    if options.compiled:
        ways += ["compiled:1", "compiled:0.5"]
    for way in ways:
        point = torch_point(name, way, options, prefix)
        show(f"PyTorch {way}", point, eager)
        points.append((way, point["peak"]))
    points += [(f"{f} of eager's bytes", int(f * eager["peak"])) for f in FRACTIONS]
    keep = lowtide_point(name, None, options, prefix)
    show("Lowtide keep", keep, keep)
    for what, budget in points:
        show(f"Lowtide, {what}", lowtide_point(name, budget, options, prefix), keep)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=["resnet50", "gpt2-small"],
                        metavar="NETWORK", help=", ".join(CURVES))
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--realtime", action="store_true", help="run all before other processes")
    parser.add_argument("--spill", metavar="FOLDER")
    parser.add_argument("--torch", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name in options.networks:
        if name not in CURVES:
            parser.error(f"no curve of '{name}'; there are {', '.join(CURVES)}")
    if options.torch:
        run_torch(options.networks[0], options.torch, options.steps, options.threads)
        return
    if options.realtime and options.spill:
        parser.error("--realtime does not go with --spill: transfers would wait for the kernels")
    prefix = program.REALTIME if options.realtime else []
    for name in options.networks:
        curve(name, options, prefix)


if __name__ == "__main__":
    main()
