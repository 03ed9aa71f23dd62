# SPDX-License-Identifier: Apache-2.0
"""What can be said of a Python candidate without running it: its text is parsed, never executed.

Serves the lanes whose compiler or device this machine lacks. A fault that it finds is the
candidate's (compile_error, bad_interface); what it cannot decide it leaves alone.
"""

import ast
import importlib.metadata
import importlib.util
import os
import platform
import sys
import warnings

from roofmark_arenas import Refusal

MAX_SOURCE_BYTES = 4 << 20
MAX_SOURCES = 64


class Lane:
    def __init__(self, title, package, distribution, marks, install):
        self.title = title
        self.package = package  # what must be found for an import to work
        self.distribution = distribution  # its name in the index of packages
        self.marks = marks  # what makes a function a kernel
        self.install = install


# Marks as in Triton 3.6 (triton, triton.experimental.gluon), nvidia-cutlass-dsl 4.8 (cutlass.cute),
# TileLang 0.1.15 (tilelang, tilelang.language) and FlyDSL 0.5 (flydsl.compiler).
LANES = {
    "triton": Lane(
        "Triton", "triton", "triton", ("triton.jit", "triton.runtime.jit.jit"), "triton"
    ),
    "gluon": Lane(
        "Gluon",
        "triton.experimental.gluon",
        "triton",
        ("triton.experimental.gluon.jit",),
        "'triton>=3.5'",
    ),
    "cutedsl": Lane(
        "the CuTe DSL",
        "cutlass.cute",
        "nvidia-cutlass-dsl",
        ("cutlass.cute.kernel",),
        "nvidia-cutlass-dsl",
    ),
    "tilelang": Lane(
        "TileLang",
        "tilelang",
        "tilelang",
        (
            "tilelang.jit",
            "tilelang.compile",
            "tilelang.language.prim_func",
            "tilelang.language.jit",
        ),
        "tilelang",
    ),
    "flydsl": Lane("FlyDSL", "flydsl", "flydsl", ("flydsl.compiler.kernel",), "flydsl"),
}

# Packages that bring kernels of their own; what runs in them is not the candidate's.
_KERNEL_PACKAGES = (
    "aiter",
    "apex",
    "bitsandbytes",
    "cupy",
    "deep_gemm",
    "flash_attn",
    "flashinfer",
    "liger_kernel",
    "nvmath",
    "sglang",
    "sgl_kernel",
    "tensorrt",
    "transformer_engine",
    "triton_kernels",
    "vllm",
    "xformers",
)


def installed(package):
    """Whether an import of the (dotted) package would find something. Parents are searched as
    files, not imported: some want a GPU when they are."""
    first, *rest = package.split(".")
    try:
        spec = importlib.util.find_spec(first)
    except (ImportError, ValueError):
        return False
    if spec is None:
        return False
    folders = list(spec.submodule_search_locations or ())
    for part in rest:
        folders = [os.path.join(folder, part) for folder in folders]
        folders = [f for f in folders if os.path.isdir(f) or os.path.isfile(f + ".py")]
        if not folders:
            return False
    return True


def version_of(lane):
    """The version of the lane's compiler that an import would find; "" where there is none."""
    if not installed(lane.package):
        return ""
    try:
        return importlib.metadata.version(lane.distribution)
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"


def _parse(path):
    try:
        size = os.path.getsize(path)
        if size > MAX_SOURCE_BYTES:
            raise Refusal("compile_error", "%s has %d bytes" % (os.path.basename(path), size))
        with open(path, "rb") as file:
            text = file.read()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, filename=path)
    except SyntaxError as error:
        reason = "%s:%s: %s (read by Python %s)" % (
            os.path.basename(path),
            error.lineno,
            error.msg,
            platform.python_version(),
        )
        raise Refusal("compile_error", reason) from None
    except (RecursionError, MemoryError, ValueError) as error:
        name = os.path.basename(path)
        reason = "%s cannot be parsed: %s" % (name, error or type(error).__name__)
        raise Refusal("compile_error", reason) from None


class _Source:
    """One parsed file: its imports, and names that stand for what was imported."""

    def __init__(self, path):
        self.path = path
        self.tree = _parse(path)
        self.aliases = {}
        self.imports = set()
        self.star = False
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for name in node.names:
                    self.imports.add(name.name)
                    whole = name.name if name.asname else name.name.split(".")[0]
                    self.aliases[name.asname or whole] = whole
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                self.imports.add(node.module)
                for name in node.names:
                    self.star = self.star or name.name == "*"
                    self.aliases[name.asname or name.name] = node.module + "." + name.name
                    self.imports.add(node.module + "." + name.name)
            elif isinstance(node, ast.ImportFrom):
                self.star = self.star or any(name.name == "*" for name in node.names)

    def dotted(self, node):
        """What an expression such as `cute.kernel` or `T.prim_func(...)` stands for, or None."""
        if isinstance(node, ast.Call):
            node = node.func
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        return ".".join([self.aliases.get(node.id, node.id)] + parts[::-1])

    def kernels(self, marks):
        """Functions under one of the marks, and "(by call)" for each use of one as a function."""
        found = []
        decorators = set()
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                decorators.update(id(d) for d in node.decorator_list)
                if any(self.dotted(d) in marks for d in node.decorator_list):
                    found.append(node.name)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and id(node) not in decorators:
                if self.dotted(node) in marks:
                    found.append("(by call)")
        return found

    def top(self):
        """What the file defines at its top, also under `if` and `try`: name -> node."""
        defined = {}
        rest = list(self.tree.body)
        while rest:
            node = rest.pop()
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                defined[node.name] = node
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                for name in node.names:
                    defined[name.asname or name.name.split(".")[0]] = node
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    for name in ast.walk(target):
                        if isinstance(name, ast.Name):
                            defined[name.id] = node
            else:
                for field in ("body", "orelse", "finalbody"):
                    rest.extend(getattr(node, field, []))
                for handler in getattr(node, "handlers", []):
                    rest.extend(handler.body)
        return defined


