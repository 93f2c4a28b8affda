/* The first bytes of the file stay; a residency has the rest. */
#include "run/infer/weights_in_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/base/log.h"
#include "engine/base/pages.h"
#include "run/execution/fill_states.h"
#include "workers/arena/arena_file.h"
#include "workers/arena/disk_threads.h"
#include "workers/arena/program_ahead.h"

enum { BLOCK = CSE_RESIDENCY_BLOCK_BYTES };

struct cse_weights_in_file {
    int descriptor;
    unsigned char *base;
    int64_t bytes;
    cse_block_io *io; /* NULL: all is in memory for good */
    cse_program_ahead ahead;
    const cse_graph *graph; /* of the pass that runs, or ran last */
    cse_error *failure;     /* of the first pass that failed; NULL: none has */
};

static int64_t whole_blocks(int64_t bytes)
{
    return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

static cse_space_places places_of_states(void)
{
    cse_space_places places;
    for (int s = 0; s < CSE_SPACE_COUNT; s++)
        places.at[s] = s == CSE_SPACE_STATE ? 0 : -1;
    return places;
}

/* Bytes of the blocks that a group reads, at most; the module of the one that reads most. */
static int64_t most_of_a_group(const cse_graph *graph, const char **module)
{
    const cse_space_places places = places_of_states();
    cse_ranges ranges = { 0 };
    int64_t most = 0;
    for (int g = 0; g < graph->group_count; g++) {
        int64_t bytes = 0;
        ranges.count = 0;
        cse_group_ranges(graph, g, &places, &ranges);
        for (int r = 0; r < ranges.count; r++)
            bytes += whole_blocks(ranges.items[r].end) - ranges.items[r].first / BLOCK * BLOCK;
        if (bytes > most) {
            const cse_group *own = &graph->groups[g];
            most = bytes;
            *module = own->nodes[own->node_count - 1]->scope;
        }
    }
    cse_ranges_clear(&ranges);
    return most;
}

/* ---- the file ---- */

static cse_status place_states(cse_session *session, const cse_step *step, cse_weights_in_file *f)
{
    for (int i = 0; i < step->graph->state_count; i++)
        CSE_TRY(cse_place_values_in_file(session, step->bound[i],
                                         f->base + step->graph->states[i].offset_bytes));
    return CSE_OK;
}

/* What stays is read at once: a disk that fails is told here. */
static cse_status keep(cse_weights_in_file *f, int64_t bytes)
{
    const int error = bytes > 0 ? cse_arena_file_populate(f->base, 0, bytes, false) : 0;
    return error == 0 ? CSE_OK
                      : cse_fail(CSE_IO, "states.directory: the file of states cannot be read: %s",
                                 strerror(error));
}

static void tell(const cse_weights_in_file *f, int64_t kept)
{
    cse_log_line(CSE_LOG_INFO,
                 "weights: %.1f MB in a file of states.directory, %.1f MB of them stay in memory, "
                 "%.1f MB are read in each pass",
                 (double)f->bytes * 1e-6, (double)kept * 1e-6, (double)(f->bytes - kept) * 1e-6);
}

/* The rest comes and goes within `window` bytes, half of which may be read ahead. */
static cse_status divide(cse_weights_in_file *f, int64_t memory_bytes, const cse_graph *planned)
{
    const char *module = "";
    const int64_t most = most_of_a_group(planned, &module);
    if (f->bytes <= memory_bytes) {
        tell(f, f->bytes);
        return keep(f, f->bytes);
    }
    if (most > memory_bytes)
        return cse_fail(CSE_CONFIG,
                        "states.memory is %lld bytes, and module %s reads %lld at once: give that "
                        "or more",
                        (long long)memory_bytes, module, (long long)most);
    const int64_t quarter = memory_bytes / 4;
    int64_t window = 2 * most > quarter ? 2 * most : quarter;
    window = window < memory_bytes ? window : memory_bytes;
    const int64_t kept = (memory_bytes - window) / BLOCK * BLOCK;
    tell(f, kept);
    CSE_TRY(keep(f, kept));
    CSE_TRY(cse_disk_threads_new(f->descriptor, f->base, &f->io));
    cse_residency_new(
        &(cse_residency_options){
            .io = f->io, .base = f->base, .first = kept, .end = f->bytes, .budget_bytes = window },
        &f->ahead.blocks);
    return CSE_OK;
}

cse_status cse_weights_in_file_new(cse_session *session, const cse_step *step,
                                   const cse_graph *planned, cse_weights_in_file **file)
{
    cse_weights_in_file *f = *file = cse_calloc(1, sizeof *f);
    f->descriptor = -1;
    f->bytes = whole_blocks(planned->space_bytes[CSE_SPACE_STATE] + 64);
    f->ahead.cycles = true;
    void *base = NULL;
    cse_status status = cse_arena_file_map(session->opened.cluster.states_directory, f->bytes,
                                           &base, &f->descriptor);
    f->base = base;
    status = status == CSE_OK ? place_states(session, step, f) : status;
    status =
        status == CSE_OK ? divide(f, session->opened.cluster.states_memory_bytes, planned) : status;
    if (status != CSE_OK)
        cse_weights_in_file_destroy(file);
    return status;
}

void cse_weights_in_file_destroy(cse_weights_in_file **file)
{
    cse_weights_in_file *f = *file;
    *file = NULL;
    if (f == NULL)
        return;
    cse_residency_destroy(&f->ahead.blocks);
    if (f->io != NULL)
        f->io->destroy(f->io);
    cse_ranges_clear(&f->ahead.ranges);
    cse_pages_release(f->base, (size_t)f->bytes);
    if (f->descriptor >= 0)
        close(f->descriptor);
    free(f->failure);
    free(f);
}

unsigned char *cse_weights_in_file_base(const cse_weights_in_file *file)
{
    return file->base;
}

/* ---- a pass ---- */

/* A pass has no way to stop, and a page that cannot be read would end the process: zeros are mapped
 * in place of all weights, and the outputs of the pass are not used. */
static void give_up(cse_weights_in_file *f)
{
    f->failure = cse_error_copy(cse_error_last());
    if (mmap(f->base, (size_t)f->bytes, PROT_READ,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        cse_out_of_memory((size_t)f->bytes);
}

static void before_group(void *self, int group)
{
    cse_weights_in_file *f = self;
    const cse_space_places places = places_of_states();
    if (f->failure == NULL &&
        cse_program_ahead_group(&f->ahead, f->graph, &places, false, group) != CSE_OK)
        give_up(f);
}

cse_group_watch cse_weights_in_file_watch(cse_weights_in_file *file, const cse_graph *graph)
{
    if (file->ahead.blocks == NULL)
        return (cse_group_watch){ 0 };
    if (file->graph != graph)
        file->ahead.current = file->ahead.next = graph->group_count;
    file->graph = graph;
    return (cse_group_watch){ .before = before_group, .self = file };
}

cse_status cse_weights_in_file_outcome(const cse_weights_in_file *file)
{
    return file->failure == NULL ? CSE_OK : cse_fail_again(file->failure);
}
