"""Recomputes what `ming roofline --json` prints from its peaks' parts.

    check_roofline.py FILE --lut=N --dsp=N --macs=N --moved=BYTES [--fits] [--memory]
"""
import argparse
import json
import math
import sys

parser = argparse.ArgumentParser()
parser.add_argument("file")
for name in ("lut", "dsp", "macs", "moved"):
    parser.add_argument("--" + name, type=int)
parser.add_argument("--fits", action="store_true")
parser.add_argument("--memory", action="store_true")
args = parser.parse_args()
with open(args.file, encoding="utf-8") as text:
    got = json.load(text)


def same(what, got_value, want):
    if not math.isclose(got_value, want, rel_tol=1e-4):
        sys.exit(f"{what} is {got_value}, not {want}")


same("lut", got["lut"], args.lut)
same("dsp", got["dsp"], args.dsp)
same("operations", got["ops_per_frame"], 2 * args.macs)
same("moved bytes", got["moved_bytes"], args.moved)
same("intensity", got["ops_per_byte"], 2 * args.macs / args.moved)
assert got["constants_fit"] == args.fits
seconds = 0
for peak in got["peaks"]:
    in_luts, in_dsp = args.lut / peak["lut_per_mac"], args.dsp * peak["mac_per_dsp"]
    macs = min(in_luts, in_dsp) if peak["float"] else in_luts + in_dsp
    same("peak", peak["peak_gops"], 2e-3 * got["clock_mhz"] * macs)
    seconds += 2e-9 * peak["macs"] / peak["peak_gops"]
assert sum(peak["macs"] for peak in got["peaks"]) == args.macs
compute = 2e-9 * args.macs / seconds
memory = (got["bandwidth_gbytes"] or math.inf) * 2 * args.macs / args.moved
same("compute", got["compute_gops"], compute)
same("roof", got["predicted_gops"], min(compute, memory))
same("frames", got["predicted_fps"], 1e9 * min(compute, memory) / (2 * args.macs))
assert got["limit"] == ("memory" if memory < compute else "compute")
assert args.memory <= (memory < compute)
