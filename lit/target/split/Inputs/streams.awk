# Two processes on two cards, with n streams from one to the other.
function list(format, i, text) {
    for (i = 0; i < n; i++)
        text = text (i ? ", " : "") sprintf(format, i)
    return text
}
function process(name, card, reads, i) {
    printf "emithls.func @%s(%s) attributes {sys.place = #sys.place<card = %d, die = 0>} {\n", name,
        list("%%p%d: !emithls.stream<i8>") (reads ? ", %y" : ", %x") ": !emithls.stream<i8>", card
    print "  emithls.for \"words\" (%i) in [4] attributes {ii = 1 : i64} {"
    if (!reads)
        print "    %v = emithls.read %x : !emithls.stream<i8>"
    for (i = 0; i < n; i++)
        if (reads)
            printf "    %%v%d = emithls.read %%p%d : !emithls.stream<i8>\n", i, i
        else
            printf "    emithls.write %%v, %%p%d : i8, !emithls.stream<i8>\n", i
    if (reads)
        print "    emithls.write %v0, %y : i8, !emithls.stream<i8>"
    print "  }\n}"
}
BEGIN {
    process("a", 0, 0)
    process("b", 1, 1)
    print "emithls.func @net(%x: !emithls.stream<i8>, %y: !emithls.stream<i8>) attributes {top} {"
    print "  emithls.dataflow"
    for (i = 0; i < n; i++)
        printf "  %%s%d = emithls.stream \"s%d\" depth(4) : !emithls.stream<i8>\n", i, i
    types = "!emithls.stream<i8>"
    for (i = 0; i < n; i++)
        types = types ", !emithls.stream<i8>"
    print "  emithls.call @a(" list("%%s%d") ", %x) : " types
    print "  emithls.call @b(" list("%%s%d") ", %y) : " types
    print "}"
}
