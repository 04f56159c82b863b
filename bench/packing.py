"""How close plans come to the most bytes ever in use, and what smaller budgets cost.

usage: packing.py [NETWORK ...]

For each network the `keep` plan's height over its maximal live bytes; then the smallest budget that
works, and at budgets between that and keeping everything: recomputations and predicted seconds.
"""

import sys

import program

BATCH = {"resnet50": 16, "vgg16": 16, "wrn-28-2": 100, "resnet18-64": 32, "wrn-16-2": 128}


def plan(name, budget, policy):
    return program.lowtide(
        "plan", program.network(name), "--batch", BATCH[name], "--budget", budget, "--policy", policy, "--momentum", "0.9", "--micro-batch",
        BATCH[name])


def main():
    for name in sys.argv[1:] or ["resnet50", "vgg16", "wrn-28-2"]:
        keep = plan(name, "64GiB", "keep")
        gap = keep["fragmentation_bytes"]
        print(f"{name}: keep {keep['arena_bytes'] / 2**20:.1f} MiB, "
              f"{100 * gap / (keep['arena_bytes'] - gap):.3f} % over the live bytes, planned in "
              f"{keep['planning_seconds']:.2f} s")
        smallest = plan(name, "100", "lowtide")["smallest_feasible_bytes"]
        largest = keep["arena_bytes"] + keep["runtime_bytes"]
        print(f"{'budget MiB':>12}{'of keep':>9}{'recomputed':>12}{'extra time':>12}")
        for i in range(6):
            budget = int(smallest + (largest - smallest) * i / 5)
            found = plan(name, budget, "lowtide")
            extra = found["predicted_seconds"] / keep["predicted_seconds"] - 1
            print(f"{budget / 2**20:>12.0f}{budget / largest:>8.0%}{found['recomputed']:>12}"
                  f"{extra:>11.1%}")


if __name__ == "__main__":
    main()
