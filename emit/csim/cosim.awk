# Turns the dataflow region of an emitted source into one that ming_cosim.h runs: calls of processes
# become fibres, depths are taken from the stream pragmas, and iterations of pipelined loops are
# marked. Everything else stays as it is.
#     awk [-v schedule=top_schedule.h] [-v space=emulate] -f cosim.awk top.cpp > top_cosim.cpp
# space: whose bind, process and run are called.

BEGIN {
    if (space == "")
        space = "cosim"
    if (schedule != "")
        print "#include \"" schedule "\"\n"
}

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
    print "    " space "::run(" (schedule != "" ? "schedule" : "") ");"
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
        print "    " space "::bind(" name ", \"" name "\", " depth ");"
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
        count = split(arguments, words, " ")
        for (i = 1; i <= count; i++)
            print "    " space "::bind(" words[i] ", \"" words[i] "\", 0);"
        print "    " space "::process(\"" name "\", \"" arguments "\", [&] { " statement " });"
    } else {
        print statement
    }
    statement = ""
    next
}

/^#pragma HLS pipeline/ {
    print
    print "cosim::iterate();"
    next
}

{ print }
