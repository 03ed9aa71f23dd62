# SPDX-License-Identifier: Apache-2.0
"""Records the example profiles: a served decoder under PyTorch's profiler, on one CUDA GPU.

    python3 examples/profiles/record.py --out DIR

Two models (dense GQA, mixture of experts), each doing prefill of a ragged batch, a mixed step
(chunked prefill beside decode), decode, and decode through a CUDA graph, whose capture is profiled
separately as vLLM and SGLang do (annotation `capture_32_FULL`). Shapes are on, steps carry vLLM's
labels, every operator is a dispatcher op (record_operators.py lists names and arguments). Written
with PyTorch 2.11 and Triton 3.6.

X_graph_capture.json.gz is the capture of X_graph.json.gz. manifest.csv names the others with the
application and card-hours that each stands for; the card-hours are assumed, for the demo's weights.
"""

import argparse
import csv
import gzip
import os
import sys
import tempfile
import time

# Keep CUPTI attached between profiles, or a graph captured under one loses its kernels in the next.
os.environ.setdefault("DISABLE_CUPTI_LAZY_REINIT", "1")
os.environ.setdefault("TEARDOWN_CUPTI", "0")

import torch
from torch.profiler import ProfilerActivity, profile, record_function

import record_trace
from record_decoder import DENSE, MOE, Config, Decoder, Scheduler, plain_label, step_label
from record_operators_check import wrong_operators

LIMIT_BYTES = 700_000  # per file
LIMIT_TOTAL_BYTES = 4_000_000
COMMON = ("rms_norm", "fused_add_rms_norm", "fused_qkv_rope", "reshape_and_cache",
          "unified_attention", "per_token_group_quant_fp8", "block_scaled_mm", "silu_and_mul")
EXPERTS = ("fused_qk_rmsnorm", "moe_topk_gating_softmax", "moe_align_block_size", "fused_moe",
           "moe_sum_reduce")
# Assumed fleet: application and card-hours of each recorded phase.
FLEET = {
    "dense": {"prefill": ("chat", 310), "mixed": ("chat", 120), "decode": ("batch", 90),
              "decode_graph": ("chat", 940)},
    "moe": {"prefill": ("code", 420), "mixed": ("code", 160), "decode": ("agents", 110),
            "decode_graph": ("code", 1280)},
}


class Recorder:
    """Profiles functions into files of one folder and remembers their text for the checks."""

    def __init__(self, folder, cuda):
        self.folder = folder
        self.activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if cuda else [])
        self.cuda = cuda
        self.texts = {}

    def record(self, name, function):
        self._sync()
        with profile(activities=self.activities, record_shapes=True, with_stack=False) as recorded:
            result = function()
            self._sync()
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "profile.json")
            recorded.export_chrome_trace(path)
            with open(path, encoding="utf-8", errors="replace") as file:
                text = record_trace.scrub(file.read(), name + ".json")
        self.texts[name] = text
        path = os.path.join(self.folder, name + ".json.gz")
        with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
            file.write(text.encode())
        return result

    def _sync(self):
        if self.cuda:
            torch.cuda.synchronize()


def run_steps(decoder, batches, labels):
    """What a server does: move the step's integers over, run it, fetch the sampled tokens."""
    for batch in batches:
        moved = batch.to(decoder.device)
        names = [label(batch) for label in labels]
        ranges = [record_function(name) for name in names]
        for entered in ranges:
            entered.__enter__()
        tokens = decoder.forward(moved)
        for entered in reversed(ranges):
            entered.__exit__(None, None, None)
        tokens.cpu()


class GraphedDecode:
    """Decode of a full batch as one CUDA graph over static inputs."""

    def __init__(self, decoder, batch):
        self.decoder = decoder
        self.static = batch.to(decoder.device)
        self.stream = torch.cuda.Stream()
        self.graph = torch.cuda.CUDAGraph()
        self.tokens = None
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):  # workspaces and builds, outside the graph
            for _ in range(2):
                decoder.forward(self.static)
        torch.cuda.synchronize()

    def capture(self):
        with record_function(f"capture_{len(self.static.q_lens)}_FULL"):
            with torch.cuda.graph(self.graph, stream=self.stream,
                                  capture_error_mode="thread_local"):
                self.tokens = self.decoder.forward(self.static)

    def replay(self, batches):
        for batch in batches:
            for name, value in batch.tensors().items():
                getattr(self.static, name).copy_(value, non_blocking=True)
            with record_function(step_label(batch)):
                self.graph.replay()
            self.tokens.cpu()


def ragged(count, low, high, generator):
    """`count` lengths spread over low .. high, log-uniformly as contexts of a served model are."""
    u = torch.rand(count, generator=generator)
    return [int(low * (high / low) ** value) for value in u.tolist()]


