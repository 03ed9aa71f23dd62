#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds one fuzzer and runs it: fuzz.sh NAME SECONDS FOLDER. NAME is that of src/*/NAME.cc; the
# folder keeps what was compiled and the corpus that grew, so that a later run goes on from there.
# The inputs to begin with are the fixtures of src/trace/testdata and what tests/fuzz/corpus keeps:
# every input that ever broke a reader. Exit code 77: no clang with libFuzzer.
set -euo pipefail
name=$1 seconds=$2 folder=$3
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
compiler=${ROOFMARK_CLANG:-clang++-19}
command -v "$compiler" > /dev/null || { echo "no $compiler: install clang-19"; exit 77; }
mkdir -p "$folder/objects" "$folder/corpus/$name" "$folder/artifacts"
flags=(-std=c++23 -O1 -g -fsanitize=fuzzer-no-link,address -fno-omit-frame-pointer -I"$root/src"
  -Wno-everything)

if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, long) { return 0; }' |
  "$compiler" -x c++ - -fsanitize=fuzzer,address -o "$folder/probe" 2> "$folder/probe.log"; then
  tail -n 3 "$folder/probe.log"
  echo "$compiler cannot link libFuzzer: install libclang-rt-19-dev"
  exit 77
fi

# Compiles what is newer than its object; a header counts for all.
newest=$(find "$root"/src/{base,model,trace,meter} "$root"/src/gate/same_code.h -name '*.h' \
  -newer "$folder/stamp" 2> /dev/null | head -n 1 || true)
[ -f "$folder/stamp" ] && [ -z "$newest" ] || rm -f "$folder"/objects/*.o
touch "$folder/stamp.new"
objects=()
pending=()
for source in "$root"/src/base/*.cc "$root"/src/model/*.cc "$root"/src/trace/*.cc \
  "$root"/src/meter/{cubin,sha256}.cc "$root"/src/gate/same_code.cc; do
  case $(basename "$source") in
    *_test.cc | *_bench.cc | *_fuzz.cc) continue ;;
    # What comes after reading and linking.
    attribution* | batch_* | capture* | check_* | decision* | explain_* | find_* | graph_* | \
      phase_* | replicate* | rule_stub* | rules* | trace.cc) continue ;;
  esac
  object=$folder/objects/$(basename "${source%.cc}").o
  objects+=("$object")
  [ "$object" -nt "$source" ] || pending+=("$source" "$object")
done
launcher=$(command -v ccache || true)
export launcher compiler
if [ ${#pending[@]} -gt 0 ]; then
  printf '%s\0' "${pending[@]}" | xargs -0 -n 2 -P "$(nproc)" \
    bash -c '$launcher "$compiler" "${@:1:$#-2}" -c "${@: -2:1}" -o "${@: -1}"' _ "${flags[@]}"
fi
mv "$folder/stamp.new" "$folder/stamp"
"$compiler" "${flags[@]}" -fsanitize=fuzzer,address "$root"/src/*/"$name.cc" "${objects[@]}" \
  -lisal -lzstd -lsimdjson -lfmt -lcrypto -lsqlite3 -o "$folder/$name"

seeds=("$folder/corpus/$name" "$root/src/trace/testdata")
[ -d "$root/tests/fuzz/corpus/$name" ] && seeds+=("$root/tests/fuzz/corpus/$name")
# A leak is no crash of a program that reads a file and ends; memory is bounded all the same.
exec "$folder/$name" -max_total_time="$seconds" -max_len=65536 -timeout=60 -rss_limit_mb=2048 \
  -print_final_stats=1 -artifact_prefix="$folder/artifacts/$name-" "${seeds[@]}"
