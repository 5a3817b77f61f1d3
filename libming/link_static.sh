#!/bin/sh
# link_static.sh LD OBJCOPY AR OUTPUT FOLDER ARCHIVE...: joins archives to one of a single object, in
# which all symbols but those of the interface are local.
set -eu
ld=$1 objcopy=$2 ar=$3 output=$4 folder=$5
shift 5
mkdir -p "$folder"
"$ld" -r --whole-archive "$@" -o "$folder/ming.o"
"$objcopy" --wildcard --keep-global-symbol='ming_*' "$folder/ming.o"
rm -f "$output"
"$ar" rcsD "$output" "$folder/ming.o"
