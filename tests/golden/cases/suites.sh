# What the project ships as suites, and what the released scores amount to.
"$ROOFMARK" suite show published-440 | sed -n '1,9p'
"$ROOFMARK" suite show published-440 --json | tail -n 1
"$ROOFMARK" suite show production-1 | sed -n '1,7p' | cut -c 1-90
"$ROOFMARK" score --suite published-440 --device XPU-A --production | grep -E '^all|score$'
"$ROOFMARK" roofline --suite published-440 --device H200 --explain --operator l2_norm,topk_filter
"$ROOFMARK" score --suite published-440 --device H20 --production
"$ROOFMARK" suite show production-2
"$ROOFMARK" suite lint published-440 --references --operator topk_filter,l2_norm --shape 0 \
  --regime typical 2> /dev/null | sed 's/in [0-9.]* s/in SOME s/'
