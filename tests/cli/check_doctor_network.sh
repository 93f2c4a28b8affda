#!/bin/sh
# `csengine doctor --hosts` between hosts with networks of their own: a link with a limit is found,
# with the rate that the limit leaves, others are not; so is a delay, and a cable that is not there.
set -u
. "${top_srcdir:?}/tests/support/hosts.sh"
hosts_enter "$0" "$@"
csengine=${CSENGINE_EXECUTABLE:?}
HOME=$hosts_folder
export HOME
out=$hosts_folder/out
failed=0
hosts_make 3

complain() {
    echo "FAIL: $*: $(cat "$out")"
    failed=1
}
doctor() { # hosts
    timeout 100 "$csengine" doctor --hosts "$1" --host_launcher exec \
        --host_launcher_options "$(hosts_template)" >"$out" 2>&1
}
rate() { awk -v from="$1" -v to="$2" '$1 == from && $2 == to && NF == 8 { print $5 }' "$out"; }

hosts_link n2 40mbit
doctor n1,n2,n3 || complain "exit code $?"
for pair in 'n1 n2' 'n2 n1' 'n2 n3' 'n3 n2'; do
    from=${pair% *} to=${pair#* }
    grep -q "^warn  $from to $to: slow link" "$out" || complain "$pair is not found to be slow"
    # 5 MB/s less what headers take; a burst of 256 kB passes at once.
    rate "$from" "$to" | awk '{ exit !($1 > 4 && $1 < 6.5) }' || complain "$pair: the rate is wrong"
done
grep -q '^warn  n[13] to n[13]: slow' "$out" && complain 'a link without a limit counts as slow'

if [ -z "$(hosts_delay_obstacle)" ]; then
    hosts_link n2 1gbit 10ms
    doctor n1,n2 || complain "exit code $?"
    grep -q '^warn  n1 to n2: far away: a round trip takes 1[0-9]' "$out" ||
        complain 'the delay is not found'
fi

hosts_down n3
doctor n1,n3
[ $? -eq 69 ] || complain 'a cable that is not there: the exit code is not 69'
grep -q '^fail  n1 to n3: no link' "$out" || complain 'the missing cable is not found'
[ "$(ps -eo args= | grep -c '[p]robe$')" -eq 0 ] || complain 'a prober is left'
exit $failed
