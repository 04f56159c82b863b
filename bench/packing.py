"""How close plans come to the most bytes ever in use, and what smaller budgets cost.

usage: packing.py [NETWORK ...]

For each network the `keep` plan's height over its maximal live bytes; then the smallest budget that
works, and at budgets between that and keeping everything: the share of the arena's bytes that the plan
takes, its height over the live bytes, recomputations, predicted seconds over `keep`'s, and how much
of a step lies between them and the bound.
"""

import sys

import program

BATCH = {"resnet50": 16, "densenet121": 16, "unet": 4, "inception-v4": 16, "gpt2-small": 4, "vit-b16": 8, "vgg16": 16,
         "wrn-28-2": 100, "resnet18-64": 32, "wrn-16-2": 128}


def plan(name, budget, policy):
    return program.lowtide(
        "plan", program.network(name), "--batch", BATCH[name], "--budget", budget, "--policy", policy, "--costs", "model", "--momentum", "0.9", "--micro-batch",
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
        print(f"{'budget MiB':>12}{'of keep':>9}{'live MiB':>10}{'used':>8}{'gap':>8}{'recomputed':>12}"
              f"{'extra time':>12}{'to bound':>10}")
        for i in range(6):
            budget = int(smallest + (largest - smallest) * i / 5)
            found = plan(name, budget, "lowtide")
            extra = found["predicted_seconds"] / keep["predicted_seconds"] - 1
            to_bound = (found["predicted_seconds"] - found["lower_bound_seconds"]) / keep["predicted_seconds"]
            gap = found["fragmentation_bytes"]
            live = found["arena_bytes"] - gap
            used = found["arena_bytes"] / (budget - found["runtime_bytes"])
            print(f"{budget / 2**20:>12.0f}{budget / largest:>8.0%}{live / 2**20:>10.1f}{used:>8.1%}{gap / live:>8.2%}"
                  f"{found['recomputed']:>12}{extra:>11.1%}{to_bound:>10.1%}")


if __name__ == "__main__":
    main()
