# SPDX-License-Identifier: Apache-2.0
"""The run that every fixture tells of, and how they write databases."""

import sqlite3

PID, TID = 4242, 4243
GLOBAL_PID = PID << 24
GLOBAL_TID = PID << 24 | TID
LABEL = "execute_context_1(300)_generation_0(0)"
GEMM = "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN"
NORM = "void vllm::rms_norm_kernel<c10::BFloat16, {}8, {}2>(T1 *, const T1 *)"
ACT = "void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel, {}1>(T1 *)"
ODD = "void {}::fused_thing_of_ours<{}4>({})"
# name, start, end, device, stream, correlation; the last one's call is missing
KERNELS = [
    ("gemm", 1_010_000, 1_030_000, 0, 7, 11),
    ("norm", 1_029_000, 1_035_000, 0, 8, 12),  # overlaps the product by 1 us
    ("act", 1_040_000, 1_047_500, 0, 7, 13),
    ("odd", 1_050_000, 1_054_000, 1, 7, 99),
]
COPY = (1_060_000, 1_061_216, 0, 7, 14)
# name, start, end, correlation
CALLS = [
    ("LaunchKernel", 1_002_000, 1_004_000, 11),
    ("LaunchKernel", 1_006_000, 1_008_000, 12),
    ("LaunchKernel", 1_012_000, 1_013_000, 13),
    ("MemcpyAsync", 1_016_000, 1_018_000, 14),
    ("GetDevice", 1_019_000, 1_019_100, 15),
]
# The operators around the calls, and the step around them.
RANGES = [
    (LABEL, 1_000_000, 1_100_000, ""),
    ("aten::mm", 1_001_000, 1_005_000, "[[300, 1024], [1024, 512]]"),
    ("_C::rms_norm", 1_005_500, 1_009_000, "[[300, 1024], [300, 1024], [1024], []]"),
    ("_C::silu_and_mul", 1_011_000, 1_014_000, "[[300, 512], [300, 1024]]"),
]

NVTX = (
    "start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER, " "globalTid INTEGER"
)

ROCM_NAMES = {
    "gemm": "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1",
    "norm": "void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>(c10::BFloat16*, c10::BFloat16 const*)",
    "act": "void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel, true>(c10::BFloat16*)",
    "odd": "void (anonymous namespace)::fused_thing_of_ours<4u>(char*, int)",
}
HIP_CALL = {
    "LaunchKernel": "hipLaunchKernel",
    "MemcpyAsync": "hipMemcpyAsync",
    "GetDevice": "hipGetDevice",
}


def fresh(path):
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    db.execute("PRAGMA page_size = 512")
    db.execute("PRAGMA journal_mode = OFF")
    return db


def table(db, name, columns, rows):
    db.execute(f'CREATE TABLE "{name}" ({columns})')
    for row in rows:
        db.execute(f'INSERT INTO "{name}" VALUES ({",".join("?" * len(row))})', row)


def close(db):
    db.commit()
    db.execute("VACUUM")
    db.close()


class Strings:
    def __init__(self):
        self.ids = {}

    def __call__(self, text):
        return self.ids.setdefault(text, len(self.ids) + 1)