def plan_steps(config, scale, seed):
    """Cache size and the batches of each phase. `scale` shrinks the lengths for a trial run."""
    generator = torch.Generator().manual_seed(seed)
    contexts = [max(2, length // scale) for length in
                ragged(config.max_sequences, 1024, 8192, generator)]
    scheduler = Scheduler(config, [length + 64 for length in contexts], seed)
    chunk = 1024 // scale

    def whole(sequences):
        return [(row, contexts[row], contexts[row]) for row in sequences]

    def decode(sequences, step):
        return [(row, 1, contexts[row] + step + 1) for row in sequences]

    every = range(config.max_sequences)
    chunked = [(0, min(chunk, contexts[0]), contexts[0]), (1, chunk // 2, contexts[1])]
    return scheduler.pages, {
        "prefill": [scheduler.batch(whole(rows)) for rows in ([0, 1, 2], [3, 4], range(5, 9))],
        "mixed": [scheduler.batch(chunked + decode(range(2, 24), 0))],
        "decode": [scheduler.batch(decode(every, step)) for step in range(2)],
        # A graph of 32 also serves 29 sequences: the last rows are padding.
        "decode_graph": [scheduler.batch(decode(every, step)) for step in range(4)]
        + [scheduler.batch(decode(every[:-3], step), padded=3) for step in range(4, 6)],
    }


def record_model(recorder, prefix, config, args):
    """Records all phases of one model."""
    seed = args.seed + (prefix == "moe")  # other contexts than the dense model's
    pages, phases = plan_steps(config, 64 if args.trial else 1, seed)
    decoder = Decoder(config, pages, args.device, seed)
    for phase in ("prefill", "mixed", "decode"):
        run_steps(decoder, phases[phase], [])  # builds and warms every kernel of these shapes
        both = (prefix, phase) == ("dense", "decode")
        labels = [plain_label, step_label] if both else [step_label]
        recorder.record(f"{prefix}_{phase}",
                        lambda: run_steps(decoder, phases[phase], labels))
    if recorder.cuda:
        graphed = GraphedDecode(decoder, phases["decode_graph"][0])
        recorder.record(f"{prefix}_decode_graph_capture", graphed.capture)
        graphed.replay(phases["decode_graph"][:2])
        recorder.record(f"{prefix}_decode_graph",
                        lambda: graphed.replay(phases["decode_graph"]))


def write_manifest(folder, names, device, framework):
    path = os.path.join(folder, "manifest.csv")
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["profile", "application", "model", "framework", "device", "card_hours"])
        for name in names:
            prefix, phase = name.split("_", 1)
            if phase in FLEET[prefix]:
                application, hours = FLEET[prefix][phase]
                model = (DENSE if prefix == "dense" else MOE).name
                rows.writerow([name + ".json.gz", application, model, framework, device, hours])


def check(recorder):
    """Prints a line for each profile; returns what is wrong, as sentences."""
    problems, total = [], 0
    for name, text in recorder.texts.items():
        size = os.path.getsize(os.path.join(recorder.folder, name + ".json.gz"))
        total += size
        wanted = COMMON + (EXPERTS if name.startswith("moe") else ())
        if name.endswith("_graph"):  # a replay has no CPU ops of its own
            found = record_trace.check_replays(text, recorder.texts[name + "_capture"])
            found += [f"holds {part}" for part in record_trace.private_parts(text)]
        else:
            found = record_trace.check_profile(text, wanted)
        if size > LIMIT_BYTES:
            found.append(f"{size} bytes are more than {LIMIT_BYTES}")
        kernels, busy_us = record_trace.kernel_summary(record_trace.events(text))
        print(f"{name:28} {size:>8} bytes {kernels:>6} kernels {busy_us:>10.1f} us", flush=True)
        problems += [f"{name}: {sentence}" for sentence in found]
    print(f"{'total':28} {total:>8} bytes")
    if total > LIMIT_TOTAL_BYTES:
        problems.append(f"{total} bytes in all are more than {LIMIT_TOTAL_BYTES}")
    return problems


def trial(config):
    """The same structure, small enough for Triton's interpreter."""
    return Config(config.name, 128, 4, 2, 32, 64, 300, layers=1, experts=min(config.experts, 8),
                  top_k=min(config.top_k, 2), max_context=256, max_sequences=config.max_sequences)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", required=True, help="folder for the profiles (made if missing)")
    parser.add_argument("--models", default="dense,moe", help="which of dense, moe")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--trial", action="store_true",
                        help="tiny models; without a GPU run it with TRITON_INTERPRET=1")
    parser.add_argument("--unchecked", action="store_true",
                        help="do not compare the operators with their references first")
    args = parser.parse_args()
    cuda = torch.cuda.is_available()
    if not cuda and not args.trial:
        parser.error("no CUDA GPU found: record on a machine that has one, or try --trial")
    args.device = "cuda" if cuda else "cpu"
    os.makedirs(args.out, exist_ok=True)
    start = time.monotonic()
    recorder = Recorder(args.out, cuda)
    with torch.inference_mode():
        problems = []
        if not args.unchecked:
            problems = [f"operator {sentence}" for sentence in wrong_operators(args.device)]
            print(f"operators checked after {time.monotonic() - start:.1f} s", flush=True)
        if cuda:  # the first profile of a process starts CUPTI, and is not kept
            with profile(activities=recorder.activities):
                torch.zeros(1, device="cuda").add_(1)
        for prefix in args.models.split(","):
            config = {"dense": DENSE, "moe": MOE}[prefix]
            record_model(recorder, prefix, trial(config) if args.trial else config, args)
            if cuda:
                torch.cuda.empty_cache()
            print(f"{prefix} recorded after {time.monotonic() - start:.1f} s", flush=True)
    device = torch.cuda.get_device_name(0) if cuda else "none"
    write_manifest(args.out, recorder.texts, device, f"pytorch {torch.__version__}")
    problems += check(recorder)
    for sentence in problems:
        print("problem:", sentence)
    print(f"{'FAILED' if problems else 'ok'} after {time.monotonic() - start:.1f} s: {args.out}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
