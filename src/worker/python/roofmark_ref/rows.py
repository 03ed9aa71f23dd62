# SPDX-License-Identifier: Apache-2.0
"""What the inputs of operators on rows have in common: regimes, seeded generators, bounded pieces
and rows that look like a residual stream."""

import torch

REGIMES = ("typical", "heavy_tail", "offset")
_PIECE = 1 << 24  # elements worked on at a time: 64 MiB in float32
POOL = 1 << 26  # elements beyond which rows of a tensor come again, in no order


def generator(seed, regime, device):
    """A generator that depends on the seed and the regime; an unknown regime is refused."""
    if regime not in REGIMES:
        raise ValueError("unknown regime %r; have %s" % (regime, ", ".join(REGIMES)))
    return torch.Generator(device=device).manual_seed(seed * 3 + REGIMES.index(regime))


def pieces(rows, columns, piece=_PIECE):
    """Slices that cover the rows, each of a bounded number of elements."""
    step = max(1, piece // max(1, columns))
    return [slice(row, min(rows, row + step)) for row in range(0, rows, step)]


def normal(size, gen):
    return torch.randn(size, generator=gen, device=gen.device, dtype=torch.float32)


def uniform(size, gen):
    return torch.rand(size, generator=gen, device=gen.device, dtype=torch.float32)


def sizes(rows, gen):
    """A factor a row [rows, 1], from 0.1 to 10 and never near 1: residual streams differ that much
    between tokens and layers, and a single row must tell a constant factor from the real one."""
    size = 10.0 ** (0.25 + 0.75 * uniform((rows, 1), gen))
    return torch.where(uniform((rows, 1), gen) < 0.5, size, 1.0 / size)


def stream(rows, columns, regime, gen, small=5e-4):
    """float32 [rows, columns].

    typical     rows of very different size, growing along the row (a prefix does not stand for it)
    heavy_tail  on top, one element a row as large as all others together
    offset      values of size `small` around a mean three times their spread
    """
    ramp = torch.linspace(0.5, 1.5, columns, device=gen.device)
    if regime == "offset":
        return (3.0 + normal((rows, columns), gen) * ramp) * small
    # An outlier doubles a row's rms, about: half the size keeps that from being near 1 as well.
    size = sizes(rows, gen) * (0.5 if regime == "heavy_tail" else 1.0)
    x = normal((rows, columns), gen) * ramp * size
    if regime == "heavy_tail":
        at = torch.randint(columns, (rows, 1), generator=gen, device=gen.device)
        x.scatter_(1, at, (1.0 + uniform((rows, 1), gen)) * size * float(columns) ** 0.5)
    return x


def fill(out, draw, gen):
    """Fills a 2-D tensor with draw(rows, columns), a bounded piece of rows at a time. Rows beyond
    the first POOL elements are earlier ones, chosen by chance: each is still one that a wrong
    kernel gets wrong, and drawing gigabytes would take longer than everything else."""
    drawn = out[: max(1, POOL // max(1, out.shape[1]))]
    for rows in pieces(*drawn.shape):
        drawn[rows] = draw(rows.stop - rows.start, out.shape[1]).to(out.dtype)
    for rows in pieces(*out.shape):
        again = out[max(rows.start, len(drawn)) : rows.stop]
        if len(again) > 0:
            chosen = torch.randint(len(drawn), (len(again),), generator=gen, device=out.device)
            torch.index_select(drawn, 0, chosen, out=again)
    return out


def with_residual(rows, columns, regime, gen):
    """x and residual [rows, columns], bf16: the residual from `stream`, x as large in each row and
    independent of it, so that leaving out either shows."""
    x = torch.empty((rows, columns), dtype=torch.bfloat16, device=gen.device)
    residual = torch.empty_like(x)
    for piece in pieces(rows, columns):
        wide = stream(piece.stop - piece.start, columns, regime, gen)
        size = wide.pow(2).mean(dim=-1, keepdim=True).sqrt()
        residual[piece] = wide.to(torch.bfloat16)
        x[piece] = (normal(tuple(wide.shape), gen) * size).to(torch.bfloat16)
    return x, residual


def by_rows(compute, *names):
    """`compute` run on a bounded piece of rows at a time, where the tensors of these names are what
    has rows; None for every shape that it does not apply to."""

    def run(shape, **tensors):
        first = tensors[names[0]]
        whole = None
        for rows in pieces(first.shape[0], first[0].numel()):
            part = {name: tensors[name][rows] for name in names}
            got = compute(shape, **{**tensors, **part})
            if got is None:
                return None
            if whole is None:
                whole = {
                    name: tensor.new_empty((first.shape[0],) + tensor.shape[1:])
                    for name, tensor in got.items()
                }
            for name, tensor in got.items():
                whole[name][rows] = tensor
        return whole

    return run
