# Writes docs/api_reference.md from the comments and declarations of the public headers.
#
# Usage: awk -f write_api_reference.awk HEADER...
#
# A comment and the declarations that follow it without a blank line are one entry. The first
# comment of a header introduces it; "/* ---- title ---- */" begins a section. Lines that are
# indented within a comment keep their form.

function flush_paragraph() {
    if (paragraph != "")
        text = text paragraph "\n\n"
    paragraph = ""
}

# Markdown of a comment's lines, in `comment`, without the marks.
function prose(   lines, count, i, line, inside) {
    text = paragraph = ""
    inside = 0
    count = split(comment, lines, "\n")
    for (i = 1; i < count; i++) {
        line = lines[i]
        if (line ~ /^  +[^ ]/) {
            flush_paragraph()
            if (!inside)
                text = text "```c\n"
            inside = 1
            sub(/^    /, "", line)
            text = text line "\n"
            continue
        }
        # A blank line within an indented example belongs to it.
        if (inside && line == "" && lines[i + 1] ~ /^  +[^ ]/) {
            text = text "\n"
            continue
        }
        if (inside) {
            text = text "```\n\n"
            inside = 0
        }
        if (line == "") {
            flush_paragraph()
            continue
        }
        gsub(/&/, "\\&amp;", line)
        gsub(/</, "\\&lt;", line)
        gsub(/\*/, "\\*", line)
        paragraph = paragraph (paragraph == "" ? "" : "\n") line
    }
    if (inside)
        text = text "```\n\n"
    flush_paragraph()
    comment = ""
    return text
}

# The names that the declarations introduce, in their order.
function names_of(code,   lines, count, i, line, depth, found, name) {
    count = split(code, lines, "\n")
    depth = 0
    split("", seen)
    for (i = 1; i < count; i++) {
        line = lines[i]
        name = ""
        if (depth == 0 && match(line, /^#define [A-Za-z0-9_]+/)) {
            name = substr(line, 9, RLENGTH - 8)
        } else if (depth == 0 && line !~ /^[ #]/ && match(line, /cse_[a-z0-9_]+\(/)) {
            name = substr(line, RSTART, RLENGTH - 1)
        } else if (match(line, /^} [a-z_0-9]+;/)) {
            name = substr(line, 3, RLENGTH - 3)
        } else if (depth == 0 && match(line, /^typedef .*[ *][a-z_0-9]+;$/)) {
            name = line
            sub(/;$/, "", name)
            sub(/.*[ *]/, "", name)
        } else if (depth == 0 && match(line, /^enum {? *[A-Z_0-9]+/)) {
            name = substr(line, RSTART, RLENGTH)
            sub(/.*[ {]/, "", name)
        }
        if (name != "" && !(name in seen)) {
            seen[name] = 1
            found = found (found == "" ? "" : " ") name
        }
        depth += gsub(/{/, "{", line) - gsub(/}/, "}", line)
    }
    return found
}

function flush_entry(   names, list, count, i, title) {
    sub(/\n+$/, "\n", code)
    if (code == "") {
        if (comment != "" && !introduced) {
            body = body prose()
            introduced = 1
        }
        return
    }
    names = names_of(code)
    if (names != "" || comment != "") {
        count = split(names, list, " ")
        title = ""
        for (i = 1; i <= count; i++) {
            title = title (i > 1 ? ", " : "") "`" list[i] "`"
            contents = contents (on_line++ ? ",\n" : "\n")
            contents = contents "[`" list[i] "`](#" anchor(names) ")"
        }
        if (title != "")
            body = body "### " title "\n\n"
        body = body "```c\n" code "```\n\n" prose()
    }
    code = comment = ""
}

# As a page's host makes the anchor of a heading: lower case, without punctuation, - for blanks.
function anchor(names) {
    gsub(/ /, "-", names)
    return tolower(names)
}

FNR == 1 {
    flush_entry()
    file = FILENAME
    sub(/.*include\//, "", file)
    introduced = skipping = depth = 0
    body = body "## " file "\n\n"
    contents = contents "\n\n**" file "**:"
    on_line = 0
}
# What follows wraps the calls in macros that note the caller's line.
/^#ifndef CSE_BUILDING_LIBRARY/ { skipping = 1 }
/^#define cse_[a-z0-9_]+\(\.\.\.\) *\(cse_at/ { next }
skipping { next }
/^#ifdef __cplusplus|^#ifndef CSENGINE_|^#define CSENGINE_[A-Z_]*H$/ { next }
/^#include|^extern "C"|^#undef/ { next }
/^#(endif|else)/ && depth == 0 && code == "" { next }
/^}$/ && depth == 0 { next }
in_comment {
    line = $0
    ends = line ~ /\*\//
    sub(/ *\*\/.*$/, "", line)
    sub(/^ ?\* ?/, "", line)
    comment = comment line "\n"
    if (ends)
        in_comment = 0
    next
}
/^\/\* ---- / {
    flush_entry()
    title = $0
    sub(/^\/\* ---- /, "", title)
    sub(/ ----.*/, "", title)
    body = body "## " file ": " title "\n\n"
    next
}
/^\/\*/ && depth == 0 {
    # A comment between declarations of one block belongs to the block.
    if (code != "" && !(code ~ /;\n$/ || code ~ /[^\\]\n$/)) {
        code = code $0 "\n"
        next
    }
    flush_entry()
    comment = ""
    line = $0
    ends = line ~ /\*\//
    sub(/^\/\*\*? ?/, "", line)
    sub(/ *\*\/.*$/, "", line)
    comment = line "\n"
    in_comment = !ends
    next
}
/^$/ && depth == 0 {
    flush_entry()
    comment = ""
    next
}
{
    line = $0
    sub(/^CSE_API /, "", line)
    code = code line "\n"
    depth += gsub(/{/, "{", line) - gsub(/}/, "}", line)
}
END {
    flush_entry()
    print "# API reference"
    print ""
    print "<!-- Made by `make api_reference` from the comments of include/csengine: edit those. -->"
    print ""
    print "Every public type, macro and function of `libcsengine`, by header. `#include"
    print "<csengine/csengine.h>` takes all of them."
    print "[Your model in C](your_model.md) is the way in."
    print contents
    print ""
    sub(/\n+$/, "", body)
    print body
}
