#!/usr/bin/env python3
"""Replays the schedules that plan_instance printed by the instance format's rules.

usage: check_schedules.py INSTANCE.json... [--program build/release/bench/plan_instance]

Shares nothing with the planner. Prints one line a budget: extra time over the fastest step in
percent, ours and the best known; the bounds; the time it took. Exits with 1 where a schedule breaks a
rule, is not what its numbers say, or a bound is above a known answer.
"""

import argparse
import json
import subprocess
import sys


def replay(instance, schedule):
    """Seconds and peak bytes of a schedule; raises ValueError where it breaks a rule."""
    tensors, nodes = instance["tensors"], instance["nodes"]
    persistent = [tensor["persistent"] for tensor in tensors]
    size = [tensor["bytes"] for tensor in tensors]
    variants = [nodes[node]["variants"][variant] for node, variant in schedule]
    overwritten, ran, seconds = set(), set(), 0.0
    for at, (node, _) in enumerate(schedule):
        again = node in ran
        if again:
            if not nodes[node]["recomputable"]:
                raise ValueError(f"action {at}: node {node} may not run again")
            if overwritten & set(variants[at]["inputs"]):
                raise ValueError(f"action {at}: node {node} reads an updated weight")
        elif node != len(ran):
            raise ValueError(f"action {at}: node {node} runs before node {len(ran)}")
        ran.add(node)
        overwritten |= set(nodes[node].get("updates", []))
        seconds += variants[at].get("replay_seconds", variants[at]["seconds"]) if again else variants[at]["seconds"]
    if len(ran) != len(nodes):
        raise ValueError("not every node runs")

    written = {}  # by tensor: where its present copy was written
    last = {}  # by (tensor, where written): where that copy is needed last
    operands = []
    for at, variant in enumerate(variants):
        for tensor in variant["inputs"]:
            if persistent[tensor]:
                continue
            if tensor not in written:
                raise ValueError(f"action {at} reads tensor {tensor} before it is written")
            last[tensor, written[tensor]] = at
        operands.append({tensor: written.get(tensor) for tensor in variant["inputs"]})
        for tensor in variant["outputs"]:
            if not persistent[tensor]:
                written[tensor] = at
                last[tensor, at] = at
    change = [0] * (len(schedule) + 1)
    for (tensor, first), end in last.items():
        change[first] += size[tensor]
        change[end + 1] -= size[tensor]
    live, peak = instance["persistent_bytes"], 0
    for at, variant in enumerate(variants):
        live += change[at]
        here = live + variant["workspace_bytes"]
        for _, source in variant.get("inplace", []):
            if last[source, operands[at][source]] == at:
                here -= size[source]
        peak = max(peak, here)
    return seconds, peak


def faults(instance, answer, plan):
    """What is wrong with one plan."""
    found = []
    step = instance["fastest_seconds"]
    if plan["lower_bound_seconds"] > answer["best_seconds"] * (1 + 1e-9):
        found.append(f"lower bound {plan['lower_bound_seconds']} above a known answer")
    if not plan["feasible"]:
        if plan["budget_bytes"] >= 1.02 * instance["min_peak"]["bytes"]:
            found.append("no plan, though the budget is 2 % above the smallest peak")
        return found
    try:
        seconds, peak = replay(instance, plan["schedule"])
    except ValueError as error:
        return [*found, str(error)]
    if abs(seconds - plan["seconds"]) > 1e-9:
        found.append(f"takes {seconds} s, said to be {plan['seconds']}")
    if peak != plan["peak_bytes"]:
        found.append(f"peak {peak}, said to be {plan['peak_bytes']}")
    if peak > plan["budget_bytes"]:
        found.append(f"peak {peak} beyond the budget")
    if seconds < answer["lower_bound_seconds"] - 1e-9 * step:
        found.append("faster than the proven bound: a checker is wrong")
    return found


def within_target(instance, answer, plan):
    step = instance["fastest_seconds"]
    ours, best = plan["seconds"] - step, answer["best_seconds"] - step
    if answer["proven"]:
        return ours <= max(1.05 * best, best + 0.002 * step)
    return plan["seconds"] <= 1.01 * answer["best_seconds"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("instances", nargs="+")
    parser.add_argument("--program", default="build/release/bench/plan_instance")
    arguments = parser.parse_args()
    wrong = missed = 0
    for path in arguments.instances:
        with open(path, encoding="utf-8") as file:
            instance = json.load(file)
        output = subprocess.run([arguments.program, path, "--json"], check=True, capture_output=True, text=True).stdout
        step = instance["fastest_seconds"]
        print(instance["name"])
        for answer, plan in zip(instance["answers"], json.loads(output)["plans"], strict=True):
            problems = faults(instance, answer, plan)
            hit = plan["feasible"] and within_target(instance, answer, plan)
            print(f"  {plan['budget_bytes']:>12}: {100 * (plan['seconds'] / step - 1):7.3f} %, best known "
                  f"{100 * (answer['best_seconds'] / step - 1):7.3f} %{' ' if answer['proven'] else '*'} bounds "
                  f"{100 * (plan['lower_bound_seconds'] / step - 1):7.3f} {100 * (answer['lower_bound_seconds'] / step - 1):7.3f} %,"
                  f" {plan['planning_seconds']:.2f} s{'' if hit else '  MISSED'}")
            for problem in problems:
                print(f"    {problem}")
            wrong += len(problems)
            missed += not hit
    print(f"{wrong} wrong, {missed} outside the target")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
