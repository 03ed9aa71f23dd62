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
log() { tee -a ../log; }
./check ../../good.cc | log; echo "-> ${PIPESTATUS[0]}"
./check ../../wrong.cc --shape s-odd | log > ../said; echo "-> ${PIPESTATUS[0]}"
sed -E 's/[0-9]+ of 2585.*/N of 2585 elements .../' ../said
./check ../../broken.cc --shape s-odd,s-heads > ../said; echo "-> $?"
grep -v '/candidate\|  [ 0-9]*|' ../said
./check ../../endless.cc --shape s-odd --json | log; echo "-> ${PIPESTATUS[0]}"
./check ../../good.cc --shape s-odd --json | log; echo "-> ${PIPESTATUS[0]}"
echo "times in all this: $(grep -ciE '[0-9] ?(ns|us|ms|s|sec[a-z]*)\b|attainment|time_ns|samples|roof' ../log)"
./check ../../good.cc --shape nowhere; echo "-> $?"
./check "$DATA/candidates/rms_norm/cuda.cu"; echo "-> $?"
./check ../../good.cc --timeout 1 2> ../said; echo "-> $?"; head -1 ../said
rm ../roofmark; ./check ../../good.cc; echo "-> $?"
