# SPDX-License-Identifier: Apache-2.0
"""The importer's worker: looks through a folder of another benchmark and describes what it finds.

    survey    {format}         -> {"items": [{kind, item, files...}], "notes": [...]}
    describe  {item}           -> {"card", "about", "shapes", "copy", "baseline", "notes"}
    describe  {item, about}    of a solution -> {"name", "lane", "files", "notes"}

These files are programs whose shapes are known only by running them, so this runs in the sandbox.
A note is {"item", "fate": "carried" | "changed" | "not_carried", "what"}.
"""

import json
import os
import re

from roofmark_arenas import Refusal
from roofmark_describe import NotCarried, note
from roofmark_describe_definition import describe_definition, describe_solution
from roofmark_describe_python import describe_atrex, describe_kernelbench

FOLDER = "/candidate"
_MAX_TEXT = 32 << 20
_MAX_DEPTH = 8
_KERNELBENCH = (r"^class\s+Model\b", r"^def\s+get_inputs\b")


def _files(root):
    for folder, folders, names in os.walk(root):
        depth = os.path.relpath(folder, root).count(os.sep)
        folders[:] = sorted(f for f in folders if not f.startswith(".") and depth < _MAX_DEPTH)
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.path.getsize(path) <= _MAX_TEXT:
                yield os.path.relpath(path, root)


def _text(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def _json_of(root, path):
    try:
        return json.loads(_text(root, path))
    except ValueError:
        return None


def _lines_of(root, path):
    lines = []
    for text in _text(root, path).splitlines():
        if not text.strip():
            continue
        try:
            line = json.loads(text)
        except ValueError:
            return []
        if isinstance(line, dict):
            lines.append(line)
    return lines


class Survey:
    """What lies in a folder, by kind."""

    def __init__(self, root, wanted):
        self.root = root
        self.wanted = wanted
        self.items = []
        self.notes = []
        self.definitions = {}  # by path
        self.workloads = []  # (path of the file, its name for a definition or None, workload)
        self.solutions = []  # (path, content)
        self._taken = set()  # folders of Atrex operators

    def _wants(self, kind):
        return self.wanted in ("auto", kind)

    def run(self):
        paths = list(_files(self.root))
        self._find_atrex(set(paths))
        for path in paths:
            if os.path.dirname(path) in self._taken:
                continue
            if path.endswith(".py"):
                self._look_at_python(path)
            elif path.endswith(".json"):
                self._look_at_json(path)
            elif path.endswith(".jsonl"):
                for line in _lines_of(self.root, path):
                    self._look_at_line(path, line)
        self._join_definitions()
        for path, solution in self.solutions:
            self.items.append({"kind": "solution", "item": path, "solution": solution})
        return {"items": self.items, "notes": self.notes}

    def _find_atrex(self, paths):
        for path in sorted(paths):
            folder, name = os.path.split(path)
            beside = {other: os.path.join(folder, other) for other in
                      ("reference.py", "input.py", "shapes.json", "metadata.json", "roofline.json")}
            needed = [beside["reference.py"], beside["input.py"]]
            if name != "shapes.json" or not all(one in paths for one in needed):
                continue
            if self._wants("atrex"):
                self._taken.add(folder)
                files = {key: one for key, one in beside.items() if one in paths}
                self.items.append({"kind": "atrex", "item": folder or ".", "files": files})

    def _look_at_python(self, path):
        text = _text(self.root, path)
        if not self._wants("kernelbench"):
            return
        if all(re.search(pattern, text, re.MULTILINE) for pattern in _KERNELBENCH):
            self.items.append({"kind": "kernelbench", "item": path, "files": {"problem": path}})
        elif re.search(r"^class\s+ModelNew\b", text, re.MULTILINE):
            what = "a ModelNew runs as it is: name the file to `roofmark judge`"
            self.notes.append(note(path, "carried", what))

    def _look_at_json(self, path):
        content = _json_of(self.root, path)
        if not isinstance(content, dict):
            return
        if all(key in content for key in ("axes", "inputs", "outputs", "reference")):
            self.definitions[path] = content
        elif all(key in content for key in ("definition", "spec", "sources")):
            self.solutions.append((path, content))

    def _look_at_line(self, path, line):
        if isinstance(line.get("workload"), dict):
            if line.get("evaluation") is not None:
                what = "an evaluation of %s: times of other machines are no input of Roofmark"
                self.notes.append(note(path, "not_carried", what % line.get("solution")))
                return
            self.workloads.append((path, line.get("definition"), line))
        elif "uuid" in line and "axes" in line:
            self.workloads.append((path, None, {"workload": line}))

    def _join_definitions(self):
        for path, definition in self.definitions.items():
            folder = os.path.dirname(path)
            mine = [
                {"file": where, "line": line}
                for where, name, line in self.workloads
                if name == definition.get("name")
                or (name is None and os.path.dirname(where) == folder)
            ]
            bare = any("definition" not in one["line"] for one in mine)
            sol = bare or bool(definition.get("custom_inputs_entrypoint"))
            kind = "sol-execbench" if sol else "flashinfer-bench"
            if not self._wants(kind):
                continue
            self.items.append(
                {"kind": kind, "item": path, "files": {"definition": path}, "workloads": mine}
            )
        names = {one.get("name") for one in self.definitions.values()}
        lost = {name for _, name, _ in self.workloads if name is not None and name not in names}
        for name in sorted(map(str, lost)):
            what = "its workloads have no definition in this folder"
            self.notes.append(note(name, "not_carried", what))


def _or_refuse(describe, *arguments):
    """What cannot be carried is a refusal with its reason; so is whatever the files raise."""
    try:
        return describe(*arguments)
    except NotCarried as error:
        raise Refusal("unsupported", str(error)) from None


class Worker:
    def __init__(self, _device):
        pass

    def survey(self, request, _fds):
        return Survey(FOLDER, request["format"]).run()

    def describe(self, request, _fds):
        item = request["item"]
        if item["kind"] == "solution":
            return _or_refuse(describe_solution, item["solution"], request["about"])
        describe = {
            "atrex": describe_atrex,
            "kernelbench": describe_kernelbench,
            "flashinfer-bench": describe_definition,
            "sol-execbench": describe_definition,
        }[item["kind"]]
        return _or_refuse(describe, FOLDER, item)
