/* A file of a step of this run that is younger than the run is its own; others are not touched. */
#include "run/job/found_checkpoints.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "engine/formats/checkpoint/digest.h"
#include "engine/formats/checkpoint/links.h"
#include "store/reader.h"

/* Steps in ascending order, of which those with a row are set to -1. */
typedef struct steps {
    int64_t *list;
    int count;
} steps;

static void take_row(void *self, const cse_row *row)
{
    const steps *s = self;
    for (int i = 0; i < s->count; i++)
        if (s->list[i] == row->fields[2].integer)
            s->list[i] = -1;
}

static bool is_of_run(const cse_job *j, int64_t step)
{
    char path[PATH_MAX];
    struct stat file, run;
    const char *model_dir = j->session->configuration.model_dir;
    const cse_run_target *target = j->unfinished;
    cse_checkpoint_path(model_dir, step, path, sizeof path);
    if (step <= target->first_step || step > target->last_step || lstat(path, &file) != 0 ||
        !S_ISREG(file.st_mode))
        return false;
    if (!cse_run_target_path(model_dir, path) || stat(path, &run) != 0)
        return false;
    return file.st_mtim.tv_sec > run.st_mtim.tv_sec ||
           (file.st_mtim.tv_sec == run.st_mtim.tv_sec &&
            file.st_mtim.tv_nsec >= run.st_mtim.tv_nsec);
}

void cse_found_checkpoints_look(cse_job *j)
{
    cse_store_reader *reader = NULL;
    steps all = { .count = 0 };
    int64_t *newest_first = NULL;
    const char *model_dir = j->session->configuration.model_dir;
    const cse_store_query query = { .limit = INT64_MAX };
    if (j->unfinished == NULL ||
        cse_checkpoint_steps(model_dir, &newest_first, &all.count) != CSE_OK || all.count == 0) {
        free(newest_first);
        return;
    }
    all.list = cse_arena_alloc(j->session->arena, (size_t)all.count * sizeof *all.list);
    for (int i = 0; i < all.count; i++)
        all.list[i] = newest_first[all.count - 1 - i];
    free(newest_first);
    if (cse_store_reader_open(model_dir, &reader) == CSE_OK &&
        cse_store_reader_rows(reader, CSE_ROW_CHECKPOINT, &query, take_row, &all) == CSE_OK) {
        j->found_steps = all.list;
        for (int i = 0; i < all.count; i++)
            if (all.list[i] >= 0 && is_of_run(j, all.list[i]))
                j->found_steps[j->found_count++] = all.list[i];
    }
    cse_store_reader_close(&reader);
}

void cse_found_checkpoints_record(cse_job *j)
{
    char path[PATH_MAX], digest[CSE_DIGEST_DIGITS + 1], identity[CSE_DIGEST_DIGITS + 1];
    const int64_t now_ns = cse_clock_ns();
    for (int i = 0; i < j->found_count && j->recorder != NULL; i++) {
        cse_checkpoint *file = NULL;
        cse_written_checkpoint written = {
            .step = j->found_steps[i], .start_ns = now_ns, .end_ns = now_ns, .path = path
        };
        cse_checkpoint_path(j->session->configuration.model_dir, written.step, path, sizeof path);
        if (cse_checkpoint_map(path, &file) != CSE_OK)
            continue; /* what is wrong with it is told where it is used */
        cse_checkpoint_digest(file, NULL, digest);
        if (file->links == NULL ||
            cse_checkpoint_identity(path, file->links, file->global_step, identity) != CSE_OK)
            identity[0] = '\0';
        written.digest = digest;
        written.identity = identity;
        if (file->global_step == written.step) {
            cse_recorder_checkpoint(j->recorder, &written);
            cse_retention_written(j->retention, written.step);
        }
        cse_checkpoint_destroy(&file);
    }
}
