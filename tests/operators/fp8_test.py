# SPDX-License-Identifier: Apache-2.0
"""The fp8 codec that references use, against the formats' definitions.

Run with PyTorch >= 1.13 on a CPU:  python3 tests/operators/fp8_test.py
"""

import math
import os
import sys
import unittest

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import card  # noqa: E402,F401  (puts roofmark_ref on the path)
from arrays import FP8_VALUES  # noqa: E402
from roofmark_ref import fp8  # noqa: E402

torch.set_num_threads(1)


def encode(values, dtype):
    """fp8.encode; on a GPU, where there is one, as the judge's reference does."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return fp8.encode(values.to(device), dtype).cpu()


class Fp8(unittest.TestCase):
    def test_decoding_follows_the_format(self):
        got = fp8.decode(torch.arange(256, dtype=torch.uint8))
        for code in range(256):
            want = float(FP8_VALUES["f8_e4m3fn"][code])
            self.assertTrue(
                float(got[code]) == want or math.isnan(want) and math.isnan(float(got[code])), code
            )
        self.assertEqual(
            float(fp8.decode(torch.tensor([0x7F], dtype=torch.uint8), "f8_e4m3fnuz")), 240.0
        )
        self.assertTrue(
            math.isnan(float(fp8.decode(torch.tensor([0x80], dtype=torch.uint8), "f8_e4m3fnuz")))
        )

    def test_every_code_survives_a_round_trip(self):
        codes = torch.arange(256, dtype=torch.uint8)
        for dtype in ("f8_e4m3fn", "f8_e4m3fnuz"):
            values = fp8.decode(codes, dtype)
            finite = torch.isfinite(values)
            self.assertTrue(torch.equal(encode(values, dtype)[finite], codes[finite]))
            self.assertEqual(int((~finite).sum()), 2 if dtype == "f8_e4m3fn" else 1)

    def test_encoding_rounds_to_the_nearest_code_and_ties_to_even(self):
        generator = torch.Generator().manual_seed(1)
        for dtype, largest in fp8.MAX_VALUE.items():
            grid = fp8.decode(torch.arange(128, dtype=torch.uint8), dtype)
            grid = grid[torch.isfinite(grid)].double()
            values = torch.rand(20000, generator=generator).double() ** 6 * largest
            values = torch.cat([values, (grid[1:] + grid[:-1]) / 2])  # ties are exact in float32
            got = encode(values.float(), dtype)
            distance = (values.float().double()[:, None] - grid).abs()
            nearest = distance.amin(1)
            self.assertTrue(
                torch.equal(
                    (fp8.decode(got, dtype).double() - values.float().double()).abs(), nearest
                )
            )
            ties = (distance == nearest[:, None]).sum(1) > 1
            self.assertGreaterEqual(int(ties.sum()), len(grid) - 1)
            self.assertTrue(bool((got[ties] % 2 == 0).all()))

    def test_encoding_saturates_and_keeps_signs_and_nan(self):
        values = torch.tensor([1e9, -1e9, float("inf"), 0.0, -0.0, float("nan")])
        self.assertEqual(encode(values, "f8_e4m3fn").tolist(), [0x7E, 0xFE, 0x7E, 0x00, 0x80, 0x7F])
        self.assertEqual(
            encode(values, "f8_e4m3fnuz").tolist(), [0x7F, 0xFF, 0x7F, 0x00, 0x00, 0x80]
        )

    @unittest.skipUnless(hasattr(torch, "float8_e4m3fn"), "this PyTorch has no fp8")
    def test_decoding_agrees_with_torch(self):
        codes = torch.arange(256, dtype=torch.uint8)
        want = codes.view(torch.float8_e4m3fn).float()
        self.assertTrue(torch.equal(torch.nan_to_num(fp8.decode(codes)), torch.nan_to_num(want)))


if __name__ == "__main__":
    unittest.main()
