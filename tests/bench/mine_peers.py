# SPDX-License-Identifier: Apache-2.0
"""Mining beside other tools on the same files in the same run: rate and peak memory of each.

    python3 tests/bench/mine_peers.py ROOFMARK FOLDER [--size 300MB] [--large 10]

FOLDER keeps the generated files and a Python environment with the peers between runs. Each tool
reads the whole file and sums kernel time; the sums are compared. What cannot be installed or
does not fit on the disk is skipped, with the reason. Nothing here is a test: numbers depend on the machine.
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HTA = "HolisticTraceAnalysis==0.5.0"
MB = 1e6

HTA_PROGRAM = """
import sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="/")
frame = analysis.t.get_trace(0)
kernels = frame[frame["stream"].ge(0) & frame["cat"].eq(
    analysis.t.symbol_table.sym_index.get("kernel", -1))]
print("SUM", int(round(float(kernels["dur"].sum()) * 1000)))
"""
JSON_PROGRAM = """
import gzip, json, sys
opened = gzip.open if sys.argv[1].endswith(".gz") else open
with opened(sys.argv[1], "rt") as file:
    trace = json.load(file)
print("SUM", sum(round(event["dur"] * 1000) for event in trace["traceEvents"]
                 if event.get("cat") == "kernel"))
"""


def measure(command: list[str], timeout: float = 900):
    """Seconds, peak resident bytes, stdout; or None and why."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None, f"not done in {timeout:.0f} s"
    seconds = time.monotonic() - start
    if process.returncode != 0:
        lines = [line for line in err.splitlines() if line.strip()] or ["no message"]
        return None, f"exit code {process.returncode}: {lines[-1][:150]}"
    return (seconds, out), ""


def child_peak(command: list[str], timeout: float = 900):
    """As measure, in a child of its own, so that its peak memory is its own."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        result, why = measure(command, timeout)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        with os.fdopen(write, "w") as pipe:
            json.dump({"result": result, "why": why, "peak": peak}, pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        answer = json.load(pipe)
    os.waitpid(pid, 0)
    return answer


def row(tool: str, file: pathlib.Path, raw: int, answer: dict, expected: int | None) -> int | None:
    if answer["result"] is None:
        print(f"{tool:34} {file.name:22} skipped: {answer['why']}", flush=True)
        return None
    seconds, out = answer["result"]
    total = None
    for line in out.splitlines():
        if line.startswith("SUM "):
            total = int(line.split()[1])
        elif line.startswith("{"):
            total = json.loads(line).get("sum_kernel_ns")
    same = "" if total is None or expected is None else ("same sum" if total == expected
                                                         else f"sum off by {total - expected} ns")
    print(f"{tool:34} {file.name:22} {seconds:8.2f} s {raw / MB / seconds:9.0f} MB/s "
          f"{answer['peak'] / MB:8.0f} MB  {same}", flush=True)
    return total


def peers_python(folder: pathlib.Path) -> tuple[str | None, str]:
    python = folder / "peers/bin/python"
    if not python.exists():
        made = subprocess.run([sys.executable, "-m", "venv", str(folder / "peers")],
                              capture_output=True, text=True, check=False)
        if made.returncode != 0:
            return None, "no Python environment can be made (python3-venv)"
    done = subprocess.run([str(python), "-m", "pip", "install", "-q", HTA],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None, f"{HTA} cannot be installed: {done.stderr.strip().splitlines()[-1][:120]}"
    return str(python), ""


def generate(roofmark: str, base: pathlib.Path, to: pathlib.Path, size: str, *options: str) -> dict:
    facts = to.with_name(to.name + ".facts")
    if not to.exists() or not facts.exists():
        command = [roofmark, "generate", str(base), "--size", size, "-o", str(to), "--json"]
        out = subprocess.run(command + list(options), capture_output=True, text=True,
                             check=True).stdout
        facts.write_text(out, encoding="utf-8")
    return json.loads(facts.read_text(encoding="utf-8"))


def compare(roofmark: str, base: pathlib.Path, folder: pathlib.Path, size: str) -> None:
    plain = folder / "native.json"
    packed = folder / "native.json.gz"
    line = folder / "line.json.gz"
    raw = generate(roofmark, base, plain, size)["bytes"]
    generate(roofmark, base, packed, size)
    generate(roofmark, base, line, size, "--one-line")
    mine = [roofmark, "mine", "--json"]
    sums = [row("roofmark mine", file, raw, child_peak(mine + [str(file)]), None)
            for file in (plain, packed, line)]
    row("gzip -d (zlib), inflating alone", packed, raw,
        child_peak(["sh", "-c", f"gzip -dc '{packed}' > /dev/null"]), None)
    row("Python json", packed, raw,
        child_peak([sys.executable, "-c", JSON_PROGRAM, str(packed)]), sums[0])
    python, why = peers_python(folder)
    if python is None:
        print(f"HolisticTraceAnalysis: skipped: {why}")
    else:
        row(HTA, packed, raw, child_peak([python, "-c", HTA_PROGRAM, str(packed)]), sums[0])
    shell = os.environ.get("TRACE_PROCESSOR") or shutil.which("trace_processor_shell")
    if shell is None:
        print("Perfetto trace_processor: skipped: no trace_processor_shell on PATH "
              "(or TRACE_PROCESSOR)")
        return
    query = folder / "query.sql"
    query.write_text("select sum(dur) from slice where category = 'kernel';", encoding="utf-8")
    row("Perfetto trace_processor", plain, raw, child_peak([shell, "-q", str(query), str(plain)]),
        None)


def large(roofmark: str, base: pathlib.Path, folder: pathlib.Path, gigabytes: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < (gigabytes + 2) * 1e9:
        print(f"{gigabytes} GB file: skipped: {free / 1e9:.0f} GB free in {folder}")
        return
    file = folder / "large.json"
    made = generate(roofmark, base, file, f"{gigabytes}GB")
    one = child_peak([roofmark, "mine", "--json", str(base)])
    totals = json.loads(one["result"][1].splitlines()[0])
    answer = child_peak([roofmark, "mine", "--json", str(file)], 1800)
    row("roofmark mine", file, made["bytes"], answer, made["copies"] * totals["sum_kernel_ns"])
    if answer["result"] is not None:
        print(f"  {made['events']} events; peak memory is {answer['peak'] / made['bytes']:.3f} of "
              f"the file, {answer['peak'] / made['events']:.1f} bytes an event")
    file.unlink()
    file.with_name(file.name + ".facts").unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("roofmark")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--size", default="300MB")
    parser.add_argument("--large", type=int, default=10,
                        help="gigabytes of the large file; 0: none")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    shared = pathlib.Path(os.environ.get("ROOFMARK_SHARED", ROOT.parent / "shared"))
    base = shared / "traces/kineto_rocm/xdit_sd35_torch_compile.json.gz"
    if not base.exists():
        base = ROOT / "examples/profiles/moe_mixed.json.gz"
    print(f"replicas of {base.name}; rates are of uncompressed JSON, one process each\n")
    compare(args.roofmark, base, args.folder, args.size)
    if args.large > 0:
        large(args.roofmark, base, args.folder, args.large)


if __name__ == "__main__":
    main()
