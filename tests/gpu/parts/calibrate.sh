# SPDX-License-Identifier: Apache-2.0
# This GPU's ceilings, measured; the card beside the datasheet's.
set -eu
"$ROOFMARK" calibrate --device cuda -o "$RESULTS/card.toml"
cat "$RESULTS/card.toml"
