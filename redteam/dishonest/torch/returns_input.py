# SPDX-License-Identifier: Apache-2.0
"""Returns its input itself."""

class Model:
    def __call__(self, x, weight):
        return x
