# SPDX-License-Identifier: Apache-2.0
"""Says while it is imported that its compiler is missing, and so would never be judged."""

from roofmark_arenas import Refusal

raise Refusal("unsupported", "lane torch: it was checked, not run")
