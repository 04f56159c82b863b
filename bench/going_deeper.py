"""How deep a ResNet trains in 4 GiB more than an idle process: blocks 3, 4, N, 3 at 224 x 224.

usage: going_deeper.py [--gib G] [--batch N] [--threads N] [--spill FOLDER] [--try BLOCKS ...]

PyTorch's peak resident memory at two sizes gives its line, and that its deepest N; a process that has
only imported it is its idle one. Lowtide plans each N of --try, largest first, until one fits, and
trains it for a step inside the budget; with --spill FOLDER it may move state and activations to a
file there. Plain SGD. Needs torch and torchvision.
"""

import argparse
import json
import resource
import subprocess
import sys

import program

SIZES = (6, 18)  # blocks of the third stage, for PyTorch's line


def layers(blocks):
    return 3 * (3 + 4 + blocks + 3) + 2


def peak_of_torch(blocks, batch, threads):
    import torch
    from torchvision.models.resnet import Bottleneck, ResNet

    torch.set_num_threads(threads)
    if blocks:
        network = ResNet(Bottleneck, [3, 4, blocks, 3]).train().to(memory_format=torch.channels_last)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
        x = torch.randn(batch, 3, 224, 224).to(memory_format=torch.channels_last)
        y = torch.randint(0, 1000, (batch,))
        for _ in range(2):
            optimizer.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(network(x), y).backward()
            optimizer.step()
    print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024))


def torch_peak(blocks, options):
    output = subprocess.run(
        [sys.executable, __file__, "--torch", str(blocks), "--batch", str(options.batch),
         "--threads", str(options.threads)], capture_output=True, text=True, check=True).stdout
    return json.loads(output.splitlines()[-1])


def train_deepest(options, room):
    """The largest N of --try that fits, its plan and what its step took; None if none does."""
    data = program.data("resnet50", options.batch)
    for blocks in sorted(options.tries, reverse=True):
        path = program.WORK / f"resnet-3-4-{blocks}-3.onnx"
        program.lowtide("zoo", "resnet", "--blocks", f"3,4,{blocks},3", "--classes", 1000, "-o",
                        path, json_output=False)
        arguments = [path, "--data", data, "--batch", options.batch, "--threads", options.threads,
                     "--budget", room, "--costs", "model",
                     *(["--spill", options.spill] if options.spill else [])]
        plan = program.lowtide("plan", *arguments)
        if plan["fits"]:
            result = program.lowtide("train", *arguments, "--lr", 0.01, "--steps", 1)
            path.unlink()
            return blocks, result
        print(f"Lowtide: N = {blocks} does not fit", flush=True)
        path.unlink()
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=4)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--spill", metavar="FOLDER")
    parser.add_argument("--try", dest="tries", type=int, nargs="+", default=[700, 600, 500, 400])
    parser.add_argument("--torch", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.torch is not None:
        peak_of_torch(options.torch, options.batch, options.threads)
        return
    room = int(options.gib * 2**30)
    idle, first, second = (torch_peak(blocks, options) for blocks in (0, *SIZES))
    each = (second - first) / (SIZES[1] - SIZES[0])
    theirs = int(SIZES[0] + (room + idle - first) / each)
    print(f"PyTorch: idle {idle / 2**20:.0f} MiB, N = {SIZES[0]} {first / 2**20:.0f} MiB, "
          f"{SIZES[1]} {second / 2**20:.0f} MiB: N = {theirs}, {layers(theirs)} layers", flush=True)
    found = train_deepest(options, room)
    if found is None:
        print("Lowtide: none of --try fits")
        return
    ours, result = found
    print(f"Lowtide: N = {ours}, {layers(ours)} layers, a step of {result['step_seconds']['min']:.1f} s, "
          f"peak {result['peak_rss_bytes'] / 2**20:.0f} MiB: {layers(ours) / layers(theirs):.1f}x as deep")


if __name__ == "__main__":
    main()
