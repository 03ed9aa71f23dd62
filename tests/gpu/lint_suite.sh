# SPDX-License-Identifier: Apache-2.0
# Runs the admission programs of production-1 under one regime ($1), operators in groups side by
# side: this measures nothing, and one process alone leaves the GPU idle most of the time.
set -eu
regime=$1
groups="gemm,rms_norm,silu_and_mul,fused_add_rms_norm,l2_norm,layer_norm,gated_rms_norm,topk_filter
unified_attention
fused_moe,fp8_blockscale_fused_moe_fn
block_scaled_mm,linear_sigmoid_mul,reshape_and_cache,per_token_group_quant_fp8
paged_attention_decode,mla_decode_attention,attention_forward
gated_delta_rule_update,causal_conv1d
chunk_gated_delta_rule_state,chunk_delta_rule_output
moe_align_block_size,moe_count_and_sort,moe_sum_reduce,moe_topk_gating_softmax
fused_qk_rmsnorm_bf16,fused_qkv_rope,mrope,fp8_dynamic_per_token_quant_fn,fused_rmsnorm_quant_fn"
scratch=$(mktemp -d)
number=0
for operators in $groups; do
  number=$((number + 1))
  ("$ROOFMARK" suite lint production-1 --device cuda --regime "$regime" --operator "$operators" \
    --json > "$scratch/$number.jsonl" || echo "$operators: exit code $?" >> "$scratch/failed") &
done
wait
cat "$scratch"/*.jsonl > "$RESULTS/lint-production-1-$regime.jsonl"
wc -l "$RESULTS/lint-production-1-$regime.jsonl"
if [ -f "$scratch/failed" ]; then
  cat "$scratch/failed"
  exit 1
fi
