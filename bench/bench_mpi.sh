#!/bin/sh
# The link mpi beside the link tcp, plain sockets, and MPI's own messages, between two processes of
# this machine: Open MPI by its TCP, which is what two hosts without another network have.
set -eu
command -v mpirun >/dev/null && [ -x ./csengine-mpi-carrier ] || { echo 'no Open MPI'; exit 0; }
OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
OMPI_MCA_btl=${OMPI_MCA_btl-tcp,self}
OMPI_MCA_pml=ob1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_btl OMPI_MCA_pml
run="mpirun --oversubscribe --bind-to none"
$run -np 2 ./csengine-mpi-carrier --measure
work=$(mktemp -d)
mkfifo "$work/input"
for token in bench-$$-p bench-$$-e; do
    $run -np 1 ./csengine-mpi-carrier $token 0 : -np 1 ./csengine-mpi-carrier $token 1 \
        <"$work/input" >"$work/$token" &
done
exec 3>"$work/input" # its end ends the carriers
for token in bench-$$-p bench-$$-e; do
    until grep -qs ready "$work/$token"; do sleep 0.1; done
done
bench/bench_links bench-$$-p bench-$$-e
exec 3>&-
wait
rm -r "$work"
