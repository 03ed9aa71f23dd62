#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Keeps of a corpus that grew what the tests should begin with: keep.sh NAME FOLDER, with fuzz.sh's
# folder. Of the inputs up to 4 KiB the fewest that reach all the code which they reach together,
# at most 300 KB, go to tests/fuzz/corpus/NAME beside what is there; inputs that broke a reader are
# named after what they broke (broke-...) and stay whatever they reach.
set -euo pipefail
name=$1 folder=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
kept=$root/tests/fuzz/corpus/$name
[ -x "$folder/$name" ] || { echo "build it first: tests/fuzz/fuzz.sh $name 1 $folder"; exit 2; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$kept" "$scratch/all" "$scratch/least"
find "$folder/corpus/$name" "$kept" -type f -size -9 ! -name 'broke-*' -exec cp {} "$scratch/all" \;
# Without counters: which code is reached, not how often.
"$folder/$name" -set_cover_merge=1 -use_counters=0 -max_len=4096 "$scratch/least" "$scratch/all" \
  2>&1 | tail -n 1
find "$kept" -type f ! -name 'broke-*' -delete
cp "$scratch"/least/* "$kept"
size=$(du -sb "$kept" | cut -f 1)
echo "$kept: $(find "$kept" -type f | wc -l) files, $size bytes"
[ "$size" -le 307200 ] || echo "more than 300 KB: leave the largest out"
