#!/bin/sh
# Fills the tables of a document from the program: what stands between
# "<!-- csengine ARGUMENTS -->" and "<!-- end -->" becomes the output of that command.
#
# Usage: fill_tables.sh CSENGINE DOCUMENT; the result goes to stdout.
set -eu
csengine=$1
inside=no
while IFS= read -r line; do
    case $line in
    '<!-- end -->') inside=no ;;
    esac
    [ "$inside" = yes ] || printf '%s\n' "$line"
    case $line in
    '<!-- csengine '*' -->')
        arguments=${line#'<!-- csengine '}
        "$csengine" ${arguments%' -->'}
        inside=yes
        ;;
    esac
done <"$2"
