# What a candidate says is shown, and obeyed by no terminal: not in a verdict, nor as JSON.
cat > escapes.cc << 'C'
#include <stdexcept>
#include "roofmark/rms_norm.h"
extern "C" int run(const rms_norm_args*, void*, void*) {
  throw std::runtime_error("\x1b[1A\x1b[2K\rpassed \xc2\x9b" "8m\x9b \a\x7f \xc2\xb5s");
}
C
"$ROOFMARK" judge escapes.cc --operator rms_norm --shape s-one-row --gate correctness --store s.db \
  2> err.txt | grep -a "passed" | cat -v
"$ROOFMARK" judge escapes.cc --operator rms_norm --shape s-one-row --gate correctness --store s.db \
  --json 2> err.txt > out.json
LC_ALL=C grep -c "$(printf '\033')" out.json
python3 -c 'import json; print(ascii(json.loads(open("out.json").readline())["reason"].split("\n")[0]))'
echo "== in the message of an error"
"$ROOFMARK" judge "$(printf 'gone\033[2K.cc')" --operator rms_norm 2>&1 | cat -v
