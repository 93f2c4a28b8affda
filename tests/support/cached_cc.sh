#!/bin/sh
# A caching C compiler for generated steps in tests (CSE_CC): most tests train the same few
# configurations in separate folders, and compiling a step takes longer than running it. Shared
# objects are stored in $CSE_TEST_COMPILED under the digest of everything it depends on: the
# compiler's version, its arguments and the source text. Tests of the compile cache itself unset
# CSE_CC.
#
# Usage: cached_cc.sh --version | FLAG... -o OBJECT SOURCE.c
set -eu
[ "${1:-}" != --version ] || exec cc --version
folder=${CSE_TEST_COMPILED:-}
object=
source=
flags=
take_object=
for argument; do
    case $argument in
    -o) take_object=yes; continue ;;
    *.c) source=$argument ;;
    *) [ -z "$take_object" ] && flags="$flags $argument" ;;
    esac
    [ -z "$take_object" ] || object=$argument
    take_object=
done
# A confined job may not use the folder.
if [ -z "$folder" ] || [ -z "$object" ] || [ ! -f "$source" ] ||
    ! mkdir -p "$folder" 2>/dev/null || ! new=$(mktemp "$folder/new.XXXXXX" 2>/dev/null); then
    exec cc "$@"
fi
trap 'rm -f "$new"' EXIT
key=$({ cc --version; echo "$flags"; cat "$source"; } | sha256sum)
kept=$folder/${key%% *}.so
if [ ! -f "$kept" ]; then
    cc $flags -o "$new" "$source"
    chmod 755 "$new"
    mv "$new" "$kept"
else
    # .ci/run removes what nothing has asked for in two days.
    touch -c "$kept" 2>/dev/null || :
fi
cp "$kept" "$object"
