/* csengine-mpi-carrier: the carrier of one host as an MPI process.
 *
 *     mpirun -np 1 --host n1 csengine-mpi-carrier TOKEN 0 : -np 1 --host n2 ... TOKEN 1
 *     srun --mpi=pmix -N2 csengine-mpi-carrier TOKEN n1=0 n2=1
 *     mpirun -np 2 --host n1,n2 csengine-mpi-carrier --measure
 *
 * Messages of bytes alone go through MPI, from one process to another: no collective after the
 * start, no reduction, no type. Receives are posted ahead, and sends keep their buffers until they
 * are done. MPI can only be asked whether something has come, so an idle carrier asks more and more
 * seldom. Any error of MPI ends the job, which its starter notices.
 *
 * The first process reads its standard input, which nobody writes to: at its end all end. */
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "mpi/mpi_measure.h"
#include "workers/carrier/carrier.h"
#include "workers/links/carrier_names.h"

enum { SENDS = 8, RECEIVES = 8, TAG_MESSAGE = 1, TAG_END = 2 };
#define FIRST_WAIT_NS 20000
#define LAST_WAIT_NS 500000
#define IDLE_WAIT_NS 20000000 /* without a stream */
#define SENDING_WAIT_NS 50000 /* MPI sends while it is asked */
#define LOOK_NS 20000000

typedef struct post {
    unsigned char *bytes;
    MPI_Request request;
} post;

typedef struct peer {
    int rank; /* -1: none */
    post sends[SENDS], receives[RECEIVES];
    int next_send, next_receive;
    bool taken; /* the receive before next_receive is in use */
} peer;

typedef struct mpi_wire {
    peer peers[CSE_MAX_HOSTS];
    int hosts[CSE_MAX_HOSTS], count; /* those with a rank */
    int turn;
} mpi_wire;

static unsigned char *wire_room(void *self, int host)
{
    mpi_wire *w = self;
    post *p = &w->peers[host].sends[w->peers[host].next_send];
    int done = 1;
    if (p->request != MPI_REQUEST_NULL)
        MPI_Test(&p->request, &done, MPI_STATUS_IGNORE);
    return done ? p->bytes : NULL;
}

static void wire_send(void *self, int host, size_t size)
{
    mpi_wire *w = self;
    peer *to = &w->peers[host];
    post *p = &to->sends[to->next_send];
    MPI_Isend(p->bytes, (int)size, MPI_BYTE, to->rank, TAG_MESSAGE, MPI_COMM_WORLD, &p->request);
    to->next_send = (to->next_send + 1) % SENDS;
}

static void receive(peer *from, post *p)
{
    MPI_Irecv(p->bytes, CSE_CARRIER_MESSAGE_BYTES, MPI_BYTE, from->rank, TAG_MESSAGE,
              MPI_COMM_WORLD, &p->request);
}

/* Messages of one peer in the order of their receives, which is that of their sending. */
static const unsigned char *wire_take(void *self, int *host, size_t *size)
{
    mpi_wire *w = self;
    for (int i = 0; i < w->count; i++) {
        const int h = w->hosts[(w->turn + i) % w->count];
        peer *from = &w->peers[h];
        MPI_Status status;
        int done = 0, bytes = 0;
        if (from->taken)
            receive(from, &from->receives[(from->next_receive + RECEIVES - 1) % RECEIVES]);
        from->taken = false;
        post *p = &from->receives[from->next_receive];
        MPI_Test(&p->request, &done, &status);
        if (!done)
            continue;
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        from->next_receive = (from->next_receive + 1) % RECEIVES;
        from->taken = true;
        w->turn = (w->turn + i + 1) % w->count;
        *host = h;
        *size = (size_t)bytes;
        return p->bytes;
    }
    return NULL;
}

static bool wire_sends(const mpi_wire *w)
{
    for (int i = 0; i < w->count; i++)
        for (int k = 0; k < SENDS; k++)
            if (w->peers[w->hosts[i]].sends[k].request != MPI_REQUEST_NULL)
                return true;
    return false;
}

static void open_wire(mpi_wire *w, const int *hosts, int own_rank, int count)
{
    for (int rank = 0; rank < count; rank++) {
        peer *p = &w->peers[hosts[rank]];
        if (rank == own_rank)
            continue;
        p->rank = rank;
        w->hosts[w->count++] = hosts[rank];
        for (int i = 0; i < SENDS; i++)
            p->sends[i] = (post){ cse_malloc(CSE_CARRIER_MESSAGE_BYTES), MPI_REQUEST_NULL };
        for (int i = 0; i < RECEIVES; i++) {
            p->receives[i].bytes = cse_malloc(CSE_CARRIER_MESSAGE_BYTES);
            receive(p, &p->receives[i]);
        }
    }
}

