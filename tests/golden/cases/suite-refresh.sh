# A fleet is recorded twice; the suite follows, and says what it did.
"$ROOFMARK" generate --fleet --profiles 48 --applications 6 -o june > /dev/null 2>&1
"$ROOFMARK" generate --fleet --profiles 48 --applications 6 --recording 1 -o july > /dev/null 2>&1
"$ROOFMARK" generate --fleet --profiles 48 --applications 6 --seed 2 -o other > /dev/null 2>&1
for window in june july other; do "$ROOFMARK" mine $window/manifest.csv -o $window.json > /dev/null; done
"$ROOFMARK" suite build june.json --shapes 40 -o june-suite.json
"$ROOFMARK" suite diff june.json july.json | tail -4
"$ROOFMARK" suite build july.json --shapes 40 --smooth june.json --previous june-suite.json -o july-suite.json | tail -12
"$ROOFMARK" suite build other.json --shapes 40 --smooth july.json --new-weight 0.5 | tail -3
"$ROOFMARK" suite build june.json --shapes 40 --phase-mix prefill=0.6,decode=0.4 -o mixed.json | head -9
"$ROOFMARK" suite show mixed.json | grep phases
"$ROOFMARK" suite build june.json --phase-mix prefill=0.6; echo "-> $?"
"$ROOFMARK" suite build june.json --phase-mix prefill=0.6,mixed=0.4; echo "-> $?"
"$ROOFMARK" suite build june.json --new-weight 0.5; echo "-> $?"
"$ROOFMARK" suite build june.json --previous june.json; echo "-> $?"
"$ROOFMARK" suite build june.json --judged june.json; echo "-> $?"
