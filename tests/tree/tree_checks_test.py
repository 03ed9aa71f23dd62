# SPDX-License-Identifier: Apache-2.0
"""The checks on the tree must fail on bad trees: each test plants one fault in a small tree."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cmake"))
import check_layers
import check_shape

HEAD = "// SPDX-License-Identifier: Apache-2.0\n// Why this file exists.\n"
MODULES = """# roofmark_module(comment DEPS nothing)
roofmark_module(base LIBS fmt::fmt)
roofmark_module(model DEPS base)
roofmark_module(trace DEPS model LIBS isal)
roofmark_module(suite DEPS model)
"""


class Tree(unittest.TestCase):
    """A small tree that passes; `plant` adds one file, `problems` runs one check."""

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.root = pathlib.Path(self.scratch.name)
        self.plant("src/CMakeLists.txt", "# SPDX-License-Identifier: Apache-2.0\n" + MODULES)
        self.plant("src/base/text.h", HEAD + "#pragma once\n")
        self.plant("src/model/shape.h", HEAD + '#pragma once\n#include "base/text.h"\n')
        self.plant("src/trace/read.cc", HEAD + '#include "base/text.h"\n#include "model/shape.h"\n')

    def plant(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def assert_only(self, check, *words):
        problems = check.check(self.root)
        self.assertEqual(len(problems), 1, problems)
        for word in words:
            self.assertIn(word, problems[0])


class Layers(Tree):
    def test_accepts_includes_within_reach(self):
        self.assertEqual(check_layers.check(self.root), [])

    def test_rejects_a_sibling_that_no_arrow_reaches(self):
        self.plant("src/suite/build.cc", HEAD + '#include "trace/read.h"\n')
        self.assert_only(check_layers, "src/suite/build.cc:3", "no arrow from suite to trace")

    def test_rejects_an_include_that_points_up(self):
        self.plant("src/base/files.cc", HEAD + '#include "model/shape.h"\n')
        self.assert_only(check_layers, "no arrow from base to model")

    def test_rejects_anothers_internal_header(self):
        self.plant("src/trace/parse.cc", HEAD + '#include "model/axes_internal.h"\n')
        self.assert_only(check_layers, "private to model")

    def test_accepts_its_own_internal_header(self):
        self.plant("src/trace/parse.cc", HEAD + '#include "trace/parse_internal.h"\n')
        self.assertEqual(check_layers.check(self.root), [])

    def test_rejects_an_include_without_its_module(self):
        self.plant("src/trace/parse.cc", HEAD + '#include "read.h"\n')
        self.assert_only(check_layers, '"read.h" has no module')

    def test_rejects_a_folder_that_is_not_listed(self):
        self.plant("src/extra/more.cc", HEAD)
        self.assert_only(check_layers, "lists no module extra")

    def test_rejects_an_include_of_an_unlisted_module(self):
        self.plant("src/trace/parse.cc", HEAD + '#include "extra/more.h"\n')
        self.assert_only(check_layers, "lists no module extra")

    def test_rejects_an_arrow_that_points_forward(self):
        self.plant("src/CMakeLists.txt", MODULES.replace("(base ", "(base DEPS suite "))
        self.assert_only(check_layers, "base names suite, which is not declared above it")

    def test_rejects_a_heavy_header_in_two_files(self):
        for name in ("parse", "split"):
            self.plant(f"src/trace/{name}.cc", HEAD + "#include <simdjson.h>\n")
        self.assert_only(check_layers, "<simdjson.h> is included in 2 files")


class Shape(Tree):
    def test_accepts_a_tidy_tree(self):
        self.assertEqual(check_shape.check(self.root), [])

    def test_rejects_a_long_file(self):
        self.plant("src/trace/long.cc", HEAD + "\n" * 499)
        self.assert_only(check_shape, "501 lines")

    def test_rejects_a_long_line(self):
        self.plant("src/trace/wide.cc", HEAD + "//" + "x" * 99 + "\n")
        self.assert_only(check_shape, "wide.cc:3", "101 columns")

    def test_rejects_a_second_file_of_the_same_name(self):
        self.plant("src/model/read.cc", HEAD)
        self.assert_only(check_shape, "read.cc: 2 files of that name")

    def test_rejects_a_note_for_later(self):
        self.plant("src/trace/later.cc", HEAD + "// TO" + "DO: finish\n")
        self.assert_only(check_shape, "file an issue")

    def test_rejects_a_source_without_licence(self):
        self.plant("src/trace/bare.py", "x = 1\n")
        self.assert_only(check_shape, "bare.py", "SPDX")

    def test_rejects_a_source_whose_own_header_is_not_first(self):
        self.plant("src/trace/late.h", HEAD)
        self.plant("src/trace/late.cc", HEAD + '#include <string>\n#include "trace/late.h"\n')
        self.assert_only(check_shape, 'first include must be #include "trace/late.h"')

    def test_rejects_a_name_that_says_nothing(self):
        for name in ("utils.cc", "string_helpers.h", "common.py"):
            with self.subTest(name):
                path = f"src/trace/{name}"
                comment = "# " if name.endswith(".py") else ""
                self.plant(path, comment + HEAD)
                self.assert_only(check_shape, "says nothing")
                (self.root / path).unlink()

    def test_rejects_a_package_registrys_host(self):
        self.plant("docs/setup.md", "from https://" + "pypi" + ".org\n")
        self.assert_only(check_shape, "host")

    def test_rejects_a_dead_link(self):
        self.plant("docs/page.md", "see [there](missing.md)\n")
        self.assert_only(check_shape, "missing.md, which is not there")

    def test_rejects_blanks_at_the_end_of_a_line(self):
        self.plant("src/trace/blank.cc", HEAD + "int x; \n")
        self.assert_only(check_shape, "blanks")

    def test_leaves_build_output_alone(self):
        self.plant("build/made.cc", "no licence, TO" + "DO\n")
        self.assertEqual(check_shape.check(self.root), [])


if __name__ == "__main__":
    unittest.main()
