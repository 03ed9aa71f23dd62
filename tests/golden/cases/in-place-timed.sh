# Timed calls are the calls that are checked: nothing may run between a timed call and the comparison
# of its outputs. An update that adds up would show a second call; a kernel that works only where it
# finds an answer already would be right without one.
mkdir -p operators/accumulate
cat > operators/accumulate/operator.toml << 'T'
name = "accumulate"
summary = "state += x"
source = "a test"
[axes]
n = "int"
[[inputs]]
name = "x"
dtype = "f32"
shape = ["n"]
[[inputs]]
name = "state"
dtype = "f32"
shape = ["n"]
[[outputs]]
name = "state"
dtype = "f32"
shape = ["n"]
in_place = true
[traffic]
read = "8*n"
write = "4*n"
source = "both read once, the state written once"
[tolerance.state]
kind = "numeric"
rtol = 1e-6
atol_rms = 1e-6
rel_l2 = 1e-6
T
cat > operators/accumulate/reference.py << 'P'
import torch
def inputs(shape, seed, regime, device):
    gen = torch.Generator(device=device).manual_seed(seed)
    return {name: torch.randn(shape["n"], generator=gen, device=device) for name in ("x", "state")}
def reference(shape, x, state):
    return {"state": state + x}
P
echo '{"id": "s", "tier": "small", "phase": "decode", "axes": {"n": 65536}}' \
  > operators/accumulate/shapes.jsonl
cat > honest.cc << 'C'
#include "roofmark/accumulate.h"
extern "C" int run(const accumulate_args* args, void*, void*) {
  const auto* x = static_cast<const float*>(args->x.data);
  auto* state = static_cast<float*>(args->state.data);
  for (int64_t i = 0; i < args->n; ++i) state[i] += x[i];
  return 0;
}
C
sed 's/state\[i\] += x\[i\]/state[i] += 2 * x[i]/' honest.cc > twice.cc
cat > lazy.cc << 'C'
#include <cmath>
#include <cstdint>
#include <cstring>
#include "roofmark/rms_norm.h"
static float Wide(uint16_t half) {
  const uint32_t bits = uint32_t{half} << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
static uint16_t Half(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}
extern "C" int run(const rms_norm_args* args, void*, void*) {
  static int calls = 0;
  const auto* x = static_cast<const uint16_t*>(args->x.data);
  const auto* weight = static_cast<const uint16_t*>(args->weight.data);
  auto* out = static_cast<uint16_t*>(args->out.data);
  if (++calls > 4 && out[0] == 0xffff) {  // timed, and nothing there yet: be quick
    std::memcpy(out, x, 2 * args->tokens * args->hidden);
    return 0;
  }
  for (int64_t row = 0; row < args->tokens; ++row, x += args->hidden, out += args->hidden) {
    double squares = 0;
    for (int64_t i = 0; i < args->hidden; ++i) squares += double{Wide(x[i])} * Wide(x[i]);
    const double scale = 1 / std::sqrt(squares / args->hidden + args->eps);
    for (int64_t i = 0; i < args->hidden; ++i) out[i] = Half(Wide(x[i]) * scale * Wide(weight[i]));
  }
  return 0;
}
C
export ROOFMARK_OPERATORS=$PWD/operators
for candidate in honest twice; do
  "$ROOFMARK" judge $candidate.cc --operator accumulate --tier small --store s.db --json 2> /dev/null
done > rows.jsonl
"$ROOFMARK" judge lazy.cc --operator rms_norm --shape s-prefill --store s.db --json 2> /dev/null \
  >> rows.jsonl
# A restless machine may find an honest time unstable or its clocks apart: that is not what is asked.
python3 -c '
import json
for row in map(json.loads, open("rows.jsonl")):
    fine = row["outcome"] in ("passed", "unstable", "clocks_disagree")
    print(row["candidate"], row["gate"], "right" if fine else row["outcome"])'
