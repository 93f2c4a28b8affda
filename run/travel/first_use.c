/* The order of the data is a pure function of step and place, so that nothing is read but how many
 * samples there are. */
#include "run/travel/first_use.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dataloader/position.h"
#include "dataloader/positions/left_out.h"
#include "engine/base/arena.h"
#include "engine/base/confinement.h"
#include "engine/nn/plugin_find.h"
#include "run/job/job_settings.h"
#include "run/job/kinds.h"
#include "run/record/recorded_configuration.h"
#include "run/session/step_chain.h"
#include "run/travel/run_chain.h"

typedef struct search {
    const cse_first_use_question *question;
    cse_batching batching; /* of the run itself */
    int64_t sample_count;
    int64_t micro_batch_size; /* any: how a batch is divided makes no difference */
    cse_left_out own, wanted;
    cse_run_chain chain;
    int64_t *numbers; /* of a microbatch */
} search;

/* What the run itself leaves out: all that the configuration does, less what is asked for. */
static void find_own(search *s, const cse_left_out *all)
{
    const int64_t count = all != NULL ? all->count : 0;
    int64_t *own = cse_calloc((size_t)count + 1, sizeof *own), kept = 0;
    for (int64_t i = 0; i < count; i++)
        if (!cse_left_out_has(&s->wanted, all->samples[i]))
            own[kept++] = all->samples[i];
    cse_left_out_of(own, kept, &s->own);
    free(own);
}

/* Step `step`, from 0. */
static cse_status look_at_step(search *s, int64_t step, cse_first_use *found)
{
    cse_batching *b = &s->batching;
    unsigned char digest[CSE_CHAIN_PART_BYTES];
    const cse_chain_step *known = cse_run_chain_at(&s->chain, step + 1);
    if (cse_position_batch_samples(b, s->sample_count, step) == 0)
        return CSE_OK;
    cse_position_choose_kind(b, s->micro_batch_size, cse_position_kind(b, s->sample_count, step));
    cse_step_samples_digest(b, s->sample_count, step, digest);
    if (known != NULL && memcmp(digest, known->samples, sizeof digest) != 0)
        return cse_fail(CSE_DATA,
                        "step %" PRId64 " of %s had other samples than its configuration says: "
                        "the data, or the order of their samples, were changed while it ran, so "
                        "that the first use of a sample is not known",
                        step + 1, s->question->model_dir);
    for (int64_t m = 0; m < cse_batching_microbatches(b); m++) {
        cse_position_samples(b, s->sample_count, cse_position_of(b, s->sample_count, step, m),
                             s->numbers, NULL);
        for (int64_t i = 0; i < b->micro_batch_size && found->step == 0; i++)
            if (cse_left_out_has(&s->wanted, s->numbers[i]))
                *found = (cse_first_use){ .step = step + 1, .sample = s->numbers[i] };
    }
    return CSE_OK;
}

static cse_status look(search *s, const cse_dataloader *loader, cse_first_use *found)
{
    const cse_first_use_question *q = s->question;
    s->batching = *cse_dataloader_batching_view(loader);
    s->sample_count = cse_dataloader_input_view(loader)->sample_count;
    cse_left_out_of(q->samples, q->count, &s->wanted);
    find_own(s, s->batching.without);
    s->batching.without = &s->own;
    CSE_TRY(cse_run_chain_read(q->model_dir, 0, q->last, &s->chain));
    s->numbers = cse_calloc((size_t)s->micro_batch_size, sizeof *s->numbers);
    for (int64_t step = 0; step < q->last && found->step == 0; step++)
        CSE_TRY(look_at_step(s, step, found));
    return CSE_OK;
}

static cse_status open_and_look(search *s, const cse_config *config, cse_arena *arena,
                                cse_first_use *found)
{
    cse_job_settings settings;
    cse_dataloader *loader = NULL;
    CSE_TRY(cse_job_settings_read(config, CSE_JOB_TRAIN, arena, &settings));
    CSE_TRY(cse_config_load_plugins(config, cse_network_plugin_find, NULL));
    CSE_TRY(
        cse_dataloader_open(settings.train_dataloader->settings, settings.session.seed, &loader));
    s->micro_batch_size = cse_settings_integer(settings.train_dataloader->settings, "batch_size");
    cse_status status = look(s, loader, found);
    cse_dataloader_close(&loader);
    return status;
}

/* In the folder in which paths of the configuration begin; that of the run is kept absolute. */
static cse_status enter(const char *configuration, int *here)
{
    char folder[PATH_MAX];
    *here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*here < 0)
        return cse_fail(CSE_NO_INPUT, "the current folder is gone");
    if (cse_configuration_folder(configuration, folder) && chdir(folder) != 0)
        return cse_fail(CSE_NO_INPUT,
                        "%s, where the run was started, is gone: paths of its configuration begin "
                        "there",
                        folder);
    return CSE_OK;
}

static void leave(int here)
{
    if (here < 0)
        return;
    (void)!fchdir(here);
    close(here);
}

cse_status cse_first_use_find(const cse_first_use_question *question, cse_first_use *found)
{
    char model_dir[PATH_MAX];
    cse_config *config = NULL;
    int here = -1;
    *found = (cse_first_use){ .step = 0 };
    if (realpath(question->model_dir, model_dir) == NULL)
        return cse_fail(CSE_NO_INPUT, "%s: there is no such run", question->model_dir);
    cse_first_use_question absolute = *question;
    absolute.model_dir = model_dir;
    search s = { .question = &absolute };
    const cse_config_text text = { .source = question->model_dir,
                                   .yaml = question->configuration,
                                   .kinds = cse_kinds,
                                   .confinement = cse_confinement_view() };
    cse_arena *arena = cse_arena_new();
    cse_status status = enter(question->configuration, &here);
    if (status == CSE_OK)
        status = cse_config_check(&text, NULL, &config);
    if (status == CSE_OK)
        status = open_and_look(&s, config, arena, found);
    leave(here);
    cse_config_destroy(&config);
    cse_arena_destroy(&arena);
    cse_run_chain_clear(&s.chain);
    cse_left_out_clear(&s.own);
    cse_left_out_clear(&s.wanted);
    free(s.numbers);
    return status;
}
