#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a folder that runs on another x86-64 Linux machine: the binary, every shared library but
# glibc's and GCC's run-time libraries beside it (found by $ORIGIN), and the data.
#     cmake/bundle.sh ROOT BUILD OUT      (called by `./run bundle` and by the test `bundle`)
# Exit code 77: something that it needs is not there, so nothing was made.
set -euo pipefail
root=$1
build=$2
out=$3
binary=$build/bin/roofmark

# glibc's parts must come from the machine that runs it: they belong to its loader and its kernel.
# So must libstdc++: candidates are compiled there, and one by a newer GCC than ours does not load
# into a process that holds ours. A machine with such a glibc has a libstdc++ of the same years.
readonly SYSTEM='^(ld-linux.*|lib(c|m|mvec|pthread|dl|rt|resolv|util|anl|nss_.*|stdc..|gcc_s))\.so'

for needed in patchelf objdump; do
  command -v "$needed" > /dev/null || { echo "bundle: $needed is missing" >&2; exit 77; }
done
for needed in "$binary" "$build/vendor/plotly.min.js"; do
  [ -f "$needed" ] || { echo "bundle: $needed is missing; ./run bundle makes it" >&2; exit 77; }
done
if [ -e "$out" ] && [ ! -f "$out/BUNDLE" ]; then
  echo "$out is there and is no bundle; remove it or name another folder" >&2
  exit 3
fi
rm -rf "$out"
mkdir -p "$out/bin" "$out/lib" "$out/share/roofmark/vendor"

install -m 755 "$binary" "$out/bin/roofmark"
ldd "$binary" | awk '$2 == "=>" && $3 ~ "^/" {print $1, $3}' | while read -r name path; do
  [[ $name =~ $SYSTEM ]] || install -m 644 "$path" "$out/lib/$name"
done
for library in "$build"/lib/*.so; do
  [ ! -f "$library" ] || install -m 644 "$library" "$out/lib/"
done
patchelf --set-rpath "\$ORIGIN/../lib" "$out/bin/roofmark"
for library in "$out"/lib/*; do patchelf --set-rpath "\$ORIGIN" "$library"; done

for folder in operators devices rules candidates examples redteam suites python; do
  [ ! -d "$root/$folder" ] || cp -r "$root/$folder" "$out/share/roofmark/"
done
mkdir -p "$out/share/roofmark/src/worker"
cp -r "$root/src/worker/python" "$out/share/roofmark/src/worker/"
cp "$build/vendor/plotly.min.js" "$out/share/roofmark/vendor/"
cp "$root/LICENSE" "$out/"
find "$out" -name __pycache__ -prune -exec rm -rf {} +

glibc=$(objdump -T "$out/bin/roofmark" "$out"/lib/* | grep -o 'GLIBC_[0-9.]*' | sort -uV |
  tail -n 1)
glibcxx=$(objdump -T "$out/bin/roofmark" "$out"/lib/* | grep -o 'GLIBCXX_[0-9.]*' | sort -uV |
  tail -n 1)
printf 'roofmark for x86-64 Linux; least glibc: %s, libstdc++: %s\n' "${glibc#GLIBC_}" \
  "$glibcxx" > "$out/BUNDLE"
cat "$out/BUNDLE"

# The proof: from another folder, with nothing of this environment.
(cd / && env -i "$out/bin/roofmark" --help > /dev/null) ||
  { echo "the bundle does not run" >&2; exit 3; }
used=$(cd / && env -i ldd "$out/bin/roofmark" | awk '$2 == "=>" {print $1, $3}')
while read -r name path; do
  [[ $name =~ $SYSTEM || $path == "$out"/* ]] || { echo "$name comes from $path" >&2; exit 3; }
done <<< "$used"
libraries=$(find "$out/lib" -type f | wc -l)
echo "$out: $(du -sh "$out" | cut -f1), $libraries libraries beside the binary; it runs"
