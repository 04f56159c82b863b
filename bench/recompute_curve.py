"""What it costs to keep fewer bytes: extra time of a step at shares of the bytes that `keep` takes.

usage: recompute_curve.py [--rounds N] [--steps N] [--threads N] [--realtime] [--predict]
                          [--costs WHENCE] [--spill FOLDER] [NETWORK[=SHARE,SHARE..] ...]

Bytes are those of activations, gradients and workspaces: the arena beside the state. Whole batches
(no micro-batches), SGD with momentum, transformers AdamW. For each share the budget that leaves so
many bytes is planned and trained in, in turn with `keep`; the best step of all rounds counts.
--predict plans only. googlenet is PyTorch's export (needs torch and torchvision).
"""

import argparse

import program
import step_time

# The shares at which the literature and exact solutions tell what is possible.
SHARES = {"resnet50": (0.66, 0.5, 0.33), "vgg16": (0.48, 0.3), "unet": (0.35,),
          "googlenet": (0.33,), "densenet121": (0.36,), "inception-v4": (0.36,),
          "gpt2-small": (0.5, 0.3), "wrn-28-2": (1 / 5.8,)}


def arguments(name, options):
    return [*step_time.arguments(name, options.threads), "--micro-batch", step_time.BATCH[name],
            "--costs", options.costs]


def seconds(name, where, options, prefix):
    result = program.lowtide("train", *arguments(name, options), *where, "--steps", options.steps,
                             prefix=prefix)
    return result["step_seconds"]["min"]


def planned(name, where, options):
    return program.lowtide("plan", *arguments(name, options), *where)


def curve(name, shares, options, prefix):
    keep = ["--policy", "keep"]
    sweep = planned(name, ["--sweep"], options)["sweep"]
    kept = next(c for c in sweep["curves"] if c["policy"] == "keep")["points"][-1]
    print(f"{name}: keep takes {sweep['keep_bytes'] / 2**20:.0f} MiB beside the state, "
          f"{kept['predicted_seconds']:.3f} s predicted", flush=True)
    ways = [(share, ["--budget", int(kept["budget_bytes"] - (1 - share) * sweep["keep_bytes"])]
             + (["--spill", options.spill] if options.spill else [])) for share in shares]
    plans = {share: planned(name, where, options) for share, where in ways}
    fitting = [(share, where) for share, where in ways if plans[share]["fits"]]
    best = {}
    for _ in range(0 if options.predict else options.rounds):
        for share, where in [(1, keep), *fitting]:
            time = seconds(name, where, options, prefix)
            best[share] = min(time, best.get(share, time))
    if best:
        print(f"  keep takes {best[1]:.3f} s", flush=True)
    for share, where in ways:
        plan = plans[share]
        line = f"  {share:>6.1%} {where[1] / 2**20:>8.0f} MiB"
        if not plan["fits"]:
            print(line + "  does not fit", flush=True)
            continue
        line += f"  predicted {plan['predicted_seconds'] / kept['predicted_seconds'] - 1:>+7.1%}"
        if share in best:
            line += f"  measured {best[share] / best[1] - 1:>+7.1%}"
            line += f"  (measured / predicted {best[share] / plan['predicted_seconds']:.2f})"
        print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=list(SHARES), metavar="NETWORK[=SHARES]",
                        help=", ".join(SHARES))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--realtime", action="store_true", help="run before other processes")
    parser.add_argument("--predict", action="store_true", help="plan only")
    parser.add_argument("--costs", default="measured", choices=("auto", "measured", "model"))
    parser.add_argument("--spill", metavar="FOLDER")
    options = parser.parse_args()
    for item in options.networks:
        name, _, given = item.partition("=")
        if name not in step_time.BATCH or (not given and name not in SHARES):
            parser.error(f"no curve of '{name}'; there are {', '.join(SHARES)}")
        shares = tuple(float(s) for s in given.split(",")) if given else SHARES[name]
        curve(name, shares, options, program.REALTIME if options.realtime else [])


if __name__ == "__main__":
    main()
