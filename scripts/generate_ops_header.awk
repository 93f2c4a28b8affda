# Writes the public header of the ops: the doc comment and prototype of each function marked CSE_API
# in engine/graph/ops, and a macro that remembers the caller's file and line.
BEGIN {
    print "/* Written by autogen.sh from engine/graph/ops: one function for each op. */"
    print "#ifndef CSENGINE_OPS_H\n#define CSENGINE_OPS_H\n"
    print "#include \"csengine/op_options.h\"\n#include \"csengine/tensor.h\"\n"
    print "#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
}
/^\/\*\*/ { comment = ""; in_comment = 1 }
in_comment { comment = comment $0 "\n"; if (/\*\//) in_comment = 0; next }
/^CSE_API / { prototype = ""; in_prototype = 1 }
in_prototype {
    line = $0
    sub(/[ \t]*\{?[ \t]*$/, "", line)
    if (line != "") prototype = prototype (prototype == "" ? "" : "\n") line
    if (/\{[ \t]*$/ || /^\{/ || /\)[ \t]*$/) {
        in_prototype = 0
        print comment prototype ";\n"
        name = prototype
        sub(/\(.*/, "", name)
        sub(/.*[ *]/, "", name)
        names[++count] = name
        comment = ""
    }
}
/^[^\/ C]/ && !in_comment { comment = "" }
END {
    print "#ifdef __cplusplus\n}\n#endif\n"
    print "#ifndef CSE_BUILDING_LIBRARY"
    for (i = 1; i <= count; i++)
        print "#define " names[i] "(...) (cse_at(__FILE__, __LINE__), " names[i] "(__VA_ARGS__))"
    print "#endif\n\n#endif"
}
