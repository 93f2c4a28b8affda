#!/bin/sh
# `csengine doctor --hosts` on hosts that are all this machine: what it measures of each pair, a
# host that cannot be started, one of another kind, one that is gone in the middle, wrong options,
# and that nothing is left after Ctrl-C or a kill. Links with limits: check_doctor_network.sh.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TMPDIR=$work
export TMPDIR
failed=0

complain() {
    echo "FAIL: $*"
    failed=1
}

doctor() { # name, expected exit code, arguments...
    name=$1 expected=$2
    shift 2
    timeout 60 "$csengine" doctor "$@" >"$work/$name.out" 2>"$work/$name.err"
    code=$?
    [ $code -eq "$expected" ] ||
        complain "$name: exit code $code, not $expected: $(cat "$work/$name.out" "$work/$name.err")"
}
says() { # name, expression
    grep -qE -e "$2" "$work/$1.out" "$work/$1.err" ||
        complain "$1: nothing like $2: $(cat "$work/$1.out" "$work/$1.err")"
}

# Those of this test: others may run beside it.
probers() {
    for pid in $(ps -eo pid=,args= |
        awk -v p="$csengine" '$2 == p && $3 == "probe" { print $1 }'); do
        grep -qsF "$work" "/proc/$pid/environ" && echo "$pid"
    done
}
wait_for() { # command...
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 1000 ] || return 1
        sleep 0.01
    done
}
are_there() { [ "$(probers | wc -l)" -eq 3 ]; }
are_gone() { [ -z "$(probers)" ]; }

# ---- each pair ----

doctor three 0 --hosts a,b,c --host_launcher local
for pair in 'a +b' 'a +c' 'b +a' 'b +c' 'c +a' 'c +b'; do
    says three "^$pair +[0-9]+ +[0-9]+ +[0-9.e+]+ +-?[0-9.]+ +[0-9.]+ "
done
doctor json 0 --hosts a,b --host_launcher local --json
for member in latency_s latency_p99_s bytes_per_s clock_offset_s build kernels memory_free_bytes; do
    says json "\"$member\":[\"0-9-]"
done
doctor one 0 --hosts a --host_launcher local
are_gone || complain 'a prober is left'

# ---- hosts that are not well ----

# 127.0.0.N: all this machine.
cat >"$work/on" <<'ON'
#!/bin/sh
host=$1
shift
case $host in
*.7) echo 'there is no such host' >&2; exit 3 ;;
*.8) CSE_ISA=avx2 exec "$@" ;;
*.9) # its prober ends as soon as it has said what it is
    exec 3<&0
    "$@" <&3 >"$0.9" &
    until [ -s "$0.9" ]; do sleep 0.01; done
    cat "$0.9"
    kill -KILL $!
    exit 9 ;;
*) exec "$@" ;;
esac
ON
chmod +x "$work/on"
ill() { # name, expected exit code, last parts of the hosts' addresses
    name=$1 expected=$2
    shift 2
    doctor "$name" "$expected" --hosts "$(printf '127.0.0.%s,' "$@" | sed 's/,$//')" \
        --host_launcher exec --host_launcher_options "$work/on {host} {command}"
}
ill missing 69 1 7 2
says missing '^fail +127.0.0.7: it cannot take part: .*exit code 3.*there is no such host'
says missing '^127.0.0.1 +127.0.0.2 +[0-9]'
says missing '^127.0.0.1 +127.0.0.7 +- '
if grep -q avx512 "$work/three.out"; then
    ill older 1 1 8 2
    says older '^fail +127.0.0.8: its instruction set is avx2, that of most hosts avx512'
fi
ill gone 69 1 9
says gone '^fail +127.0.0.9: it cannot take part: .*exit code 9'
are_gone || complain 'a prober is left of hosts that are not well'

# ---- wrong options ----

doctor nobody 78 --hosts 'a,-b' --host_launcher local
doctor twice 78 --hosts a,a --host_launcher local
doctor launcher 78 --hosts a,b --host_launcher ssj
says launcher 'ssh'
doctor port 64 --hosts a,b --host_launcher local --host_port 70000
doctor auto 78 --hosts auto --host_launcher local

# ---- the end ----

for signal in INT KILL; do
    "$csengine" doctor --hosts a,b,c --host_launcher local >"$work/out" 2>&1 &
    process=$!
    wait_for are_there || complain "$signal: no probers"
    kill -$signal $process
    wait $process
    code=$?
    [ $signal = KILL ] || [ $code -eq 130 ] || complain "$signal: exit code $code"
    wait_for are_gone || complain "$signal: a prober is left"
done
exit $failed
