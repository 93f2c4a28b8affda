/* The connections of the link tcp, with MPI in the place of the network.
 *
 * A mover is no MPI process: Open MPI ends all processes of a job with the first that dies, and a
 * mover's death shall cost nothing but its connections. On each host a carrier (carrier.h,
 * csengine-mpi-carrier) is the MPI process. It is reached by local sockets, and so are the movers
 * by it; what it carries are the bytes of the connections, whose handshake, keys and frames are
 * those of the two movers. An address is the token of the run's carriers, the same one for all
 * hosts. */
#include <string.h>

#include "workers/links/carrier_names.h"
#include "workers/links/link.h"

static const cse_host_link *connections(void)
{
    const cse_host_link *link = NULL;
    cse_host_link_select("tcp", &link);
    return link;
}

static cse_status mpi_open(const cse_host_link_options *options, cse_host_link_state **state)
{
    char names[CSE_MAX_HOSTS][CSE_HOST_LINK_ADDRESS_BYTES];
    const char *addresses[CSE_MAX_HOSTS] = { NULL };
    cse_host_link_options inner = *options;
    *state = NULL;
    for (int h = 0; h < options->host_count && h < CSE_MAX_HOSTS; h++) {
        const char *token = options->addresses[h];
        if (token == NULL || token[0] == '\0')
            continue;
        if (h <= options->host && !cse_carrier_token_is_right(token))
            return cse_fail_at(&(cse_error){ .status = CSE_CONFIG,
                                             .accepted = "accepted: up to 32 letters and digits" },
                               "\"%s\" is no token of carriers", token);
        addresses[h] = token; /* of a higher number: it only says that it may connect */
        if (h > options->host)
            continue;
        const bool own = h == options->host;
        cse_carrier_name(token, options->host, own ? CSE_CARRIER_MOVER : h, names[h]);
        addresses[h] = names[h];
    }
    inner.addresses = addresses;
    return connections()->open(&inner, state);
}

static cse_status link_send(cse_host_link_state *state, int host, const void *first,
                            size_t first_bytes, const void *second, size_t second_bytes)
{
    return connections()->send(state, host, first, first_bytes, second, second_bytes);
}

static cse_status mpi_next(cse_host_link_state *state, int64_t deadline_ns,
                           cse_host_link_event *event)
{
    return connections()->next(state, deadline_ns, event);
}

static void mpi_hold(cse_host_link_state *state, int host, bool held)
{
    connections()->hold(state, host, held);
}

static bool mpi_connected(const cse_host_link_state *state, int host)
{
    return connections()->connected(state, host);
}

static bool mpi_drained(const cse_host_link_state *state, int host)
{
    return connections()->drained(state, host);
}

static cse_host_link_counts mpi_counts(const cse_host_link_state *state, int host)
{
    return connections()->counts(state, host);
}

static const char *mpi_address(const cse_host_link_state *state)
{
    return connections()->address(state);
}

static void mpi_close(cse_host_link_state **state)
{
    connections()->close(state);
}

const cse_host_link cse_host_link_mpi = {
    .name = "mpi",
    .summary = "the connections of tcp, carried by processes of Open MPI",
    .open = mpi_open,
    .send = link_send,
    .next = mpi_next,
    .hold = mpi_hold,
    .connected = mpi_connected,
    .drained = mpi_drained,
    .counts = mpi_counts,
    .address = mpi_address,
    .close = mpi_close,
};
