# Operators of a fleet without a card get one to fill in, which is refused until it is.
mkdir data && cp -r "$DATA"/devices "$DATA"/examples "$DATA"/rules data
mkdir data/operators && cp -r "$DATA"/operators/rms_norm data/operators
export ROOFMARK_DATA=$PWD/data
"$ROOFMARK" mine data/examples/profiles/dense_decode.json.gz -o fleet.json > /dev/null
"$ROOFMARK" suite build fleet.json -o suite.json --stubs mine | grep stub
cat mine/gemm/operator.toml | sed 's/^#   .*/#   KERNEL/' | uniq
head -1 mine/gemm/shapes.jsonl
ROOFMARK_OPERATORS=$PWD/mine "$ROOFMARK" suite list; echo "-> $?"
"$ROOFMARK" suite build fleet.json --stubs mine | grep 'gemm:'
