#!/usr/bin/env python3
"""Tests of the checkers themselves: each must find what was planted, and nothing else."""

import graphlib
import pathlib
import tempfile
import unittest

import check_faults
import check_layers
import check_sizes

RULES = {
    "modules": {"core": [], "graph": ["core"], "plan": ["core", "graph"], "cli": ["public"],
                "public": []},
    "folders": {"cli": "cli", "public": "include/lowtide"},
    "third_party": {"fmt/": ["src/core"]},
}


class Tree(unittest.TestCase):
    """A test with an empty source tree to plant files in."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.plant("src/core/ids.h", "#pragma once\n")
        self.plant("CMakeLists.txt", "project(x)\n")

    def plant(self, file: str, text: str):
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


class Layers(Tree):
    def faults(self):
        return check_layers.check(self.root, RULES)

    def test_obedient_tree_has_no_fault(self):
        self.plant("src/core/text.h", "#include <fmt/format.h>\n#include <string>\n")
        self.plant("src/graph/a.cpp", '#include "graph/a.h"\n#include "core/ids.h"\n')
        self.plant("cli/main.cpp", '#include "lowtide/trainer.h"\n#include "args.h"\n')
        self.plant("src/plan/a.cpp", '#include "lowtide/bytes.h"\n#include "lowtide/error.h"\n')
        self.assertEqual(self.faults(), [])

    def test_upward_include_is_found_with_its_line(self):
        self.plant("src/core/a.cpp", '// a\n#include "graph/graph.h"\n')
        self.assertEqual(self.faults(), ['src/core/a.cpp:2: core may not include "graph/graph.h"'])

    def test_internal_header_in_the_program_is_found(self):
        self.plant("cli/main.cpp", '#include "core/ids.h"\n')
        self.assertEqual(len(self.faults()), 1)

    def test_public_header_in_a_module_is_found(self):
        self.plant("src/plan/a.cpp", '#include "lowtide/trainer.h"\n')
        self.assertEqual(len(self.faults()), 1)

    def test_third_party_header_outside_its_folder_is_found(self):
        self.plant("src/plan/a.cpp", "#include <fmt/format.h>\n")
        self.plant("src/plan/b.cpp", '#include "fmt/format.h"\n')
        self.assertEqual(len(self.faults()), 2)

    def test_unknown_module_is_found(self):
        self.plant("src/util/a.h", "#pragma once\n")
        self.assertEqual(self.faults(), ["src/util:1: no such module in tools/layers.toml"])

    def test_forbidden_use_in_the_build_is_found(self):
        self.plant("src/graph/CMakeLists.txt", "lowtide_module(graph\n  SOURCES a.cpp\n"
                                               "  USES core plan\n  LINKS fmt::fmt)\n")
        self.assertEqual(self.faults(), ["src/graph/CMakeLists.txt:1: graph may not use plan"])

    def test_cyclic_table_is_refused(self):
        rules = dict(RULES, modules={"core": ["graph"], "graph": ["core"]})
        with self.assertRaises(graphlib.CycleError):
            check_layers.check(self.root, rules)


class Sizes(Tree):
    def faults(self):
        return check_sizes.check(self.root)[0]

    def function(self, lines: int, head: str = "int f(int a)") -> str:
        return head + " {\n" + "  ++a;\n" * (lines - 2) + "}\n"

    def test_tree_in_budget_has_no_fault(self):
        self.plant("src/plan/a.cpp", "namespace x {\n" + self.function(60) + "}  // namespace x\n")
        self.plant("src/kernels/b.cpp", self.function(120))
        self.assertEqual(self.faults(), [])

    def test_long_files_are_found(self):
        self.plant("src/plan/a.h", "//\n" * 201)
        self.plant("src/plan/a.cpp", "//\n" * 401)
        self.plant("src/kernels/k.cpp", "//\n" * 601)
        self.plant("tests/plan/a_test.cpp", "//\n" * 501)
        self.assertEqual(len(self.faults()), 4)

    def test_long_functions_are_found_by_name_and_line(self):
        self.plant("src/plan/a.cpp", "namespace {\n" + self.function(61) + "}\n")
        self.plant("src/plan/b.h", "class A : public B {\n public:\n"
                   + self.function(61, "  A(int a) : a_{a}, b_(a)") + "};\n")
        self.plant("src/plan/c.cpp", "// {\n" + self.function(61, 'auto X::g(C c = {}, char d)'))
        self.assertEqual(self.faults(), [
            "src/plan/a.cpp:2: function f has 61 lines, at most 60",
            "src/plan/b.h:3: function A has 61 lines, at most 60",
            "src/plan/c.cpp:2: function X::g has 61 lines, at most 60",
        ])

    def test_braces_in_literals_and_comments_do_not_count(self):
        text = "int f(int a) {\n  g(\"{\", '{', 1'000);  // {\n}\n" + self.function(61)
        self.plant("src/plan/a.cpp", text)
        self.assertEqual(self.faults(), ["src/plan/a.cpp:4: function f has 61 lines, at most 60"])

    def test_full_folder_is_found(self):
        for i in range(16):
            self.plant(f"src/plan/f{i}.h", "#pragma once\n")
        self.assertEqual(self.faults(), ["src/plan:1: 16 files, at most 15"])

    def test_long_root_build_file_is_found(self):
        self.plant("CMakeLists.txt", "#\n" * 121)
        self.assertEqual(self.faults(), ["CMakeLists.txt:1: 121 lines, at most 120"])


class Faults(unittest.TestCase):
    def test_rows_name_tests_that_there_are_or_wait(self):
        tests = "TEST(Loss, Counts) {}\nTEST_P(Every,\n       Way) {}"
        page = "| LT-1 | a | `Loss.Counts` |\n| LT-2 | b | `Every.Way` |\n| LT-3 | c | waiting for d |\n"
        self.assertEqual(check_faults.missing(page, tests), [])

    def test_a_test_that_is_gone_is_found(self):
        self.assertEqual(len(check_faults.missing("| LT-1 | a | `Loss.Sums` |\n", "TEST(Loss, Counts)")), 1)

    def test_a_row_without_a_test_is_found(self):
        self.assertEqual(len(check_faults.missing("| LT-1 | a | soon |\n", "")), 1)


if __name__ == "__main__":
    unittest.main()
