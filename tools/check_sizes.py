#!/usr/bin/env python3
"""Checks the size budgets of files, functions and folders, and prints lines per folder."""

import collections
import pathlib
import re
import sys

HEADER, SOURCE, KERNEL, TEST = 200, 400, 600, 500
FUNCTION, KERNEL_FUNCTION = 60, 120
FOLDER_FILES, ROOT_CMAKE, PUBLIC_HEADERS = 15, 120, 14
SCANNED = ("include", "src", "cli", "examples", "bench", "tests")
SUFFIXES = {".h", ".cpp"}

# path (or folder/, or path:function) -> (limit, reason). Keep it short; a reason is not an excuse.
EXCEPTIONS = {
    "src/core/": (24, "a dozen topics of a page each; a subfolder would only lengthen their names"),
    "src/kernels/simd/": (32, "a pair of files per kernel family, side by side"),
    "src/ops/catalog.cpp:catalog": (300, "the table of contents: one line per op"),
    "src/ops/matmul/matmul_cases.cpp:matmul_cases": (70, "a table of shapes, one line each"),
    "src/graph/op_def.h": (300, "the op card and its one adapter are read together"),
}

NAMESPACE = re.compile(r"^\s*(?:inline\s+)?(?:namespace\b|extern\s*$)")
TYPE = re.compile(r"^\s*(?:template\s*<.*>\s*)?(?:class|struct|union|enum)\b[^()]*$", re.DOTALL)
NAME = re.compile(r"([~\w:]+|operator\s*\S+)\s*\($")


def limit_of(key: str, standard: int) -> int:
    return EXCEPTIONS[key][0] if key in EXCEPTIONS else standard


def is_kernel(file: str) -> bool:
    return file.startswith("src/kernels/") or file.endswith("_kernels.cpp")


def blank_literals(text: str) -> str:
    """The text with comments, literals and preprocessor lines blanked; newlines stay."""
    token = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
        r"|(?<![\w'])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
        re.DOTALL | re.MULTILINE,
    )
    return token.sub(lambda match: "\n" * match.group().count("\n") or " ", text)


def function_name(head: str) -> str:
    """The name before the first parenthesis of a definition's head."""
    match = NAME.search(head[: head.index("(") + 1])
    return match.group(1) if match else "?"


def opens_initialiser(head: str) -> bool:
    """Whether the brace after `head` opens an initialiser: `x = {`, `f(a, {`, or `member_{`."""
    if head.rstrip().endswith(("=", ",", "(")):
        return True
    return bool(head) and (head[-1].isalnum() or head[-1] in "_>")


def functions(text: str):
    """Yields (name, first line, lines) of each function defined at namespace or class scope.

    Follows braces: those of namespaces and types are entered, any other outermost pair whose head
    has a parameter list is a function and is skipped whole.
    """
    text = blank_literals(text)
    head_start, line = 0, 1
    body = 0  # depth inside a function
    braces = 0  # depth inside initialisers in a head: default arguments, member initialisers
    start = 0
    head = ""
    for at, char in enumerate(text):
        if char == "\n":
            line += 1
        elif body:
            body += (char == "{") - (char == "}")
            if body == 0:
                if "(" in head:
                    yield function_name(head), start, line - start + 1
                head_start = at + 1
        elif braces:
            braces += (char == "{") - (char == "}")
        elif char == "{":
            head = text[head_start:at]
            if NAMESPACE.match(head.lstrip()) or TYPE.match(head.strip()):
                head_start = at + 1
            elif opens_initialiser(head):
                braces = 1
            else:
                body = 1
                start = line - head.lstrip().count("\n")
        elif char in "};":
            head_start = at + 1
        elif char == ":" and text[head_start:at].strip() in ("public", "private", "protected"):
            head_start = at + 1


def file_limit(file: str) -> int:
    if file.startswith("tests/"):
        return TEST
    if file.endswith(".h"):
        return HEADER
    return KERNEL if is_kernel(file) else SOURCE


def file_faults(file: str, text: str) -> list[str]:
    faults = []
    lines = text.count("\n")
    limit = limit_of(file, file_limit(file))
    if lines > limit:
        faults.append(f"{file}:1: {lines} lines, at most {limit}")
    for name, first, length in functions(text):
        standard = KERNEL_FUNCTION if is_kernel(file) else FUNCTION
        limit = limit_of(f"{file}:{name}", standard)
        if length > limit:
            faults.append(f"{file}:{first}: function {name} has {length} lines, at most {limit}")
    return faults


def folder_faults(files_in: dict[str, int]) -> list[str]:
    faults = []
    for folder, count in sorted(files_in.items()):
        standard = PUBLIC_HEADERS if folder == "include/lowtide" else FOLDER_FILES
        limit = limit_of(folder + "/", standard)
        if count > limit:
            faults.append(f"{folder}:1: {count} files, at most {limit}")
    return faults


def check(root: pathlib.Path) -> tuple[list[str], dict[str, int]]:
    """Everything over budget under `root`, and the lines of each folder."""
    faults = []
    lines_in: dict[str, int] = collections.Counter()
    files_in: dict[str, int] = collections.Counter()
    for top in SCANNED:
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            file = path.relative_to(root).as_posix()
            text = path.read_text(encoding="utf-8")
            lines_in["/".join(file.split("/")[:2])] += text.count("\n")
            files_in[file.rsplit("/", 1)[0]] += 1
            faults += file_faults(file, text)
    faults += folder_faults(files_in)
    cmake = (root / "CMakeLists.txt").read_text(encoding="utf-8").count("\n")
    if cmake > ROOT_CMAKE:
        faults.append(f"CMakeLists.txt:1: {cmake} lines, at most {ROOT_CMAKE}")
    return faults, lines_in


def main() -> int:
    faults, lines_in = check(pathlib.Path(__file__).resolve().parent.parent)
    for folder, lines in sorted(lines_in.items()):
        print(f"{lines:7,}  {folder}")
    print(f"{sum(lines_in.values()):7,}  in all")
    print("\n".join(faults) if faults else "sizes: every file, function and folder is in budget")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
