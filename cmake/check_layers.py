# SPDX-License-Identifier: Apache-2.0
"""Fails when a source includes what the arrows of its module do not reach.

The one list of modules and arrows is src/CMakeLists.txt. A module may include itself and everything
that its DEPS reach. Headers that end in _internal.h belong to their module alone. Each heavy header
is included in exactly one file, because it costs seconds of compile time.

    python3 cmake/check_layers.py [ROOT]
"""

import pathlib
import re
import sys

from check_files import report, tree_files

MODULE = re.compile(r"^\s*roofmark_module\(([a-z_]+)((?:\s+[^\s)]+)*)\s*\)", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')
HEAVY = ("simdjson.h", "nlohmann/json.hpp", "CLI/CLI.hpp", "toml++/toml.h", "toml++/toml.hpp",
         "muParser.h")


def read_arrows(text):
    """{module: its DEPS}, and problems such as an arrow that points forward."""
    arrows, problems = {}, []
    text = re.sub(r"#.*", "", text)
    for name, rest in MODULE.findall(text):
        words, deps, keyword = rest.split(), [], ""
        for word in words:
            if word.isupper():
                keyword = word
            elif keyword == "DEPS":
                deps.append(word)
        problems += [f"src/CMakeLists.txt: {name} names {dep}, which is not declared above it"
                     for dep in deps if dep not in arrows]
        arrows[name] = deps
    return arrows, problems


def reach(arrows):
    """{module: every module that it may include}. Arrows point upwards, so one pass is enough."""
    reached = {}
    for name, deps in arrows.items():
        reached[name] = {name}.union(*(reached.get(dep, set()) for dep in deps))
    return reached


def check_include(path, number, module, target, reached):
    """The sentence about one quoted include, or None."""
    place = f"{path}:{number}: "
    owner = target.split("/", 1)[0]
    if "/" not in target:
        return place + f'"{target}" has no module; write "module/{target}"'
    if owner not in reached:
        return place + f'"{target}": src/CMakeLists.txt lists no module {owner}'
    if owner not in reached[module]:
        return place + f'{module} may not include "{target}": no arrow from {module} to {owner}'
    if target.endswith("_internal.h") and owner != module:
        return place + f'"{target}" is private to {owner}'
    return None


def heavy_problems(users):
    return [f"<{header}> is included in {len(files)} files, one is allowed: {', '.join(files)}"
            for header, files in sorted(users.items()) if len(files) > 1]


def check(root):
    """Every problem of the tree under `root`, as sentences."""
    root = pathlib.Path(root)
    arrows, problems = read_arrows((root / "src/CMakeLists.txt").read_text())
    reached, users = reach(arrows), {}
    for path in tree_files(root):
        if path.parts[0] != "src" or path.suffix not in (".cc", ".h", ".cu") or len(path.parts) < 3:
            continue
        module = path.parts[1]
        if module not in reached:
            problems.append(f"{path}: src/CMakeLists.txt lists no module {module}")
            continue
        for number, line in enumerate((root / path).read_text().splitlines(), 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            if found[2] in HEAVY:
                users.setdefault(found[2], []).append(str(path))
            elif found[1] == '"':
                problem = check_include(path, number, module, found[2], reached)
                problems += [problem] if problem else []
    return problems + heavy_problems(users)


if __name__ == "__main__":
    sys.exit(report("check_layers", check(sys.argv[1] if len(sys.argv) > 1 else ".")))
