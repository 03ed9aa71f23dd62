# SPDX-License-Identifier: Apache-2.0
"""Fails when a C++ or CUDA source is not as clang-format 19 would write it, and shows how.

    python3 cmake/check_format.py [ROOT] [--fix]
"""

import difflib
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from check_files import report, tree_files

TOOL = "clang-format-19"
SUFFIXES = {".cc", ".h", ".cu", ".cuh"}


def difference(root, path):
    """The unified difference between the file and its formatted text; empty when they agree."""
    done = subprocess.run([TOOL, str(path)], cwd=root, capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr
    current = (root / path).read_text()
    return "".join(difflib.unified_diff(current.splitlines(True), done.stdout.splitlines(True),
                                        str(path), f"{path} (formatted)", n=1))


def main(arguments):
    root = pathlib.Path(next((word for word in arguments if not word.startswith("-")), "."))
    paths = [path for path in tree_files(root) if path.suffix in SUFFIXES]
    if "--fix" in arguments:
        subprocess.run([TOOL, "-i", *map(str, paths)], cwd=root, check=True)
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda path: difference(root, path), paths))
    return report("check_format", [text for text in found if text])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
