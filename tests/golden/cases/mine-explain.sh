# Why a kernel is claimed as it is: which rule, and where its shape is from.
P=$DATA/examples/profiles
"$ROOFMARK" mine --explain silu_and_mul "$P"/dense_decode_graph.json.gz
"$ROOFMARK" mine --explain reduce_segments "$P"/dense_decode.json.gz | head -12
cp "$P"/dense_decode_graph.json.gz replay.json.gz
"$ROOFMARK" mine --explain silu_and_mul replay.json.gz
cp "$P"/dense_decode.json.gz replay_capture.json.gz
"$ROOFMARK" mine --explain silu_and_mul replay.json.gz --json | grep -o '"shape_from": [^,]*' | sort | uniq -c
"$ROOFMARK" mine --check replay.json.gz
"$ROOFMARK" mine replay.json.gz --json | grep -o '"shapes_from_ns": {[^}]*}'
"$ROOFMARK" mine --explain gemm "$P"/dense_decode_graph.json.gz --json | grep -o '"shape from[^:]*' | sort | uniq -c
"$ROOFMARK" suite build "$P"/dense_decode.json.gz; echo "-> $?"
"$ROOFMARK" mine --explain nothing_of_this_name replay.json.gz; echo "-> $?"
