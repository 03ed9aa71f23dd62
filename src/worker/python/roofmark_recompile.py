# SPDX-License-Identifier: Apache-2.0
"""Compiles kernels of Triton again, from the intermediate code that its compiler left beside them,
in a process that has never run any of the candidate's code: what comes out must be what ran.

Triton parses its own .ttir (Gluon: .ttgir) without loss, and the same compiler makes the same bytes
of it. Seen of Triton 3.6, sm_90: 39 kernels of the candidates in Triton and Gluon of this tree.
"""

import dataclasses
import hashlib
import json
import os

# Variables that change what is compiled, which Triton keeps with a kernel, and through which nobody
# can bring other code in.
_VARIABLES = (
    "ALLOW_LHS_TMEM_LAYOUT_CONVERSION",
    "DISABLE_LLVM_OPT",
    "DISABLE_PTXAS_OPT",
    "TRITON_DEFAULT_FP_FUSION",
    "TRITON_DISABLE_LINE_INFO",
)
# What follows from the target and the installation, and what would replace the compiler's work.
_NOT_OPTIONS = ("arch", "backend_name", "extern_libs", "ir_override")


def _hashable(value):
    return tuple(_hashable(one) for one in value) if isinstance(value, list) else value


def _compile(ir, kept):
    from triton.backends.compiler import GPUTarget
    from triton.compiler import compile as compile_kernel
    from triton.compiler import make_backend

    target = GPUTarget(**kept["target"])
    known = {field.name for field in dataclasses.fields(make_backend(target).parse_options({}))}
    options = {
        name: _hashable(value)
        for name, value in kept.items()
        if name in known and name not in _NOT_OPTIONS
    }
    return compile_kernel(ir, target=target, options=options).asm["cubin"]


def recompile(kernels):
    """For each {"ir", "options"}, paths of files: {"sha256": of the code object, "failure": ""}, or
    what the compiler said."""
    made = []
    for kernel in kernels:
        try:
            with open(kernel["options"], encoding="utf-8") as file:
                kept = json.load(file)
            for name in _VARIABLES:
                os.environ.pop(name, None)
                if name in kept:
                    os.environ[name] = str(kept[name])
            code = hashlib.sha256(_compile(kernel["ir"], kept)).hexdigest()
            made.append({"sha256": code, "failure": ""})
        except Exception as error:  # whatever a compiler says of text that is not its own
            words = "%s: %s" % (type(error).__name__, str(error).split("\n")[0][:200])
            made.append({"sha256": "", "failure": words})
    return made