def _required_names(function):
    """Parameters without a default that are given by name; None where that cannot be told."""
    arguments = function.args
    if function.decorator_list:
        return None  # a decorator may change them
    if arguments.posonlyargs:
        first = arguments.posonlyargs[0].arg
        raise Refusal(
            "bad_interface", "%s: '%s' cannot be given by name" % (function.name, first)
        )
    plain = arguments.args[: len(arguments.args) - len(arguments.defaults)]
    named = [a for a, value in zip(arguments.kwonlyargs, arguments.kw_defaults) if value is None]
    return [a.arg for a in plain + named]


def _contract_names(contract):
    names = set()
    for key in ("inputs", "outputs", "axes", "lists", "attributes"):
        names.update(contract.get(key, ()))
    return names


def _check_entry(source, entry, contract):
    """Says what the entry point is. Refuses one that is not there or asks for unknown names."""
    names = (entry,) if entry != "run" else ("run", "ModelNew", "Model")
    top = source.top()
    found = next((name for name in names if name in top), None)
    if found is None:
        if source.star:
            return "what defines %s could not be told from the text" % names[0]
        raise Refusal("bad_interface", "defines none of %s" % ", ".join(names))
    node = top[found]
    if isinstance(node, ast.ClassDef):
        methods = [n.name for n in node.body if isinstance(n, ast.FunctionDef)]
        if not node.bases and not {"forward", "__call__"} & set(methods):
            raise Refusal("bad_interface", "%s objects cannot be called" % found)
        return "class %s is there" % found
    if not isinstance(node, ast.FunctionDef):
        return "%s is there, its parameters could not be told from the text" % found
    required = _required_names(node)
    if required is None:
        return "%s is there, its parameters could not be told from the text" % found
    known = _contract_names(contract)
    for name in required:
        if name not in known | {"workspace", "shape"}:
            raise Refusal(
                "bad_interface",
                "%s has a parameter '%s'; the operator has %s"
                % (found, name, ", ".join(sorted(known))),
            )
    return "%s(%s) takes the contract's names" % (found, ", ".join(required))


def _check_imports(sources, own):
    for source in sources:
        for name in sorted(source.imports):
            first = name.split(".")[0]
            if first in _KERNEL_PACKAGES and first not in own:
                raise Refusal(
                    "bad_interface",
                    "%s imports %s, which has kernels of its own; a candidate's are in its source"
                    % (os.path.basename(source.path), first),
                )


def _own_sources(path):
    """The entry's file first, then every other Python file of the candidate."""
    root = os.path.dirname(path)
    paths = []
    for folder, _, names in sorted(os.walk(root)):
        paths.extend(os.path.join(folder, name) for name in sorted(names) if name.endswith(".py"))
    paths = [path] + [p for p in paths if os.path.realpath(p) != os.path.realpath(path)]
    return [_Source(p) for p in paths[:MAX_SOURCES]]


def check(request):
    """Refuses with what is wrong, or returns {"text": what was found, "kernels": names,
    "installed": whether the lane's compiler is here, "compiler": which, or how to get it,
    "precompiles": whether the candidate can compile itself without a device}."""
    lane = LANES[request["lane"]]
    sources = _own_sources(request["path"])
    own = {os.path.splitext(os.path.basename(s.path))[0] for s in sources}
    _check_imports(sources, own)
    entry = _check_entry(sources[0], request.get("entry") or "run", request["contract"])
    kernels = [name for source in sources for name in source.kernels(lane.marks)]
    if not kernels:
        raise Refusal(
            "bad_interface",
            "defines no kernel of %s: no function under @%s" % (lane.title, lane.marks[0]),
        )
    shown = ", ".join(kernels[:4]) + (", ..." if len(kernels) > 4 else "")
    count = "%d kernel%s (%s)" % (len(kernels), "" if len(kernels) == 1 else "s", shown)
    version = version_of(lane)
    return {
        "text": "it parses, %s, %s" % (entry, count),
        "kernels": kernels,
        "installed": bool(version),
        "compiler": "%s %s is here" % (lane.title, version) if version else missing(lane),
        "precompiles": "precompile" in sources[0].top(),
    }


def missing(lane):
    return "%s is not installed for %s: pip install %s there, or set ROOFMARK_PYTHON" % (
        lane.title,
        sys.executable,
        lane.install,
    )


def require_compiler(request):
    """Refuses a candidate whose compiler is missing as unsupported, once its text is found good."""
    lane = LANES.get(request.get("lane"))
    if lane is None or installed(lane.package):
        return
    found = check(request)
    raise Refusal(
        "unsupported",
        "lane %s: %s; it was checked, not run: %s"
        % (request["lane"], found["compiler"], found["text"]),
    )
