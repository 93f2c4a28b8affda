/* Sets what a plan needs beside what the host allows. */
#include "workers/control/execution_limits.h"

#include <stdio.h>

#include "engine/base/resource_limits.h"

enum {
    LEAST_WORKER_BYTES = 2 << 20, /* private pages of a worker of a step of a few units; measured */
    LEAST_COORDINATOR_BYTES = 8 << 20, /* likewise, with its supervisor */
    /* Measured with 4 and 8 workers: 48 and 61 descriptors; one host more has three of its own. */
    BASE_FILES = 64,
    FILES_OF_PROCESS = 4,
    FILES_OF_HOST = 8,
    THREADS_OF_PROCESS = 5,
    OTHER_THREADS = 24,              /* of the coordinator, a dashboard, the compiler */
    PROCESS_SPACE_BYTES = 160 << 20, /* libraries and stacks; measured */
    PROCESS_DATA_BYTES = 32 << 20,
    FILE_HEAD_BYTES = 1 << 20,
};

#define MIB(bytes) ((double)(bytes) / (1 << 20))

static int process_count(const cse_execution_needs *needs)
{
    return needs->replicas + needs->weight_servers + needs->input_workers + needs->movers;
}

/* ---- memory ---- */

typedef struct least_memory {
    int64_t arena, workers, coordinator, all;
} least_memory;

static least_memory least_of(const cse_execution_needs *needs)
{
    const int64_t count = process_count(needs);
    least_memory least = {
        .arena = needs->arena_bytes,
        .workers = needs->worker_bytes - count * (CSE_WORKER_BASE_BYTES - LEAST_WORKER_BYTES),
        .coordinator = needs->coordinator_bytes + needs->checkpoint_bytes -
                       CSE_COORDINATOR_BASE_BYTES + LEAST_COORDINATOR_BYTES,
    };
    least.all = least.arena + least.workers + least.coordinator;
    return least;
}

const char *cse_execution_memory_text(const cse_execution_needs *needs,
                                      const cse_memory_limit *limit, char *text, size_t size)
{
    const least_memory least = least_of(needs);
    snprintf(text, size,
             "it needs at least %.1f MiB (shared by all processes %.1f, of %d workers %.1f, of the "
             "coordinator with a copy of the states %.1f), and %s allows %.1f MiB",
             MIB(least.all), MIB(least.arena), process_count(needs), MIB(least.workers),
             MIB(least.coordinator), limit->file[0] != '\0' ? limit->file : "this machine",
             MIB(limit->bytes + limit->swap_bytes));
    return text;
}

cse_status cse_execution_fits(const cse_execution_needs *needs, const cse_memory_limit *limit)
{
    char text[CSE_MEMORY_FILE_BYTES + 512];
    if (limit->bytes == 0 || least_of(needs).all <= limit->bytes + limit->swap_bytes)
        return CSE_OK;
    return cse_fail_at(
        &(cse_error){ .status = CSE_SYSTEM_LIMIT,
                      .hint = "lower batch_size, micro_batch_size or num_csx, use activation "
                              "checkpointing (recompute), or raise the limit" },
        "the memory does not hold the run: %s",
        cse_execution_memory_text(needs, limit, text, sizeof text));
}

/* ---- all of it ---- */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

cse_status cse_execution_limits_check(const cse_execution *e, const cse_execution_needs *needs)
{
    char purpose[80];
    const int processes = process_count(needs), hosts = e->hosts ? e->hosts->host_count : 0;
    const int64_t own_bytes = processes > 0 ? needs->worker_bytes / processes : 0;
    const int64_t states = needs->state_bytes;
    snprintf(purpose, sizeof purpose, "for %d worker processes%s", processes,
             hosts > 1 ? " and other hosts" : "");
    const cse_resource_need rows[] = {
        { CSE_RESOURCE_FILES, BASE_FILES + FILES_OF_PROCESS * processes + FILES_OF_HOST * hosts,
          purpose },
        { CSE_RESOURCE_FILE_SIZE, larger(needs->arena_bytes, states) + FILE_HEAD_BYTES,
          "for shared memory and checkpoints" },
        { CSE_RESOURCE_ADDRESS_SPACE, PROCESS_SPACE_BYTES + needs->arena_bytes + own_bytes,
          "for the libraries, the shared memory and a worker" },
        { CSE_RESOURCE_DATA, PROCESS_DATA_BYTES + larger(own_bytes, states), "for a worker" },
    };
    const cse_memory_limit limit = cse_memory_limit_look();
    CSE_TRY(cse_execution_fits(needs, &limit));
    CSE_TRY(cse_resource_limits_check(rows, sizeof rows / sizeof rows[0]));
    return cse_resource_limits_try_threads(THREADS_OF_PROCESS * processes + OTHER_THREADS, purpose);
}
