# SPDX-License-Identifier: Apache-2.0
"""Fails when the tree loses its shape: long files, long lines, missing heads, unclear names.

    python3 cmake/check_shape.py [ROOT]
"""

import pathlib
import re
import sys

from check_files import report, tree_files

MAX_LINES = 500
MAX_COLUMNS = 100
CODE = {".cc", ".h", ".cu", ".cuh", ".py", ".sh", ".cmake", ".map"}
ALSO_CODE = {"CMakeLists.txt", "run"}
SPDX = "SPDX-License-Identifier: Apache-2.0"
UNCLEAR = re.compile(r"^(utils?|common|helpers?|misc|manager|tools?)(_|$)|_(utils?|helpers?)$")
# Names that a layout gives to one file a folder.
REPEATED = re.compile(r"^(CMakeLists\.txt|README\.md|__init__\.py|run|candidate\.toml"
                      r"|operator\.toml|reference\.py|shapes\.jsonl|machine\.txt)$")
# Folders whose files are data by nature: one folder an operator, a case or a run.
DATA = ("candidates", "redteam", "operators", "results", "examples", "rules", "suites")
# Text that is compared byte by byte, or stands for a foreign file.
VERBATIM = {"cases", "testdata", "data"}
LATER = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
HOSTS = re.compile("|".join(name.replace(".", r"\.") for name in (
    "pypi" + ".org", "pythonhosted" + ".org", "deb.debian" + ".org", "archive.ubuntu" + ".com",
    "registry.npmjs" + ".org", "proxy.golang" + ".org", "download.pytorch" + ".org")))
LINK = re.compile(r"(?<!\\)\[[^\]\n]*\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")


def is_code(path):
    named = path.suffix in CODE or path.name in ALSO_CODE
    return named and not VERBATIM.intersection(path.parts)


def is_text(data):
    return b"\0" not in data[:4096]


def line_problems(path, lines):
    problems = []
    if len(lines) > MAX_LINES:
        problems.append(f"{path}: {len(lines)} lines, at most {MAX_LINES}")
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS:
            problems.append(f"{path}:{number}: {len(line)} columns, at most {MAX_COLUMNS}")
        if LATER.search(line):
            problems.append(f"{path}:{number}: a note for later; file an issue instead")
        if line.endswith((" ", "\t", "\r")):
            problems.append(f"{path}:{number}: blanks at the end of the line")
    return problems


def head_problems(path, lines):
    """One SPDX line at the top, then why the file exists; in a .cc its own header first."""
    problems = []
    if not any(SPDX in line for line in lines[:2]):
        problems.append(f"{path}: no line {SPDX!r} at its top")
    return problems


def own_header_problems(root, path, lines):
    header = path.with_suffix(".h")
    if path.suffix != ".cc" or path.parts[0] != "src" or not (root / header).is_file():
        return []
    own = f'#include "{header.relative_to("src")}"'
    first = next((line for line in lines if line.startswith("#include")), "")
    return [] if first == own else [f"{path}: its first include must be {own}"]


def name_problems(paths):
    problems, seen = [], {}
    for path in paths:
        if UNCLEAR.search(path.stem):
            problems.append(f"{path}: the name says nothing about what is inside")
        if path.parts[0] not in DATA and is_code(path) and not REPEATED.match(path.name):
            seen.setdefault(path.name, []).append(str(path))
    return problems + [f"{name}: {len(places)} files of that name: {', '.join(places)}"
                       for name, places in sorted(seen.items()) if len(places) > 1]


def link_problems(root, path, text):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    return [f"{path}: links to {target}, which is not there" for target in LINK.findall(text)
            if not (root / path.parent / target).exists()]


def check(root):
    """Every problem of the tree under `root`, as sentences."""
    root = pathlib.Path(root)
    paths = tree_files(root)
    problems = name_problems(paths)
    for path in paths:
        data = (root / path).read_bytes()
        if not is_text(data):
            continue
        text = data.decode("utf-8", errors="replace")
        if HOSTS.search(text):
            problems.append(f"{path}: names a package registry's host")
        if path.suffix == ".md":
            problems += link_problems(root, path, text)
        if is_code(path):
            lines = text.splitlines()
            problems += line_problems(path, lines) + head_problems(path, lines)
            problems += own_header_problems(root, path, lines)
    return problems


if __name__ == "__main__":
    sys.exit(report("check_shape", check(sys.argv[1] if len(sys.argv) > 1 else ".")))