/* Waits for what was sent, takes back what was posted. */
static void close_wire(mpi_wire *w)
{
    for (int i = 0; i < w->count; i++) {
        peer *p = &w->peers[w->hosts[i]];
        for (int k = 0; k < RECEIVES; k++)
            if (p->receives[k].request != MPI_REQUEST_NULL) {
                MPI_Cancel(&p->receives[k].request);
                MPI_Request_free(&p->receives[k].request);
            }
    }
}

/* ---- the end ---- */

/* The first process tells the others. */
typedef struct ending {
    int rank, count;
    int64_t next_look_ns;
    char byte;
    MPI_Request request;
} ending;

static bool input_has_ended(void)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    char dropped[256];
    return poll(&input, 1, 0) > 0 && read(STDIN_FILENO, dropped, sizeof dropped) <= 0;
}

static bool is_over(ending *e)
{
    const int64_t now = cse_clock_ns();
    int done = 0;
    if (now < e->next_look_ns)
        return false;
    e->next_look_ns = now + LOOK_NS;
    if (e->rank == 0)
        return input_has_ended();
    MPI_Test(&e->request, &done, MPI_STATUS_IGNORE);
    return done;
}

static void tell_end(const ending *e)
{
    for (int rank = 1; e->rank == 0 && rank < e->count; rank++)
        MPI_Send(&e->byte, 1, MPI_BYTE, rank, TAG_END, MPI_COMM_WORLD);
}

static void run(cse_carrier *carrier, const mpi_wire *wire, ending *e)
{
    int64_t wait_ns = FIRST_WAIT_NS;
    while (!is_over(e)) {
        const bool moved = cse_carrier_turn(carrier, wait_ns);
        const int64_t most = wire_sends(wire)                        ? SENDING_WAIT_NS
                             : cse_carrier_stream_count(carrier) > 0 ? LAST_WAIT_NS
                                                                     : IDLE_WAIT_NS;
        wait_ns = moved ? FIRST_WAIT_NS : 2 * wait_ns;
        wait_ns = wait_ns < most ? wait_ns : most;
    }
}

/* ---- the start ---- */

static int refuse(const char *what)
{
    fprintf(stderr, "csengine-mpi-carrier: %s\n", what);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 64);
    return 64;
}

static int number_of(const char *text)
{
    char *end;
    const long number = strtol(text, &end, 10);
    return end != text && *end == '\0' && number >= 0 && number < CSE_MAX_HOSTS ? (int)number : -1;
}

/* The number of this host: an argument of its own, or that of its name. -1: none. */
static int own_number(int argc, char **argv)
{
    const char *name = getenv("SLURMD_NODENAME");
    for (int i = 2; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');
        if (equals == NULL)
            return number_of(argv[i]);
        if (name != NULL && strlen(name) == (size_t)(equals - argv[i]) &&
            strncmp(name, argv[i], (size_t)(equals - argv[i])) == 0)
            return number_of(equals + 1);
    }
    return -1;
}

static const char *learn_hosts(int own, int count, int *hosts, bool *others)
{
    if (count > CSE_MAX_HOSTS)
        return "more processes than there can be hosts";
    MPI_Allgather(&own, 1, MPI_INT, hosts, 1, MPI_INT, MPI_COMM_WORLD);
    for (int rank = 0; rank < count; rank++) {
        if (hosts[rank] < 0)
            return "wrong use: csengine-mpi-carrier TOKEN NUMBER, or TOKEN NAME=NUMBER..., with "
                   "the number of each host; csengine start starts it";
        if (others[hosts[rank]])
            return "two processes have the number of one host";
        others[hosts[rank]] = true;
    }
    others[own] = false;
    return NULL;
}

int main(int argc, char **argv)
{
    static mpi_wire wire;
    int hosts[CSE_MAX_HOSTS];
    ending e = { 0 };
    cse_carrier *carrier;
    cse_carrier_options options = {
        .wire = { .self = &wire, .room = wire_room, .send = wire_send, .take = wire_take },
    };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &e.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &e.count);
    if (argc == 2 && strcmp(argv[1], "--measure") == 0) {
        cse_mpi_measure(e.rank, e.count);
        MPI_Finalize();
        return 0;
    }
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
    options.host = argc > 2 && cse_carrier_token_is_right(argv[1]) ? own_number(argc, argv) : -1;
    options.token = argv[1];
    const char *wrong = learn_hosts(options.host, e.count, hosts, options.others);
    if (wrong != NULL)
        return refuse(wrong);
    if (cse_carrier_open(&options, &carrier) != CSE_OK)
        return refuse(cse_error_message());
    open_wire(&wire, hosts, e.rank, e.count);
    if (e.rank > 0)
        MPI_Irecv(&e.byte, 1, MPI_BYTE, 0, TAG_END, MPI_COMM_WORLD, &e.request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (e.rank == 0) {
        puts("carriers are ready");
        fflush(stdout);
    }
    run(carrier, &wire, &e);
    tell_end(&e);
    cse_carrier_close(&carrier);
    close_wire(&wire);
    MPI_Finalize();
    return 0;
}
