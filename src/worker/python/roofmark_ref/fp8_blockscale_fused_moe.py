# SPDX-License-Identifier: Apache-2.0
"""The fp8 mixture-of-experts layer with block scales, for either fp8 format.

out[t] = sum over choices j of topk_weights[t, j] * W2[e] (silu(gate) * up), e = topk_ids[t, j],
where gate and up are the halves of W1[e] x_t. x has one scale a token and group of hidden, the
matrices one a block of group x group. float32 throughout on the values that codes and scales
stand for, rounded once to bfloat16. fp8 travels as uint8 codes.
"""

import torch

from roofmark_ref import fp8, moe

_REGIMES = ("typical", "heavy_tail", "offset")
_CHUNK = 1 << 25  # elements that are drawn, decoded or held as activations at a time
_POOL = 1 << 28  # elements of a matrix beyond which its bands of rows come again


def _quantise(z, row_group, group, dtype, faint, gen):
    """Codes of z [rows, columns], which it overwrites, that use the whole range of the format, and
    the scales that lead back, times a spread that makes neighbours differ: groups of a token, bands
    of a matrix.

    With `faint`, the first group of columns and a quarter of the others use the bottom of the
    range instead.
    """
    tall, wide = z.shape[0] // row_group, z.shape[1] // group
    blocks = z.view(tall, row_group, wide, group)
    largest = torch.linalg.vector_norm(blocks, ord=float("inf"), dim=(1, 3)).clamp(min=1e-6)
    top = torch.full_like(largest, fp8.MAX_VALUE[dtype])
    if faint:
        chosen = torch.rand((tall, wide), generator=gen, device=z.device) < 0.25
        chosen[:, 0] = True
        top = torch.where(chosen, top * 2.0**-14, top)
    codes = fp8.encode(blocks.mul_((top / largest)[:, None, :, None]), dtype, finite=True)
    spread = 1.0 + 2.0 * torch.rand((tall, wide), generator=gen, device=z.device)
    if row_group == 1:
        spread *= 0.25 - 0.5 * (torch.arange(wide, device=z.device) % 2)
    else:
        spread *= 0.15 - 0.3 * (torch.arange(tall, device=z.device) % 2)[:, None]
    return codes.view(z.shape), largest / top * torch.exp(spread)


