/* The file is written over at each checkpoint: by then its states were copied on. */
#include "workers/arena/state_gather.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/pages.h"
#include "engine/base/unnamed_file.h"
#include "workers/arena/doorbell.h"
#include "workers/arena/state_ranges.h"

enum { WINDOW_BYTES = 16 << 20 };

struct cse_state_gather {
    int descriptor;
    unsigned char *view;
    int64_t bytes;
    int64_t under_way; /* after so many steps; -1: none */
    int64_t steps;     /* the whole states in the file; -1: none */
    int first, end;    /* chunks that were asked for */
};

/* ---- the file ---- */

static cse_status open_file(cse_cluster *cluster)
{
    const char *directory = cluster->gather_directory;
    cse_state_gather *g = cse_calloc(1, sizeof *g);
    *g = (cse_state_gather){ .bytes = cluster->head->state_bytes, .under_way = -1, .steps = -1 };
    cluster->gather = g;
    g->descriptor = directory != NULL ? cse_unnamed_file(directory)
                                      : memfd_create("csengine-states", MFD_CLOEXEC);
    const char *place = directory != NULL ? directory : "memory";
    if (g->descriptor < 0)
        return cse_fail(CSE_IO, "states of all hosts: no file can be made in %s: %s", place,
                        strerror(errno));
    const int error = posix_fallocate(g->descriptor, 0, g->bytes);
    if (error != 0)
        return cse_fail(CSE_IO, "states of all hosts: no room for %lld bytes in %s: %s",
                        (long long)g->bytes, place, strerror(error));
    void *view = mmap(NULL, (size_t)g->bytes, PROT_READ, MAP_SHARED, g->descriptor, 0);
    if (view == MAP_FAILED)
        return cse_fail(CSE_TEMPORARY, "states of all hosts: cannot map %lld bytes: %s",
                        (long long)g->bytes, strerror(errno));
    g->view = view;
    return CSE_OK;
}

void cse_state_gather_destroy(cse_state_gather **gather)
{
    cse_state_gather *g = *gather;
    if (g == NULL)
        return;
    if (g->view != NULL)
        munmap(g->view, (size_t)g->bytes);
    if (g->descriptor >= 0)
        close(g->descriptor);
    free(g);
    *gather = NULL;
}

static cse_status write_out(const cse_cluster *cluster, int64_t first, int64_t end)
{
    while (first < end) {
        const ssize_t done = pwrite(cluster->gather->descriptor, cse_arena_states(cluster) + first,
                                    (size_t)(end - first), first);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return cse_fail(CSE_IO, "states of all hosts: their file cannot be written: %s",
                            strerror(errno));
        first += done;
    }
    return CSE_OK;
}

/* ---- absent parts ---- */

static int find_absent(const cse_cluster *cluster, cse_byte_range **spans)
{
    return cse_absent_states(cluster->graph, cluster->head, &cluster->hosts->state_owners,
                             cluster->head->host, spans);
}

void cse_cluster_drop_absent(const cse_cluster *cluster)
{
    cse_byte_range *spans = NULL;
    if (!cse_states_are_cut(cluster))
        return;
    const int count = find_absent(cluster, &spans);
    for (int i = 0; i < count; i++)
        cse_pages_discard(cse_arena_states(cluster) + spans[i].first,
                          (size_t)(spans[i].end - spans[i].first));
    free(spans);
}

/* What this host has: it stands in its place. */
static cse_status write_present(const cse_cluster *cluster)
{
    cse_byte_range *spans = NULL;
    const int count = find_absent(cluster, &spans);
    cse_status status = CSE_OK;
    int64_t from = 0;
    for (int i = 0; i < count && status == CSE_OK; i++) {
        status = write_out(cluster, from, spans[i].first);
        from = spans[i].end;
    }
    free(spans);
    return status == CSE_OK ? write_out(cluster, from, cluster->head->state_bytes) : status;
}

/* ---- windows ---- */

/* Memory for them first: what a mover writes beyond that would end it. */
static cse_status ask(cse_cluster *cluster, int first)
{
    const cse_arena_head *head = cluster->head;
    cse_state_gather *g = cluster->gather;
    int64_t bytes = 0;
    g->first = g->end = first;
    for (; g->end < head->update_chunks && bytes < WINDOW_BYTES; g->end++) {
        const cse_state_chunk *of = &cluster->state_chunks[g->end];
        if (cse_chunk_is_kept(cluster, g->end))
            continue;
        bytes += cse_chunk_bytes(cluster, g->end, CSE_STATES_OWN);
        for (int r = of->ranges[CSE_STATES_OWN]; r < of->ranges[CSE_STATES_OWN + 1]; r++) {
            const int error = posix_fallocate(cluster->descriptor,
                                              head->states_offset + cluster->state_ranges[r].first,
                                              cluster->state_ranges[r].bytes);
            if (error != 0)
                return cse_fail(CSE_TEMPORARY, "states of all hosts: no memory for a part: %s",
                                strerror(error));
        }
    }
    atomic_store(&cluster->hosts->gather_chunks, (uint64_t)g->first << 32 | (uint64_t)g->end);
    atomic_store(&cluster->hosts->gather, g->under_way + 1);
    cse_doorbell_ring(cluster, CSE_DOORBELL_MOVE);
    return CSE_OK;
}

static bool is_here(const cse_cluster *cluster)
{
    const cse_state_gather *g = cluster->gather;
    for (int c = g->first; c < g->end; c++)
        if (!cse_chunk_is_kept(cluster, c) &&
            atomic_load(&cluster->gathered[c]) != g->under_way + 1)
            return false;
    return true;
}

