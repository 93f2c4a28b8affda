/* Messages of a size both ways at once, some of them posted ahead, and round trips of 64 bytes, as
 * bench/bench_links.c has them: nothing is copied, checked or encrypted. */
#include "mpi/mpi_measure.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"

enum { POSTED = 8, SIZES = 3, MOST_BYTES = 1 << 20, ECHOES = 500, ROUNDS = 3 };

static const int sizes[SIZES] = { 64, 64 << 10, 1 << 20 };
static const int counts[SIZES] = { 20000, 1000, 100 };

static void exchange(int other, unsigned char *const *out, unsigned char *const *in, int size,
                     int count)
{
    MPI_Request sends[POSTED], receives[POSTED];
    for (int i = 0; i < POSTED; i++)
        MPI_Irecv(in[i], size, MPI_BYTE, other, 0, MPI_COMM_WORLD, &receives[i]);
    for (int i = 0; i < POSTED; i++)
        MPI_Isend(out[i], size, MPI_BYTE, other, 0, MPI_COMM_WORLD, &sends[i]);
    for (int done = 0; done < count; done++) {
        const int i = done % POSTED;
        MPI_Wait(&receives[i], MPI_STATUS_IGNORE);
        MPI_Wait(&sends[i], MPI_STATUS_IGNORE);
        if (done + POSTED >= count)
            continue;
        MPI_Irecv(in[i], size, MPI_BYTE, other, 0, MPI_COMM_WORLD, &receives[i]);
        MPI_Isend(out[i], size, MPI_BYTE, other, 0, MPI_COMM_WORLD, &sends[i]);
    }
}

static void echo(int rank, int other, unsigned char *bytes)
{
    for (int i = 0; i < ECHOES; i++) {
        if (rank == 0)
            MPI_Send(bytes, 64, MPI_BYTE, other, 0, MPI_COMM_WORLD);
        MPI_Recv(bytes, 64, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(bytes, 64, MPI_BYTE, other, 0, MPI_COMM_WORLD);
    }
}

/* The best of some rounds: what else the machine does only takes time. */
static double seconds_of(int rank, int which, unsigned char *const *out, unsigned char *const *in)
{
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Sendrecv(NULL, 0, MPI_BYTE, 1 - rank, 1, NULL, 0, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        const int64_t begun_ns = cse_clock_ns();
        if (which == SIZES)
            echo(rank, 1 - rank, out[0]);
        else
            exchange(1 - rank, out, in, sizes[which], counts[which]);
        const double seconds = (double)(cse_clock_ns() - begun_ns) * 1e-9;
        best = round == 0 || seconds < best ? seconds : best;
    }
    return best;
}

void cse_mpi_measure(int rank, int count)
{
    unsigned char *out[POSTED], *in[POSTED];
    if (count < 2 || rank > 1) {
        if (rank == 0)
            fprintf(stderr, "csengine-mpi-carrier: --measure wants two processes\n");
        return;
    }
    for (int i = 0; i < POSTED; i++) {
        out[i] = cse_calloc(1, MOST_BYTES);
        in[i] = cse_calloc(1, MOST_BYTES);
    }
    for (int which = 0; which <= SIZES; which++) {
        const double seconds = seconds_of(rank, which, out, in);
        if (rank == 0 && which < SIZES)
            printf("MPI, %7d B each way: %9.0f/s %6.0f MB/s\n", sizes[which],
                   counts[which] / seconds, counts[which] * (double)sizes[which] / seconds * 1e-6);
        else if (rank == 0)
            printf("MPI, round trip: %.1f us\n", seconds / ECHOES * 1e6);
    }
    for (int i = 0; i < POSTED; i++) {
        free(out[i]);
        free(in[i]);
    }
}
