# SPDX-License-Identifier: Apache-2.0
"""What operator references may import beside torch: exact fp8 tables."""
