# An alias stands where the operator's name would; the sidecar alone says for what.
canary() { sed -E 's/roofmark-canary-[0-9a-f]{32}/CANARY/'; }
"$ROOFMARK" pack --operator silu_and_mul --lane cpp --alias zeta -o bundle | canary
(cd bundle && find . -type f | LC_ALL=C sort)
grep -rilE 'silu.?and.?mul' bundle; echo "files that show the name: none"
grep -h 'zeta_args;\|"name": "zeta"\|"operator"' -r bundle | LC_ALL=C sort
grep '"operator"\|"alias"' bundle.canary.json
"$ROOFMARK" pack --check bundle; echo "-> $?"
"$ROOFMARK" pack --check bundle --operator silu_and_mul; echo "-> $?"
sed 's/silu_and_mul/zeta/g' "$DATA/candidates/silu_and_mul/silu_and_mul.cc" > kernel.cc
"$ROOFMARK" check bundle kernel.cc; echo "-> $?"
judge() {
  "$ROOFMARK" judge kernel.cc --gate correctness --shape s-odd --store s.db "$@" > said 2>&1
  echo "-> $?"; grep -v ^judging said | sed 's/ *$//'
}
judge --operator silu_and_mul --alias zeta
judge --operator silu_and_mul | head -2
judge --alias zeta
judge --operator silu_and_mul --alias ../zeta
"$ROOFMARK" pack --operator silu_and_mul --lane cpp --alias rms_norm -o other; echo "-> $?"
"$ROOFMARK" pack --operator silu_and_mul --lane cpp --alias my_silu_and_mul -o other; echo "-> $?"
