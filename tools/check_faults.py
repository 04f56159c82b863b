#!/usr/bin/env python3
"""Checks that every test that docs/known-faults.md names exists."""

import pathlib
import re
import sys

PAGE = "docs/known-faults.md"
NAMED = re.compile(r"`(\w+)\.(\w+)`")
DEFINED = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)")
WAITING = re.compile(r"waiting for ")


def missing(page: str, tests: str) -> list[str]:
    """The tests that the page names and the sources lack; rows that name none and wait for nothing."""
    defined = set(DEFINED.findall(tests))
    faults = [
        f"{PAGE}: there is no test {suite}.{name}"
        for suite, name in NAMED.findall(page)
        if (suite, name) not in defined and name != "py"
    ]
    for row in re.findall(r"^\| (LT-\d+) \|(.*)$", page, re.MULTILINE):
        if not NAMED.search(row[1]) and not WAITING.search(row[1]):
            faults.append(f"{PAGE}: {row[0]} names no test and waits for nothing")
    return faults


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    page = (root / PAGE).read_text(encoding="utf-8")
    sources = sorted((root / "tests").rglob("*.cpp"))
    faults = missing(page, "\n".join(source.read_text(encoding="utf-8") for source in sources))
    print("\n".join(faults) if faults else "faults: every test that is named is there")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
