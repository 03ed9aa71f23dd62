# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy 19 on every source of build/compile_commands.json; any finding fails.

A source that passed is not read again until it changes: its stamp is a hash of the tool, the rules,
the compile command, its text and the text of every header of ours that it reaches.

    python3 cmake/check_tidy.py [ROOT] [BUILD]
"""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from check_files import report

TOOL = "clang-tidy-19"
# The compile commands are made for g++: clang knows other warnings, and finds more deprecated in
# the standard library than its own users can change.
FLAGS = ["--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-deprecated-declarations"]
INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def commands(root, build):
    """{source under root: its compile command}, generated sources left out."""
    entries = json.loads((build / "compile_commands.json").read_text())
    wanted = {}
    for entry in entries:
        source = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if source.is_relative_to(root) and not source.is_relative_to(build):
            wanted[source] = entry.get("command") or " ".join(entry["arguments"])
    return wanted


class Texts:
    """Texts of sources and headers, each read once."""

    def __init__(self, folders):
        self.folders = folders
        self.known = {}

    def read(self, path):
        if path not in self.known:
            text = path.read_bytes()
            headers = [folder / name.decode() for name in INCLUDE.findall(text)
                       for folder in (path.parent, *self.folders)
                       if (folder / name.decode()).is_file()]
            self.known[path] = (hashlib.sha256(text).digest(), headers)
        return self.known[path]

    def closure_hash(self, source):
        """A hash over the source and all headers of ours that it reaches."""
        seen, todo = set(), [source]
        while todo:
            path = todo.pop().resolve()
            if path not in seen:
                seen.add(path)
                todo += self.read(path)[1]
        digest = hashlib.sha256()
        for path in sorted(seen):
            digest.update(str(path).encode() + self.read(path)[0])
        return digest.hexdigest()


def run_tidy(root, build, source):
    """What clang-tidy says of the source; empty when nothing."""
    command = [TOOL, "-p", str(build), "--quiet", *FLAGS, str(source)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout or done.stderr


def main(arguments):
    root = pathlib.Path(arguments[0] if arguments else ".").resolve()
    build = pathlib.Path(arguments[1]).resolve() if len(arguments) > 1 else root / "build"
    cache = build / "tidy-cache"
    cache.mkdir(exist_ok=True)
    version = subprocess.run([TOOL, "--version"], capture_output=True, check=True).stdout
    rules = version + (root / ".clang-tidy").read_bytes()
    texts = Texts([root / "src", build / "src"])

    def check_source(item):
        source, command = item
        key = hashlib.sha256(rules + command.encode() + texts.closure_hash(source).encode())
        stamp = cache / key.hexdigest()
        if stamp.exists():
            stamp.touch()
            return ""
        found = run_tidy(root, build, source)
        if not found:
            stamp.write_text(str(source))
        print(f"tidy: {source.relative_to(root)}\n{found}", end="", flush=True)
        return found and str(source.relative_to(root))

    wanted = sorted(commands(root, build).items())
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [text for text in pool.map(check_source, wanted) if text]
    print(f"{len(wanted)} sources")
    return report("check_tidy", found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
