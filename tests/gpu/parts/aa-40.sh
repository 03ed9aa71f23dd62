# SPDX-License-Identifier: Apache-2.0
# A kernel against itself, forty times on five shapes (3 to 72 us on an H200): it may not be called
# faster or slower, and its attainment repeats (1 % over 10 us, 5 % from 2 to 10 us). Forty copies,
# which differ in a comment, are judged in groups of eight: each copy has a process, outputs and
# blocks of its own, and a group shares one start, one reference and one baseline. A group that was
# interrupted is judged again, one that is finished is not: run the part again to go on. AA_GROUPS
# names the groups to judge, so that two GPUs can share them. Leaves aa-40.jsonl and aa-40.txt.
#
# Each copy in a session of its own, on every visible GPU, in about twice the time:
#   roofmark judge --all $RESULTS/aa-40 --operator rms_norm --against cuda.cu --quick ... --json
set -eu
kernel=${AA_KERNEL:-$ROOFMARK_DATA/candidates/rms_norm/cuda.cu}
shapes=${AA_SHAPES:-20 55 3 12 14}
device=${AA_DEVICE:-cuda}
tier=${AA_TIER:-published}
group_size=${AA_GROUP:-8}
total=${AA_COPIES:-40}
groups=$((total / group_size))
chosen=${AA_GROUPS:-$(seq "$groups")}
limit_s=${AA_LIMIT_S:-470}
copies=$RESULTS/aa-40
mkdir -p "$copies"
for number in $(seq "$total"); do
  number=$(printf %02d "$number")
  { cat "$kernel"; echo "// copy $number"; } > "$copies/copy$number.${kernel##*.}"
done

longest=0
for group in $chosen; do
  lines=$copies/group$group.jsonl
  [ ! -f "$lines.whole" ] || continue
  if [ $((SECONDS + longest)) -ge "$limit_s" ]; then break; fi
  begin=$SECONDS
  names=()
  for number in $(seq $(((group - 1) * group_size + 1)) $((group * group_size))); do
    names+=("$copies/copy$(printf %02d "$number").${kernel##*.}")
  done
  code=0
  # shellcheck disable=SC2086  # the shapes are words
  "$ROOFMARK" judge "${names[@]}" --against "$kernel" --operator rms_norm --shape $shapes \
    --device "$device" --tier "$tier" --store "$RESULTS/aa-40.db" --timings --json \
    2> "$copies/group$group.log" > "$lines" || code=$?
  # 1 says that no copy was faster than the kernel, which is as it should be.
  if [ "$code" -gt 1 ]; then
    echo "group $group: exit code $code" >&2
    tail -n 5 "$copies/group$group.log" >&2
    exit 3
  fi
  touch "$lines.whole"
  [ $((SECONDS - begin)) -le "$longest" ] || longest=$((SECONDS - begin))
  echo "group $group of $groups: $((SECONDS - begin)) s"
done

for group in $(seq "$groups"); do
  [ ! -f "$copies/group$group.jsonl" ] ||
    sed "s/^{/{\"run\": $group, /" "$copies/group$group.jsonl"
done > "$RESULTS/aa-40.jsonl"
"${ROOFMARK_PYTHON:-python3}" "$(dirname "$0")/../aa_table.py" "$RESULTS/aa-40.jsonl" \
  | tee "$RESULTS/aa-40.txt"
whole=$(find "$copies" -name '*.whole' | wc -l)
if [ "$whole" -lt "$groups" ]; then
  echo "$whole of $groups groups are judged; run this part again to go on"
  exit 4
fi
! grep -q 'called different: [1-9]' "$RESULTS/aa-40.txt"
