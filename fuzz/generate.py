#!/usr/bin/python3
"""Random networks as seeds of fuzz targets, by the generators of test/e2e, which need numpy.

    generate.py [--seed=N] [--count=N] onnx|linalg -o DIR      N files of each generator
"""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "test/e2e"))
import gen_graphs
import gen_kernels
import gen_linalg
import gen_models
import gen_networks
import gen_sizing

GENERATORS = {"onnx": (gen_models, gen_networks),
              "linalg": (gen_graphs, gen_kernels, gen_linalg, gen_sizing)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("kind", choices=list(GENERATORS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    args = parser.parse_args()
    for generator in GENERATORS[args.kind]:
        for index in range(args.count):
            model = generator.generate(args.seed, index)
            data = model.data if args.kind == "onnx" else model.text.encode()
            (args.output / f"{generator.__name__}-{index}").write_bytes(data)


if __name__ == "__main__":
    main()
