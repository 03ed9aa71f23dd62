# Parts in processes of their own give the bytes that mining at once gives; a generated fleet is known.
"$ROOFMARK" generate --fleet --profiles 30 --applications 3 -o fleet | head -3
head -3 fleet/manifest.csv
"$ROOFMARK" mine fleet/manifest.csv -o here.json > /dev/null
"$ROOFMARK" mine fleet/manifest.csv --on processes --parts 4 -o there.json --json
cmp here.json there.json && echo "the same bytes"
ls -d there.json.parts 2> /dev/null
echo '{}' > fleet/app-00/p-9999.json
"$ROOFMARK" mine fleet --on processes --parts 4 -o there.json --json
"$ROOFMARK" generate fleet/app-00/p-0000.json.gz --size 1MB -o big.json.gz --json
"$ROOFMARK" generate; echo "-> $?"
"$ROOFMARK" generate x.json --size many -o y.json; echo "-> $?"
"$ROOFMARK" mine fleet --on slurm; echo "-> $?"
