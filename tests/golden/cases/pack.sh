# A sealed bundle is written and checked; leaks that are planted afterwards are found.
canary() { sed -E 's/roofmark-canary-[0-9a-f]{32}/CANARY/'; }
lines() { sed -E 's/:[0-9]+:/:LINE:/'; }
"$ROOFMARK" pack --operator rms_norm --lane cpp -o bundle | canary
(cd bundle && find . -type f | LC_ALL=C sort)
head -1 bundle/shapes.jsonl
"$ROOFMARK" pack --check bundle; echo "-> $?"
echo "# production: 9.95 us" >> bundle/reference.py
ln -s /etc/hostname bundle/link
"$ROOFMARK" pack --check bundle > found; echo "-> $?"
lines < found
"$ROOFMARK" pack --operator rms_norm --lane cpp -o bundle; echo "-> $?"
"$ROOFMARK" pack --operator rms_norm --lane pascal -o other; echo "-> $?"
"$ROOFMARK" pack --check bundle --lane cpp; echo "-> $?"
