"""Peak resident memory against the budget, inside a control group whose limit is the budget.

usage: budget_fidelity.py [--steps N] [NETWORK ...]

At the smallest feasible budget, 1.5 and 4 times it: trains, and prints the peak. One MiB below the
smallest the program must refuse and name it. Needs root and a memory controller (v1 or v2).
"""

import argparse
import os
import pathlib
import subprocess

import program

BATCH = {"resnet50": 16, "vgg16": 16, "wrn-28-2": 100, "resnet18-64": 32, "wrn-16-2": 128}
MIB = 2**20


class Group:
    """A control group with a memory limit; commands join it through `prefix`."""

    def __init__(self, limit):
        v1 = pathlib.Path("/sys/fs/cgroup/memory")
        self.path = (v1 if v1.is_dir() else pathlib.Path("/sys/fs/cgroup")) / f"lowtide-{os.getpid()}"
        self.path.mkdir()
        limit_file, self.members = (("memory.limit_in_bytes", "tasks") if v1.is_dir()
                                    else ("memory.max", "cgroup.procs"))
        (self.path / limit_file).write_text(str(limit))
        self.prefix = ["sh", "-c", f'echo $$ > {self.path / self.members}; exec "$@"', "sh"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.path.rmdir()


def arguments(name, budget):
    return [program.network(name), "--data", program.data(name, 2 * BATCH[name]), "--batch",
            BATCH[name], "--momentum", "0.9", "--budget", budget]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=["resnet18-64", "wrn-16-2"])
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    print(f"{'network':<14}{'budget MiB':>11}{'peak MiB':>10}{'of it':>7}{'s a step':>10}")
    for name in options.networks:
        smallest = program.lowtide("plan", *arguments(name, 100))["smallest_feasible_bytes"]
        for factor in (1, 1.5, 4):
            budget = int(smallest * factor)
            with Group(budget) as group:
                result = program.lowtide("train", *arguments(name, budget), "--steps",
                                         options.steps, prefix=group.prefix)
            peak = result["peak_rss_bytes"]
            verdict = "" if peak <= budget else "  OVER"
            print(f"{name:<14}{budget / MIB:>11.0f}{peak / MIB:>10.1f}{peak / budget:>7.0%}"
                  f"{result['step_seconds']['median']:>10.3f}{verdict}")
        command = [str(program.LOWTIDE), "train", *map(str, arguments(name, smallest - MIB)),
                   "--steps", "1"]
        refused = subprocess.run(command, capture_output=True, text=True, check=False)
        named = str(smallest) in refused.stderr
        print(f"{name:<14}{(smallest - MIB) / MIB:>11.0f}  "
              f"{'refused, names the smallest' if refused.returncode == 1 and named else 'WRONG'}")


if __name__ == "__main__":
    main()
