# SPDX-License-Identifier: Apache-2.0
"""Kernels that are right and fast but not fit for serving must be told so, item by item.

    unfit.py ROOFMARK CANDIDATES FOLDER

Variants of the honest rms_norm kernel, each with one thing in `run` that a server cannot have. Exit
code 1 when an item is not as it has to be. About 20 s each on an H200.
"""
import json
import pathlib
import subprocess
import sys

LINE = "  const auto stream = static_cast<cudaStream_t>(stream_handle);\n"
BEFORE = 'extern "C" int run('
# name: (what stands before run, what stands in run, items that must be no, items that must be yes)
VARIANTS = {
    "honest": ("", "", [], ["cuda_graph", "host_synchronisation", "allocation", "deterministic"]),
    "waits": (
        "",
        "  cudaStreamSynchronize(stream);\n",
        ["host_synchronisation", "cuda_graph"],
        ["allocation", "deterministic"],
    ),
    "allocates": (
        "",
        "  { void* p = 0; cudaMallocAsync(&p, 1 << 20, stream); cudaFreeAsync(p, stream); }\n",
        ["allocation"],
        ["host_synchronisation", "deterministic"],
    ),
    # Two bits of the first output depend on a counter: within the tolerance, never the same.
    "counts": (
        "__global__ void flip(unsigned short* out, int by) { out[0] ^= by & 1; }\n"
        "static int calls = 0;\n",
        "  struct AtEnd { const rms_norm_args* a; cudaStream_t s; ~AtEnd() {\n"
        "    flip<<<1, 1, 0, s>>>((unsigned short*)a->out.data, ++calls); } } "
        "at_end{args, stream};\n",
        ["deterministic"],
        ["host_synchronisation", "allocation"],
    ),
}


def main(roofmark, candidates, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    honest = (pathlib.Path(candidates) / "rms_norm" / "cuda.cu").read_text(encoding="utf-8")
    assert honest.count(LINE) == 1 and honest.count(BEFORE) == 1, "cuda.cu has changed: mend this"
    wrong = 0
    for name, (before, inside, no, yes) in VARIANTS.items():
        file = folder / (name + ".cu")
        text = honest.replace(LINE, LINE + inside).replace(BEFORE, before + BEFORE)
        file.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [roofmark, "judge", file, "--against", file, "--operator", "rms_norm", "--shape", "14"]
            + ["--quick", "--device", "cuda", "--tier", "published", "--require", "ready"]
            + ["--store", folder / "unfit.db", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            check=False,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        if not lines or "items" not in lines[-1]:
            print(f"WRONG {name}: no checklist; {done.stderr.decode(errors='replace')[-300:]}")
            wrong += 1
            continue
        for line in lines:
            if line.get("outcome", "passed") != "passed" and line.get("role") == "candidate":
                print(f"      {name:10} {line['outcome']}: {line['reason'][:200]}")
        items = {item["item"]: item for item in lines[-1]["items"]}
        for item, wanted in [(i, "no") for i in no] + [(i, "yes") for i in yes]:
            got = items[item]
            fine = got["answer"] == wanted
            wrong += not fine
            mark = "ok" if fine else "WRONG"
            print(f"{mark:6}{name:10} {item:21} {got['answer']:4} {got['why']}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
