# A suite as two parts with hashes; weights are refreshed alone; what was changed is found.
mask() { sed -E 's/^(public|hidden) [0-9a-f]{64}/\1 HASH/'; }
mkdir data && cp -r "$DATA"/devices "$DATA"/examples "$DATA"/suites data
mkdir data/operators && cp -r "$DATA"/operators/{rms_norm,silu_and_mul} data/operators
export ROOFMARK_DATA=$PWD/data
cat > tiny.toml << 'TOML'
name = "tiny"
summary = "two operators"
source = "this test"
tiers = ["published", "corrected"]
raw_sum = 1
operators.rms_norm = { weight = 0.25, label = "published", provenance = "a" }
operators.silu_and_mul = { weight = 0.75, label = "assumed", provenance = "b" }
TOML
"$ROOFMARK" suite release tiny.toml -o release --version 1.0.0 | mask; echo "-> $?"
(cd release && find . -type f | LC_ALL=C sort)
(cd release && find public -type f | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -d ' ' -f 1) > by_hand
grep -cf by_hand release/MANIFEST.json
"$ROOFMARK" suite verify release | mask
hashes() { sed -n '/"files"/,$p' release/MANIFEST.json | grep sha256 -v; }
hashes > before
sed -i 's/0.25/0.5/; s/0.75/0.5/' tiny.toml
"$ROOFMARK" suite release tiny.toml -o release --weights-only | mask
hashes > after; diff before after | grep -o 'hidden[^"]*' | uniq
grep '"version"\|"contents_since"' release/MANIFEST.json
"$ROOFMARK" suite verify release | mask
"$ROOFMARK" suite release tiny.toml -o release --weights-only --version 1.1.0; echo "-> $?"
"$ROOFMARK" suite release tiny.toml -o release --version 2.0.0; echo "-> $?"
"$ROOFMARK" suite release tiny.toml -o other --version 2.0; echo "-> $?"
"$ROOFMARK" suite release tiny.toml -o other; echo "-> $?"
"$ROOFMARK" suite release nothing -o other --version 1.0.0; echo "-> $?"
grep -c deployed_ns_by_device release/hidden/weights.json
"$ROOFMARK" roofline --suite release --device H200 --operator rms_norm --shape 0,1
"$ROOFMARK" suite show release; echo "-> $?"
cp -r release shown && rm -r shown/hidden
"$ROOFMARK" roofline --suite shown --device H200; echo "-> $?"
"$ROOFMARK" suite verify shown | mask | tail -1
echo "# 9.95 us" >> release/public/operators/rms_norm/reference.py
"$ROOFMARK" suite verify release > found; echo "-> $?"
mask < found | sed -E 's/:[0-9]+:/:LINE:/'
