# SPDX-License-Identifier: Apache-2.0
"""Which honest examples there are: candidates/README.md must say what the files say, and the list
of one candidate for each published operator must be whole. `candidates_test.py --write` rewrites
the page."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LANES = ("cuda", "triton", "gluon", "cpp", "torch")
FAMILIES = {
    "attention": ("unified_attention", "attention_forward", "paged_attention_decode",
                  "mla_decode_attention"),
    "MoE": ("moe_sum_reduce", "moe_topk_gating_softmax", "moe_align_block_size",
            "moe_count_and_sort", "fused_moe", "fp8_blockscale_fused_moe"),
    "fp8 GEMM": ("block_scaled_mm",),
    "quantisation": ("fp8_dynamic_per_token_quant", "per_token_group_quant_fp8"),
    "norms": ("rms_norm", "layer_norm", "l2_norm", "fused_add_rms_norm", "gated_rms_norm",
              "fused_qk_rmsnorm", "fused_rmsnorm_quant"),
    "RoPE": ("fused_qkv_rope", "mrope"),
    "gated delta rule": ("gated_delta_rule_update", "chunk_delta_rule_output",
                         "chunk_gated_delta_rule_state"),
    "causal conv1d": ("causal_conv1d",),
    "activation": ("silu_and_mul", "linear_sigmoid_mul"),
    "cache": ("reshape_and_cache",),
    "top-k filter": ("topk_filter",),
}
HEADER = """# Candidates

Honest examples to learn from, by operator family and lane, and baselines (torch). A folder is
an operator, a file or folder in it a candidate:
`roofmark judge candidates/rms_norm/triton.py --device cuda`. An empty cell has no example yet.
`tests/tree/candidates_test.py` checks this table against the files (`--write` rewrites it).

"""


def lane_of(path):
    """As the judge tells it, for the files of this folder."""
    if path.is_dir():
        return "cuda" if any(path.glob("*.cu")) else None
    if path.suffix in (".cu", ".cc"):
        return {".cu": "cuda", ".cc": "cpp"}[path.suffix]
    if path.suffix != ".py":
        return None
    text = path.read_text()
    if re.search(r"^from triton\.experimental import gluon", text, re.MULTILINE):
        return "gluon"
    return "triton" if re.search(r"^import triton", text, re.MULTILINE) else "torch"


def cells():
    """(family, lane) -> operators that have an example."""
    found = {}
    for family, operators in FAMILIES.items():
        for operator in operators:
            for path in sorted((ROOT / "candidates" / operator).glob("*")):
                if path.name == "__pycache__" or lane_of(path) is None:
                    continue
                some = found.setdefault((family, lane_of(path)), [])
                if operator not in some:
                    some.append(operator)
    return found


def page():
    found = cells()
    lines = ["| family | " + " | ".join(LANES) + " |", "|---" * (len(LANES) + 1) + "|"]
    for family in FAMILIES:
        row = [", ".join(found.get((family, lane), [])) for lane in LANES]
        lines.append("| %s | %s |" % (family, " | ".join(row)))
    return HEADER + "\n".join(lines) + "\n"


def published():
    text = (ROOT / "suites" / "published-440.toml").read_text()
    return re.findall(r"^\[operators\.(\w+)\]", text, re.MULTILINE)


class Candidates(unittest.TestCase):
    def test_the_page_names_the_examples_that_there_are(self):
        self.assertEqual(page(), (ROOT / "candidates" / "README.md").read_text())

    def test_every_published_operator_is_in_a_family(self):
        members = [operator for some in FAMILIES.values() for operator in some]
        self.assertEqual(sorted(members), sorted(published()))

    def test_every_published_operator_has_one_honest_candidate(self):
        lines = (ROOT / "tests" / "gpu" / "every_operator.txt").read_text().splitlines()
        rows = [line.split() for line in lines if line and not line.startswith("#")]
        self.assertEqual(sorted(operator for operator, _ in rows), sorted(published()))
        for operator, file in rows:
            self.assertTrue(file.startswith(operator + "/"), file)
            self.assertTrue((ROOT / "candidates" / file).exists(), file)
            self.assertNotEqual(lane_of(ROOT / "candidates" / file), "torch", file)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        (ROOT / "candidates" / "README.md").write_text(page())
    else:
        unittest.main()
