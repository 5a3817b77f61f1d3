# Turns the dataflow region of an emitted source into one that ming_cosim.h runs: calls of processes
# become fibres, and depths are taken from the stream pragmas. Everything else stays as it is.
#     awk -f cosim.awk top.cpp > top_cosim.cpp

# The region is the rest of the block that the pragma stands in: a function, or a loop over frames.
/^#pragma HLS dataflow/ {
    in_region = 1
    end = "}"
    if (previous ~ /^ *for /) {
        end = previous
        sub(/for .*/, "}", end)
    }
    print
    next
}

{ previous = $0 }

in_region && $0 == end {
    print "    cosim::run();"
    in_region = 0
    print
    next
}

in_region && /^#pragma HLS stream / {
    name = depth = ""
    print
    gsub(/ = /, "=")
    for (i = 4; i <= NF; i++) {
        split($i, item, "=")
        if (item[1] == "variable")
            name = item[2]
        else if (item[1] == "depth")
            depth = item[2]
    }
    if (name != "" && depth != "")
        print "    " name ".set_depth(" depth ");"
    next
}

in_region && !/^#/ {
    # A statement ends with the line that ends with its semicolon.
    statement = statement (statement == "" ? "" : "\n") $0
    if ($0 !~ /;[ \t]*$/ && $0 !~ /^[ \t]*(\/\/.*)?$/)
        next
    if (match(statement, /^[ \t]+[A-Za-z_][A-Za-z0-9_]*\(/)) {
        name = substr(statement, 1, RLENGTH - 1)
        arguments = substr(statement, RLENGTH + 1)
        gsub(/[^A-Za-z0-9_]+/, " ", arguments)
        gsub(/[ \t]/, "", name)
        sub(/^[ \t]+/, "", statement)
        print "    cosim::process(\"" name "\", \"" arguments "\", [&] { " statement " });"
    } else {
        print statement
    }
    statement = ""
    next
}

{ print }
