# What the author of a kernel sees: ./check of a bundle that lies alone says whether a candidate
# compiles and is right, on machines without Roofmark's data too, and never how fast it is.
unset ROOFMARK_DATA
pack() { ROOFMARK_DATA=$DATA "$ROOFMARK" pack "$@" > /dev/null; }
pack --operator rms_norm --lane cpp -o there/bundle
cp -r "$ROOFMARK" there/roofmark
unset ROOFMARK
cp "$DATA/candidates/rms_norm/rms_norm.cc" good.cc
sed 's/mean + eps/mean + eps + 1/' good.cc > wrong.cc
sed 's/int64_t/int65_t/' good.cc > broken.cc
sed 's/return 0;/for (;;) (void)args;/' good.cc > endless.cc
cd there/bundle
./check ../../good.cc; echo "-> $?"
./check ../../wrong.cc --shape s-odd > ../said; echo "-> $?"
sed -E 's/[0-9]+ of 2585.*/N of 2585 elements .../' ../said
./check ../../broken.cc --shape s-odd,s-heads > ../said; echo "-> $?"
grep -v '/candidate\|  [ 0-9]*|' ../said
./check ../../endless.cc --shape s-odd --json; echo "-> $?"
./check ../../good.cc --shape s-odd --json; echo "-> $?"
./check ../../good.cc --shape nowhere; echo "-> $?"
./check "$DATA/candidates/rms_norm/rms_norm.cu"; echo "-> $?"
./check ../../good.cc --timeout 1 2> ../said; echo "-> $?"; head -1 ../said
rm ../roofmark; ./check ../../good.cc; echo "-> $?"
