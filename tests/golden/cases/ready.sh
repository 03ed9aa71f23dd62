# The checklist of readiness on a CPU. What is measured varies; what follows from the program does
# not: items, their order, and what does not apply.
cat > show.py << 'P'
import json, sys
*_, last = (json.loads(line) for line in sys.stdin)
for item in last["items"]:
    fixed = item["item"] in sys.argv[1].split(",")
    print(item["item"], item["answer"] if fixed else "yes or no", "because", item["why"] if fixed else "...")
assert last["ready"] == all(item["answer"] != "no" for item in last["items"])
P
RMS=$DATA/candidates/rms_norm
cat > wrong.cc << 'C'
#include "roofmark/rms_norm.h"
extern "C" int run(const rms_norm_args*, void*, void*) { return 0; }
C
judge() { "$ROOFMARK" judge --operator rms_norm --shape s-one-row --store s.db --quick "$@" 2> err.txt || { code=$?; grep roofmark: err.txt; return $code; }; }
echo "== without a baseline"
judge "$RMS/rms_norm.cc" --require ready
echo "exit code $?"
echo "== a wrong one is not ready, and says why"
judge wrong.cc --require ready --against "$RMS/rms_norm_naive.cc" --json > lines.jsonl
echo "exit code $?"
python3 show.py not_slower,cuda_graph,host_synchronisation,allocation,deterministic < lines.jsonl
echo "== a kernel against itself is not ready, since it is not faster"
judge "$RMS/rms_norm.cc" --require ready --against "$RMS/rms_norm.cc" --json > lines.jsonl
echo "exit code $?"
python3 show.py "" < lines.jsonl
echo "== one that leaks memory which it shares with nobody is not ready"
{ cat "$RMS/rms_norm_naive.cc" | sed 's/ run(/ right(/'; cat << 'C'; } > leaks.cc
#include <sys/mman.h>
extern "C" int run(const rms_norm_args* args, void* workspace, void* stream) {
  void* p = mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p != MAP_FAILED) *static_cast<char*>(p) = 1;
  return right(args, workspace, stream);
}
C
judge leaks.cc --require ready --against "$RMS/rms_norm_naive.cc" --json > lines.jsonl
echo "exit code $?"
python3 - << 'P'
import json
item = next(i for i in json.loads(open("lines.jsonl").readlines()[-1])["items"] if i["item"] == "allocation")
print(item["item"], item["answer"])
P
echo "== graphs are of a GPU"
judge "$RMS/rms_norm.cc" --mode graph
