# Runs that a test script starts and looks at, for tests of several hosts. To be sourced:
#
#     . "$top_srcdir/tests/support/runs.sh"
#     runs_folder              # $work, a folder of this test's own, where NAME.out and NAME.err are
#                              # what the run NAME prints; TMPDIR and caches are in it as well
#     wait_for test -f FILE || complain 'there is no FILE'
#     same three one           # the weights of both are equal
#     exit $failed
#
# Needs $csengine; a script that has its folder already sets $work itself.

failed=0

runs_folder() {
    work=$(mktemp -d)
    TMPDIR=$work/tmp
    XDG_CACHE_HOME=$work/cache
    CSE_DASHBOARD=0
    export TMPDIR XDG_CACHE_HOME CSE_DASHBOARD
    mkdir "$TMPDIR"
}

complain() {
    echo "$*"
    failed=1
}

digest() { # name
    sed -n 's/^Weights digest: //p' "$work/$1.out"
}

same() { # name, name of the run that it is compared with
    [ -n "$(digest "$1")" ] && [ "$(digest "$1")" = "$(digest "$2")" ] ||
        { complain "$1: the weights are not those of $2"; cat "$work/$1.err"; }
}

wait_for() { # command...: at most a minute
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 6000 ] || return 1
        sleep 0.01
    done
}

child() { # parent, word of its arguments
    ps -eo pid=,ppid=,args= | awk -v p="$1" -v w="$2" '$2 == p && index($0, w) { print $1; exit }'
}

# Agents of this test: others may run beside it.
agents() {
    for pid in $(ps -eo pid=,args= |
        awk -v p="$csengine" '$2 == p && $3 == "agent" { print $1 }'); do
        grep -qsF "$work" "/proc/$pid/environ" && echo "$pid"
    done
}
no_agents() { [ -z "$(agents)" ]; }
