# SPDX-License-Identifier: Apache-2.0
"""Large inputs, which are drawn in part and then repeated.

Run with PyTorch >= 1.13 on a CPU:  python3 tests/operators/pool_test.py
"""

import os
import sys
import unittest
from unittest import mock

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import card  # noqa: E402,F401  (puts roofmark_ref on the path)
from roofmark_ref import fp8_blockscale_fused_moe as layer  # noqa: E402
from roofmark_ref import rows  # noqa: E402

torch.set_num_threads(1)
_TYPE = "f8_e4m3fn"


def generator():
    return torch.Generator().manual_seed(7)


class Rows(unittest.TestCase):
    def fill(self, count, columns):
        gen = generator()
        out = torch.full((count, columns), float("nan"))
        rows.fill(out, lambda part, width: torch.randn((part, width), generator=gen), gen)
        return out

    def test_a_small_tensor_is_drawn_whole(self):
        self.assertEqual(len(torch.unique(self.fill(1000, 4), dim=0)), 1000)

    def test_beyond_the_pool_rows_come_again_in_no_order(self):
        with mock.patch.object(rows, "POOL", 64 * 16), mock.patch.object(rows, "_PIECE", 300):
            out = self.fill(1000, 16)
        self.assertEqual(len(torch.unique(out[:64], dim=0)), 64)
        self.assertEqual(len(torch.unique(out, dim=0)), 64)
        self.assertFalse(torch.equal(out[64:128], out[:64]))
        self.assertFalse(torch.equal(out[64:128], out[128:192]))

    def test_a_row_longer_than_the_pool_and_no_rows_at_all_are_filled(self):
        with mock.patch.object(rows, "POOL", 8):
            self.assertTrue(self.fill(3, 16).isfinite().all())
            self.assertEqual(self.fill(0, 16).numel(), 0)


class Bands(unittest.TestCase):
    def draw(self, count, group=128, seeded=None):
        how = (_TYPE, 0.1, 0.0, 4.0, "typical", seeded or generator(), "cpu")
        return layer._draw(count, 256, group, 128, *how)

    def small_pool(self):
        return mock.patch.multiple(layer, _POOL=1 << 18, _CHUNK=1 << 17)

    def test_a_matrix_within_the_pool_is_the_same_with_and_without_one(self):
        with mock.patch.object(layer, "_CHUNK", 1 << 17):
            want = self.draw(1024)
            with mock.patch.object(layer, "_POOL", 1 << 18):
                got = self.draw(1024)
        self.assertTrue(all(torch.equal(*pair) for pair in zip(got, want)))

    def test_later_bands_are_earlier_ones_with_their_scales(self):
        with self.small_pool():
            codes, scales = self.draw(4096)
        bands = codes.view(32, -1)
        for band in range(8, 32):
            source = [
                first
                for first in range(8)
                if torch.equal(bands[band], bands[first])
                and torch.equal(scales[band], scales[first])
            ]
            # Neighbours still differ: the first of a pair stays a first one.
            self.assertEqual([first % 2 for first in source], [band % 2])

    def test_rows_with_scales_of_their_own_and_odd_numbers_of_them_are_filled(self):
        with self.small_pool():
            codes, scales = self.draw(4095, group=1)
        self.assertEqual(codes.shape, (4095, 256))
        self.assertTrue((scales > 0).all() and scales.isfinite().all())


if __name__ == "__main__":
    unittest.main()
