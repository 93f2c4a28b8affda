#!/bin/sh
# What sources, messages and documents tell a reader to use is there: files of docs/, and commands
# of csengine where they are written `csengine COMMAND ...`.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
case $csengine in /*) ;; *) csengine=$PWD/$csengine ;; esac
cd "${top_srcdir:-.}" || exit 1
failures=0
fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}
folders='engine dataloader store workers run cli client dashboard include python docs bench examples
    deploy README.md ARCHITECTURE.md'
in_sources() { # extended pattern: each match once
    # shellcheck disable=SC2086 # one word each
    grep -rhoE --include='*.[ch]' --include='*.py' --include='*.pyi' --include='*.md' \
        --include='*.sh' --include='*.ipynb' -- "$1" $folders | sort -u
}

files=$(in_sources '(^|[^/a-z])docs/[a-z0-9_]+\.md' | sed 's/^[^d]*docs/docs/')
[ "$(echo "$files" | wc -l)" -ge 10 ] || fail "few files are named: $files"
for file in $files; do
    # shellcheck disable=SC2086 # one word each
    [ -e "$file" ] || fail "there is no $file: $(grep -rlF "$file" $folders | head -n 3)"
done

commands=$(in_sources '`csengine [a-z][a-z_-]*' | sed 's/.* //' | tr _ - | sort -u)
[ "$(echo "$commands" | wc -l)" -ge 10 ] || fail "few commands are named: $commands"
for command in $commands; do
    "$csengine" "$command" --help 2>&1 | grep -qE "^usage: csengine $command" && continue
    # Hidden commands have no help; their files say what they are.
    # shellcheck disable=SC2086 # one word each
    [ -e "cli/commands/$(echo "$command" | tr - _).c" ] ||
        fail "there is no command $command: $(grep -rlE "\`csengine $command" $folders | head -n 3)"
done
[ "$failures" -eq 0 ]
