#!/usr/bin/env python3
"""Writes pieces that are each a small change away from one of the given files, for errors.py.

mutate.py COUNT SEED FILE|DIRECTORY... > pieces.mlir      (pieces are separated by // -----)

A change leaves out, doubles, swaps or replaces one token, or moves in one from elsewhere.
"""
import random
import re
import sys

import pieces

TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|->|::|[A-Za-z_%@#!^][\w.$-]*|\d+(?:\.\d+)?|\s+|.', re.S)
SPARE = ["(", ")", "{", "}", "[", "]", "<", ">", ",", ":", "=", "->", "?", "*", "-", "+", "0", "1",
         "-1", "3", "1.5", "true", '"x"', "i1", "i32", "si8", "f32", "index", "tensor<4xf32>",
         "tensor<*xf32>", "tensor<?x2xi32>", "vector<4xi32>", "memref<4xf32>", "none", "()", "%0",
         "%zz", "@f", "@zz", "#zz", "!zz", "^bb9", "unit", "dense<0>", "array<i64>", "loc(unknown)",
         "affine_map<(d0) -> (d0)>", "func.return", "x"]
MAX_SIZE = 3000  # characters of a piece


def mutate(rng, text):
    tokens = TOKEN.findall(text)
    places = [i for i, token in enumerate(tokens) if not token.isspace()]
    if not places:
        return text
    at, other = rng.choice(places), rng.choice(places)
    kind = rng.randrange(6)
    if kind == 0:
        tokens[at] = ""
    elif kind == 1:
        tokens[at] += " " + tokens[at]
    elif kind == 2:
        tokens[at], tokens[other] = tokens[other], tokens[at]
    elif kind == 3:
        tokens[at] = tokens[other]
    elif kind == 4:
        tokens[at] = rng.choice(SPARE)
    else:
        tokens[at] += " " + rng.choice(SPARE)
    return "".join(tokens)


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    sources = []
    for piece in pieces.read_pieces(sys.argv[3:]):
        text = re.sub(r"//[^\n]*", "", piece.text.decode(errors="replace"))
        text = re.sub(r"\n\s*\n+", "\n", text)
        if text.strip() and len(text) <= MAX_SIZE:
            sources.append(text)
    for _ in range(count):
        print(mutate(rng, rng.choice(sources)).strip("\n") + "\n// -----")


if __name__ == "__main__":
    main()
