"""Seconds of a training step within the same bytes: recomputing, spilling, and doing both.

usage: spill_gain.py --spill FOLDER [--steps N] [--threads N] [--shares S ...] [NETWORK ...]

Three ways to fit one budget: what memory does not hold is computed again (no spill file), goes to
the file and comes back (--policy keep --spill), or the planner chooses (--spill). Budgets lie
between the smallest that recomputation reaches and what keeping everything takes, at the given
shares of the way. Extra time is over keeping everything: as planned from measured costs, and as the
best step took. Every run is a process of its own.
"""

import argparse

import program
import step_time


def arguments(name, options):
    return [*step_time.arguments(name, options.threads), "--micro-batch", step_time.BATCH[name],
            "--costs", "measured", "--cost-cache", program.WORK / "costs.json"]


def run(common, memory, options):
    """Predicted and measured seconds, peak bytes and seconds of waiting; None: does not fit."""
    if not program.lowtide("plan", *common, *memory)["fits"]:
        return None
    result = program.lowtide("train", *common, *memory, "--steps", options.steps)
    return {"predicted": result["plan"]["predicted_seconds"],
            "seconds": result["step_seconds"]["min"], "peak": result["peak_rss_bytes"],
            "waited": result.get("spill_wait_seconds", 0) / options.steps}


def show(what, point, keep):
    if point is None:
        print(f"    {what:<20}does not fit", flush=True)
        return
    extra = [point[key] / keep[key] - 1 for key in ("predicted", "seconds")]
    print(f"    {what:<20}{point['peak'] / 2**20:>9.0f}{point['predicted']:>11.3f}{extra[0]:>8.1%}"
          f"{point['seconds']:>11.3f}{extra[1]:>8.1%}{point['waited']:>9.3f}", flush=True)


def compare(name, options):
    common = arguments(name, options)
    print(f"{name:<24}{'peak MiB':>9}{'planned s':>11}{'extra':>8}{'step s':>11}{'extra':>8}"
          f"{'waits s':>9}")
    keep = run(common, ["--policy", "keep"], options)
    show("everything kept", keep, keep)
    least = program.lowtide("plan", *common)["smallest_feasible_bytes"]
    most = program.lowtide("plan", *common, "--policy", "keep")["smallest_feasible_bytes"]
    for share in options.shares:
        budget = int(least + share * (most - least))
        print(f"  {budget / 2**20:.0f} MiB")
        spill = ["--spill", options.spill]
        show("recomputing", run(common, ["--budget", budget], options), keep)
        show("spilling", run(common, ["--budget", budget, *spill, "--policy", "keep"], options),
             keep)
        show("both", run(common, ["--budget", budget, *spill], options), keep)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=["resnet50", "gpt2-small"],
                        metavar="NETWORK", help=", ".join(step_time.BATCH))
    parser.add_argument("--spill", metavar="FOLDER", required=True)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--shares", type=float, nargs="+", default=[0.05, 0.25, 0.5])
    options = parser.parse_args()
    for name in options.networks:
        if name not in step_time.BATCH:
            parser.error(f"no network '{name}'; there are {', '.join(step_time.BATCH)}")
    for name in options.networks:
        compare(name, options)


if __name__ == "__main__":
    main()