def _draw(rows, columns, row_group, group, dtype, size, mean, loudness, regime, gen, device):
    """Quantised normal values of the size of each row and, in the regime that has one, its mean
    (one number or [rows, 1])."""
    codes = torch.empty((rows, columns), dtype=torch.uint8, device=device)
    scales = torch.empty(
        (rows // row_group, columns // group), dtype=torch.float32, device=device
    )
    pair = 2 * row_group  # of bands, whose scales differ most
    step = max(1, _CHUNK // 2 // columns // pair) * pair
    drawn = min(rows, max(1, _POOL // columns // step) * step)
    for start in range(0, drawn, step):
        part = slice(start, min(drawn, start + step))
        z = torch.randn((part.stop - start, columns), generator=gen, device=device)
        if regime == "heavy_tail":
            # A few outliers set the scale of their group, so most codes are small.
            loud = torch.rand(z.shape, generator=gen, device=device) < 1.0 / 128
            z = torch.where(loud, z * loudness, z)
        z *= size[part] if torch.is_tensor(size) else size
        if regime == "offset":
            z += mean[part] if torch.is_tensor(mean) else mean
        bands = slice(start // row_group, part.stop // row_group)
        codes[part], scales[bands] = _quantise(
            z, row_group, group, dtype, regime == "heavy_tail", gen
        )
    _repeat(codes, scales, drawn // row_group, gen)
    return codes, scales


def _repeat(codes, scales, drawn, gen):
    """Fills the bands after the first `drawn`, an even number, with codes and scales of those, in
    pairs chosen by chance: copying gigabytes takes a fraction of drawing them."""
    bands = len(scales)
    if bands <= drawn:
        return
    later = torch.arange(drawn, bands, device=codes.device)
    pairs = torch.randint(drawn // 2, (bands // 2 + 1,), generator=gen, device=codes.device)
    chosen = 2 * pairs[later // 2] + later % 2
    scales[drawn:] = scales[chosen]
    # Whole words are copied faster than bytes; a band's columns are a multiple of the group.
    words = codes.view(bands, -1).view(torch.int64)
    torch.index_select(words[:drawn], 0, chosen, out=words[drawn:])


def inputs(shape, seed, regime, device, dtype):
    """hidden_states [tokens, hidden], w1 [experts, 2 * inter, hidden], w2 [experts, hidden, inter]
    (codes of dtype); topk_weights (f32) and topk_ids (i32) [tokens, top_k]; a_scale [tokens,
    hidden / group], fc1_scale [experts, 2 * inter / group, hidden / group], fc2_scale [experts,
    hidden / group, inter / group] (f32).

    Exactly shape["active"] experts have a token; the scales of all others are garbage.

    typical     scales of neighbouring blocks differ by a third to fourfold, so that ignoring or
                transposing them shows
    heavy_tail  outliers set the scales, some groups use only the bottom of the range (subnormal
                codes show), one choice outweighs the others, and routing is more skewed
    offset      hidden states around a mean and matrices whose rows have one, so sums grow along the
                products; router weights above 1
    """
    if regime not in _REGIMES:
        raise ValueError("unknown regime %r; have %s" % (regime, ", ".join(_REGIMES)))
    tokens, hidden, inter, experts, top_k, group = (
        int(shape[axis]) for axis in ("tokens", "hidden", "inter", "experts", "top_k", "group")
    )
    gen = torch.Generator(device=device).manual_seed(seed * 3 + _REGIMES.index(regime))
    skew = int(shape["skew"]) / 100.0 + (0.5 if regime == "heavy_tail" else 0.0)
    ids = moe.draw_ids(tokens, experts, top_k, int(shape["active"]), skew, gen, device)
    weights = moe.draw_weights(tokens, top_k, regime, gen, device)

    def uniform(*size):
        return torch.rand(size, generator=gen, device=device, dtype=torch.float32)

    def draw(rows, columns, row_group, *how):
        return _draw(rows, columns, row_group, group, dtype, *how, regime, gen, device)

    offset = 1.0 if regime == "offset" else 0.0
    size = 0.85 + 0.3 * uniform(tokens, 1)
    x, a_scale = draw(tokens, hidden, 1, size, offset * size, 6.0)
    # A row's mean adds 1.5 to 3 to its product, up to a sign, so that sums grow with hidden.
    lift = (1.5 + 1.5 * uniform(experts * 2 * inter, 1)) * (offset / hidden)
    lift *= torch.where(uniform(experts * 2 * inter, 1) < 0.8, 1.0, -1.0)
    w1, fc1 = draw(len(lift), hidden, group, hidden**-0.5, lift, 4.0)
    # Up's scales differ from gate's, so that reading one for the other shows.
    fc1.view(experts, 2, -1)[:, 1] *= 0.6
    w2, fc2 = draw(experts * hidden, inter, group, inter**-0.5, offset / inter, 1.0)
    idle = torch.ones(experts, dtype=torch.bool, device=device)
    idle[ids.reshape(-1).to(torch.int64)] = False
    garbage = torch.where(idle, 30.0, 1.0)[:, None, None]
    return {
        "hidden_states": x,
        "w1": w1.view(experts, 2 * inter, hidden),
        "w2": w2.view(experts, hidden, inter),
        "topk_weights": weights,
        "topk_ids": ids,
        "a_scale": a_scale,
        "fc1_scale": fc1.view(experts, 2 * inter // group, hidden // group) * garbage,
        "fc2_scale": fc2.view(experts, hidden // group, inter // group) * garbage,
    }


def values(codes, scales, dtype):
    """float32 values [rows, columns] of codes with a scale for each block; the sizes tell how big
    the blocks are."""
    tall, wide = scales.shape
    blocks = fp8.decode(codes, dtype).view(tall, codes.shape[0] // tall, wide, -1)
    return (blocks * scales[:, None, :, None]).view(codes.shape)


def reference(
    dtype, hidden_states, w1, w2, topk_weights, topk_ids, a_scale, fc1_scale, fc2_scale
):
    """Expert by expert, each on all of its tokens, a bounded number at a time; an expert's matrices
    are dequantised when it is their turn."""
    torch.backends.cuda.matmul.allow_tf32 = False
    top_k, inter = topk_ids.shape[1], w2.shape[2]
    weights = topk_weights.reshape(-1, 1)
    out = torch.zeros(hidden_states.shape, dtype=torch.float32, device=hidden_states.device)
    rows = max(1, _CHUNK // max(2 * inter, hidden_states.shape[1]))
    for expert, slots in moe.pieces(topk_ids, w1.shape[0], rows):
        tokens = slots // top_k
        x = values(hidden_states[tokens], a_scale[tokens], dtype)
        both = x @ values(w1[expert], fc1_scale[expert], dtype).t()
        act = torch.nn.functional.silu(both[:, :inter]) * both[:, inter:]
        part = act @ values(w2[expert], fc2_scale[expert], dtype).t()
        # A token has an expert once, so no two rows of a piece meet.
        out.index_add_(0, tokens, part * weights[slots])
    return {"out": out.to(torch.bfloat16)}
