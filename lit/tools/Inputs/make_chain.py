#!/usr/bin/env python3
"""make_chain.py COUNT [WORDS]: prints an emithls design, a chain of COUNT processes that copy WORDS
words a frame (100), each at a pace of its own, through FIFOs of different depths."""
import sys


def process(number, words):
    return f"""emithls.func @p{number}(%in: !emithls.stream<i8>, %out: !emithls.stream<i8>) {{
  emithls.for "copy" (%i) in [{words}] attributes {{ii = {1 + number * 7 % 5} : i64}} {{
    %0 = emithls.read %in : !emithls.stream<i8>
    emithls.write %0, %out : i8, !emithls.stream<i8>
  }}
}}"""


def main():
    count = int(sys.argv[1])
    words = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    for number in range(count):
        print(process(number, words))
    print("emithls.func @top(%in: !emithls.stream<i8>, %out: !emithls.stream<i8>) "
          "attributes {top} {\n  emithls.dataflow")
    for number in range(count - 1):
        print(f'  %s{number} = emithls.stream "s{number}" depth({2 + number * 11 % 30}) '
              ": !emithls.stream<i8>")
    for number in range(count):
        first = f"%s{number - 1}" if number else "%in"
        last = f"%s{number}" if number < count - 1 else "%out"
        print(f"  emithls.call @p{number}({first}, {last}) : "
              "!emithls.stream<i8>, !emithls.stream<i8>")
    print("}")


main()
