#!/usr/bin/env python3
"""Checks that every #include obeys tools/layers.toml. Prints file:line for each that does not."""

import graphlib
import pathlib
import re
import sys
import tomllib

VOCABULARY = {"lowtide/bytes.h", "lowtide/error.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
USES = re.compile(r"lowtide_module\(\s*(\w+)[^)]*?\bUSES\s+([\w\s]+?)(?:\bLINKS\b[^)]*)?\)")
SUFFIXES = {".h", ".cpp", ".cu"}


def module_folders(rules: dict, root: pathlib.Path) -> dict[str, pathlib.Path]:
    folders = {name: root / "src" / name for name in rules["modules"]}
    folders.update({name: root / folder for name, folder in rules["folders"].items()})
    return {name: folder for name, folder in folders.items() if folder.is_dir()}


def quoted_fault(rules: dict, module: str, include: str) -> str | None:
    if include in VOCABULARY:
        return None
    first = include.split("/", 1)[0]
    used = "public" if first == "lowtide" else first
    if "/" not in include and module in rules["folders"]:
        return None  # a program's own header beside it
    if used == module or used in rules["modules"].get(module, []):
        return None
    return f'{module} may not include "{include}"'


def angled_fault(rules: dict, file: str, include: str) -> str | None:
    for prefix, folders in rules["third_party"].items():
        if include.startswith(prefix) and not any(file.startswith(f + "/") for f in folders):
            return f"<{include}> belongs to {' and '.join(folders)} only"
    return None


def file_faults(rules: dict, module: str, path: pathlib.Path, root: pathlib.Path) -> list[str]:
    file = path.relative_to(root).as_posix()
    faults = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, angled = match.groups()
        # A third-party header is held to its folder however it is quoted.
        fault = angled_fault(rules, file, quoted or angled)
        if not fault and quoted:
            fault = quoted_fault(rules, module, quoted)
        if fault:
            faults.append(f"{file}:{number}: {fault}")
    return faults


def cmake_faults(rules: dict, path: pathlib.Path, root: pathlib.Path) -> list[str]:
    faults = []
    for module, used in USES.findall(path.read_text(encoding="utf-8")):
        extra = sorted(set(used.split()) - set(rules["modules"].get(module, [])))
        if extra:
            file = path.relative_to(root).as_posix()
            faults.append(f"{file}:1: {module} may not use {', '.join(extra)}")
    return faults


def check(root: pathlib.Path, rules: dict) -> list[str]:
    """Everything wrong in the tree under `root`; raises graphlib.CycleError for a cyclic table."""
    tuple(graphlib.TopologicalSorter(rules["modules"]).static_order())
    faults = []
    for folder in sorted((root / "src").iterdir()):
        if folder.is_dir() and folder.name not in rules["modules"]:
            faults.append(f"src/{folder.name}:1: no such module in tools/layers.toml")
    for module, folder in module_folders(rules, root).items():
        for path in sorted(folder.rglob("*")):
            if path.suffix in SUFFIXES:
                faults += file_faults(rules, module, path, root)
            elif path.name == "CMakeLists.txt":
                faults += cmake_faults(rules, path, root)
    return faults


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    rules = tomllib.loads((root / "tools/layers.toml").read_text(encoding="utf-8"))
    faults = check(root, rules)
    print("\n".join(faults) if faults else f"layers: {len(rules['modules'])} modules, no fault")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
