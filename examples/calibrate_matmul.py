# SPDX-License-Identifier: Apache-2.0
"""Matrix rates of a GPU through PyTorch's libraries, for `roofmark calibrate`.

Prints one JSON object: per engine the operations of one product, the seconds of each repetition and
how they were measured. Operands are random: on zeros a GPU draws less power and clocks higher.
"""

import json
import sys

import torch

N = 8192
WARM_UPS = 5
REPETITIONS = 20


def seconds_of(product):
    for _ in range(WARM_UPS):
        product()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(REPETITIONS + 1)]
    for event in events[:-1]:
        event.record()
        product()
    events[-1].record()
    torch.cuda.synchronize()
    return [a.elapsed_time(b) / 1e3 for a, b in zip(events, events[1:])]


def plain(dtype):
    a = torch.randn(N, N, device="cuda", dtype=torch.float32).to(dtype)
    b = torch.randn(N, N, device="cuda", dtype=torch.float32).to(dtype)
    return lambda: torch.mm(a, b)


def fp8():
    a = torch.randn(N, N, device="cuda").to(torch.float8_e4m3fn)
    b = torch.randn(N, N, device="cuda").to(torch.float8_e4m3fn).t()
    one = torch.ones((), device="cuda")
    return lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)


def main():
    if not torch.cuda.is_available():
        sys.exit("this PyTorch sees no GPU")
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.manual_seed(1)
    products = {
        "tensor_bf16": ("bf16", lambda: plain(torch.bfloat16)),
        "tensor_f16": ("fp16", lambda: plain(torch.float16)),
        "tensor_tf32": ("tf32", lambda: plain(torch.float32)),
        "tensor_fp8": ("fp8 e4m3fn", fp8),
    }
    found = {"torch": torch.__version__}
    for engine, (title, make) in products.items():
        try:
            seconds = seconds_of(make())
        except (RuntimeError, AttributeError, NotImplementedError) as error:
            print("%s: %s" % (title, error), file=sys.stderr)
            continue
        found[engine] = {
            "ops": 2.0 * N**3,
            "seconds": seconds,
            "how": "PyTorch matrix product %d^3, %s, random data" % (N, title),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
