# Aggregates fold, repeat and come out again; a manifest says what is wrong with it.
P=$DATA/examples/profiles
cp "$P"/dense_decode.json.gz "$P"/dense_prefill.json.gz "$P"/moe_mixed.json.gz .
cat > fleet.csv <<'CSV'
glob,application,model,ranks,card_hours
dense_*.json.gz,chat,dense-8b,1,300
moe_*.json.gz,code,moe-30b,1,100
CSV
"$ROOFMARK" mine fleet.csv -o fleet.json > /dev/null
"$ROOFMARK" mine dense_decode.json.gz -o part.json > /dev/null
"$ROOFMARK" mine --merge fleet.json part.json fleet.json -o folded.json | head -5
cmp fleet.json folded.json && echo "the same bytes"
"$ROOFMARK" mine --merge folded.json --without part.json -o without.json --json
"$ROOFMARK" mine --merge without.json part.json --json
"$ROOFMARK" mine --merge folded.json --without 0123; echo "-> $?"
"$ROOFMARK" suite build fleet.json --shapes 12 -o suite.json | tail -9
"$ROOFMARK" mine --merge fleet.json --most-shapes 2 -o small.json | head -1
"$ROOFMARK" mine --merge small.json fleet.json -o both.json | head -1; cmp fleet.json both.json && echo "who knows more stays"
"$ROOFMARK" suite build small.json | tail -10
"$ROOFMARK" suite diff fleet.json without.json | tail -4
"$ROOFMARK" suite diff fleet.json suite.json; echo "-> $?"
printf 'glob,card_hour\n*,1\n' > a.csv; "$ROOFMARK" mine a.csv; echo "-> $?"
printf 'glob,card_hours\ndense_*,1\n\ndense_decode*,2\n' > a.csv; "$ROOFMARK" mine a.csv; echo "-> $?"