static cse_status take(const cse_cluster *cluster)
{
    const cse_state_gather *g = cluster->gather;
    for (int c = g->first; c < g->end; c++) {
        const cse_state_chunk *of = &cluster->state_chunks[c];
        for (int r = of->ranges[CSE_STATES_OWN];
             r < of->ranges[CSE_STATES_OWN + 1] && !cse_chunk_is_kept(cluster, c); r++) {
            const cse_state_range *one = &cluster->state_ranges[r];
            CSE_TRY(write_out(cluster, one->first, one->first + one->bytes));
        }
    }
    return CSE_OK;
}

/* Forward as far as what has come allows. */
static cse_status go_on(cse_cluster *cluster)
{
    cse_state_gather *g = cluster->gather;
    while (is_here(cluster)) {
        CSE_TRY(take(cluster));
        if (g->end == cluster->head->update_chunks) {
            atomic_store(&cluster->hosts->gather, 0);
            cse_cluster_drop_absent(cluster);
            g->steps = g->under_way;
            g->under_way = -1;
            return CSE_OK;
        }
        cse_cluster_drop_absent(cluster);
        CSE_TRY(ask(cluster, g->end));
    }
    return CSE_OK;
}

static cse_status begin(cse_cluster *cluster, int64_t steps)
{
    if (cluster->gather == NULL)
        CSE_TRY(open_file(cluster));
    cse_state_gather *g = cluster->gather;
    g->under_way = steps;
    g->steps = -1;
    CSE_TRY(write_present(cluster));
    return ask(cluster, 0);
}

static cse_status gather(cse_cluster *cluster, int64_t steps)
{
    const cse_state_gather *g = cluster->gather;
    if (g != NULL && g->steps == steps)
        return CSE_OK;
    if (cse_states_are_lost(cluster))
        return cse_fail(CSE_UNAVAILABLE,
                        "a host is lost, and with it its part of the optimizer's states");
    if (g == NULL || g->under_way != steps)
        CSE_TRY(begin(cluster, steps));
    return go_on(cluster);
}

static void pass(cse_cluster *cluster, int64_t steps)
{
    if (atomic_load(&cluster->hosts->passed) > steps)
        return;
    atomic_store(&cluster->hosts->passed, steps + 1);
    cse_doorbell_ring(cluster, CSE_DOORBELL_MOVE);
}

cse_status cse_cluster_gather(cse_cluster *cluster, int64_t steps, bool over, bool *whole)
{
    const cse_arena_head *head = cluster->head;
    *whole = true;
    if (!cse_states_are_cut(cluster))
        return CSE_OK;
    if (head->leader != head->host) {
        *whole = !over || atomic_load(&cluster->hosts->leader_ready) > steps ||
                 cse_arena_is_lost(cluster, head->leader);
        return CSE_OK;
    }
    CSE_TRY(gather(cluster, steps));
    *whole = cluster->gather->steps == steps;
    if (*whole && over)
        pass(cluster, steps);
    return CSE_OK;
}

void cse_cluster_note_leader_left(cse_cluster *cluster)
{
    if (cse_states_are_cut(cluster))
        atomic_store(&cluster->hosts->leader_ready, INT64_MAX);
}

const unsigned char *cse_cluster_gathered_view(const cse_cluster *cluster, int64_t steps)
{
    const cse_state_gather *g = cluster->gather;
    return g != NULL && g->steps == steps ? g->view : NULL;
}

bool cse_cluster_has_gathered(const cse_cluster *cluster, const void *values)
{
    const cse_state_gather *g = cluster->gather;
    const uintptr_t at = (uintptr_t)values;
    return g != NULL && g->view != NULL && at >= (uintptr_t)g->view &&
           at - (uintptr_t)g->view < (uintptr_t)g->bytes;
}

bool cse_cluster_lacks_states(const cse_cluster *cluster)
{
    return cse_states_are_lost(cluster);
}

static bool has_all(const cse_cluster *cluster)
{
    for (int c = 0; c < cluster->head->update_chunks; c++)
        if (!cse_chunk_is_kept(cluster, c))
            return false;
    return true;
}

bool cse_cluster_has_its_states(const cse_cluster *cluster, int64_t steps)
{
    return cluster->head->leader != cluster->head->host || has_all(cluster) ||
           cse_cluster_gathered_view(cluster, steps) != NULL;
}

static bool is_same_cut(const cse_cluster *a, const cse_cluster *b)
{
    const cse_arena_head *head = a->head, *other = b->head;
    return head->state_copies == other->state_copies &&
           head->update_chunks == other->update_chunks &&
           head->state_range_count == other->state_range_count &&
           memcmp(a->state_ranges, b->state_ranges,
                  (size_t)head->state_range_count * sizeof *a->state_ranges) == 0 &&
           memcmp(a->state_chunks, b->state_chunks,
                  (size_t)head->update_chunks * sizeof *a->state_chunks) == 0;
}

cse_status cse_cluster_check_cut(const cse_cluster *cluster, const cse_cluster *before)
{
    if (!cse_states_are_cut(cluster) || cluster->head->leader == cluster->head->host ||
        (cse_states_are_cut(before) && is_same_cut(cluster, before)))
        return CSE_OK;
    return cse_fail(CSE_UNAVAILABLE, "states.shard: the steps go on with another cut of "
                                     "the states, of which this host has its part alone");
}
