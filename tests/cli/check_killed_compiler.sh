#!/bin/sh
# A process of the compiler that is killed: the step is compiled again, once; what it left is gone,
# whoever was killed; a compiler that is killed twice ends the run with a sentence and exit code 75,
# one that fails with its output.
set -u
csengine=$(realpath "${CSENGINE_EXECUTABLE:?}")
config=${top_srcdir:?}/configs/synthetic.yaml
cc=
for choice in cc gcc clang; do
    command -v $choice >/dev/null && cc=$choice && break
done
[ -n "$cc" ] || { echo 'there is no C compiler: skipped'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tmp"
TMPDIR=$work/tmp
CSE_CC=$work/cc
CSE_DASHBOARD=0
export TMPDIR CSE_CC CSE_DASHBOARD
failed=0

complain() {
    echo "FAIL: $*"
    failed=1
}

# compiler LINE...: what CSE_CC does, $1 being how often it has been asked to compile.
compiler() {
    rm -f "$work/calls"
    cat >"$work/cc" <<SCRIPT
#!/bin/sh
[ "\$1" != --version ] || exec $cc --version
echo call >>"$work/calls"
number=\$(wc -l <"$work/calls")
touch "\$TMPDIR/ccLEFT.s"
$*
exec $cc "\$@"
SCRIPT
    chmod +x "$work/cc"
}

run() { # name, arguments...
    name=$1
    shift
    rm -rf "${work:?}/$name"
    "$csengine" start "$config" --json --model_dir "$work/$name" --num_steps 4 \
        --set fit.val_dataloader=null "$@" >"$work/out" 2>"$work/err"
}

nothing_left() { # name
    [ -z "$(ls "$TMPDIR")" ] || complain "$1: files are left in TMPDIR: $(ls "$TMPDIR")"
    [ -z "$(find "$work/$1/compiled" -name '.new-*' -o -name '*.s' -o -name tmp)" ] ||
        complain "$1: files are left: $(find "$work/$1/compiled")"
}

digest() { sed -n 's/.*"weights_digest":"\([0-9a-f]*\)".*/\1/p' "$work/out"; }
calls() { wc -l <"$work/calls" | tr -d ' '; }

compiler ''
run plain || complain "plain: $(cat "$work/err")"
plain=$(digest)
[ -n "$plain" ] && [ "$(calls)" = 1 ] || complain "plain: $(cat "$work/out")"
nothing_left plain

# Its driver, and each of the driver's processes, of which gcc says so itself.
succeeds() { # name, line...
    name=$1
    shift
    compiler "$@"
    run "$name" || complain "$name: exit code $?: $(cat "$work/err")"
    [ "$(digest)" = "$plain" ] || complain "$name: another digest"
    [ "$(calls)" = 2 ] || complain "$name: $(calls) calls"
    grep -q 'it is run again' "$work/err" || complain "$name: not told: $(cat "$work/err")"
    nothing_left "$name"
}
succeeds driver "[ \$number -gt 1 ] || kill -KILL \$\$"
if $cc -wrapper env -E -x c /dev/null >/dev/null 2>&1; then
    cat >"$work/wrapper" <<'SCRIPT'
#!/bin/sh
case $1 in
*/"$VICTIM" | "$VICTIM") kill -KILL $$ ;;
esac
exec "$@"
SCRIPT
    chmod +x "$work/wrapper"
    for VICTIM in cc1 as collect2; do
        export VICTIM
        succeeds $VICTIM "[ \$number -gt 1 ] || exec $cc -wrapper $work/wrapper \"\$@\""
    done
else
    echo "$cc has no -wrapper: its processes are not killed one by one"
fi

fails() { # name, exit code, sentence, line...
    name=$1 wanted=$2 sentence=$3
    shift 3
    compiler "$@"
    run "$name"
    code=$?
    [ $code = "$wanted" ] || complain "$name: exit code $code: $(cat "$work/err")"
    grep -q "$sentence" "$work/err" || complain "$name: $(cat "$work/err")"
    [ "$(calls)" = 2 ] || complain "$name: $(calls) calls"
    nothing_left "$name"
}
fails always 75 'a process of it was killed, twice' "kill -KILL \$\$"
fails wrong 1 'exit code 3 for .*no such flag' "echo no such flag >&2; exit 3"

# A coordinator that is killed while its compiler works: another one compiles.
children() { cat "/proc/$1/task/$1/children" 2>/dev/null; }
kill_coordinator() { # name, signal for the first process or nothing
    compiler "[ \$number -gt 1 ] || { echo \$\$ >$work/pid; exec sleep 600; }"
    rm -rf "${work:?}/$1" "$work/pid"
    "$csengine" start "$config" --json --model_dir "$work/$1" --num_steps 4 \
        --set fit.val_dataloader=null >"$work/out" 2>"$work/err" &
    first=$!
    tries=0
    until [ -s "$work/pid" ]; do
        tries=$((tries + 1))
        [ $tries -lt 2000 ] || { complain "$1: nothing is compiled"; kill $first; break; }
        sleep 0.02
    done
    coordinator=$(children $first | cut -d ' ' -f 1)
    if [ -n "$2" ]; then
        kill -STOP "$coordinator"
        kill "$2" $first
        sleep 0.1
    fi
    kill -KILL "$coordinator"
    wait $first
    code=$?
    kill -0 "$(cat "$work/pid")" 2>/dev/null && complain "$1: the compiler is still there"
    nothing_left "$1"
}
kill_coordinator succeeded ''
[ $code = 0 ] && [ "$(digest)" = "$plain" ] || complain "succeeded: $code: $(cat "$work/err")"
kill_coordinator ended -TERM
[ $code = 137 ] || complain "ended: exit code $code: $(cat "$work/err")"
exit $failed
