/* Which samples a step of a configuration's training takes: by the functions that the input workers
 * call. */
#include "cli/data/data_samples.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/arguments/option_values.h"
#include "cli/runs/job.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "dataloader/position.h"
#include "engine/base/arena.h"
#include "engine/nn/plugin_find.h"

/* The samples of one microbatch, and where they come from. */
static json_t *microbatch_json(const cse_dataloader *loader, int64_t step, int64_t m,
                               int64_t *samples, int64_t *epochs)
{
    const cse_batching *batching = cse_dataloader_batching_view(loader);
    const cse_input *input = cse_dataloader_input_view(loader);
    const cse_position position = cse_position_of(batching, input->sample_count, step - 1, m);
    json_t *list = json_array(), *places = json_array();
    cse_position_samples(batching, input->sample_count, position, samples, epochs);
    for (int64_t i = 0; i < batching->micro_batch_size; i++) {
        char text[4200] = "";
        const cse_element_place place = {
            .stream = 0, .sample = samples[i], .element = 0, .epoch = epochs[i]
        };
        if (input->descriptor->locate != NULL)
            input->descriptor->locate(input, &place, text, sizeof text);
        json_array_append_new(list, json_integer(samples[i]));
        json_array_append_new(places, json_string(text));
    }
    return json_pack("{s:I, s:I, s:o, s:o}", "microbatch", (json_int_t)m, "epoch",
                     (json_int_t)position.epoch, "samples", list, "places", places);
}

static json_t *step_json(cse_dataloader *loader, int64_t step)
{
    const cse_batching *batching = cse_dataloader_batching_view(loader);
    const bool is_empty = cse_dataloader_batch_samples(loader, step - 1) == 0;
    cse_dataloader_choose_kind(loader, cse_dataloader_kind_of(loader, step - 1));
    const cse_input *input = cse_dataloader_input_view(loader);
    int64_t *samples = cse_calloc(2 * (size_t)batching->micro_batch_size, sizeof *samples);
    int64_t *const epochs = samples + batching->micro_batch_size;
    json_t *list = json_array();
    for (int64_t m = 0; !is_empty && m < cse_batching_microbatches(batching); m++)
        json_array_append_new(list, microbatch_json(loader, step, m, samples, epochs));
    free(samples);
    return json_pack("{s:I, s:s, s:I, s:I, s:o}", "step", (json_int_t)step, "source", input->source,
                     "sample_count", (json_int_t)input->sample_count, "steps_per_epoch",
                     (json_int_t)cse_dataloader_steps_per_epoch(loader), "microbatches", list);
}

static void print_step(const json_t *step)
{
    size_t m, i;
    const json_t *microbatch, *sample;
    cse_print("step %lld of %lld in an epoch, %lld samples in %s\n",
              (long long)cse_json_whole(step, "step", 0),
              (long long)cse_json_whole(step, "steps_per_epoch", 0),
              (long long)cse_json_whole(step, "sample_count", 0),
              cse_json_text(step, "source", "no file"));
    json_array_foreach(json_object_get(step, "microbatches"), m, microbatch)
    {
        printf("microbatch %zu, epoch %lld\n", m,
               (long long)cse_json_whole(microbatch, "epoch", 0));
        json_array_foreach(json_object_get(microbatch, "samples"), i, sample)
        {
            const char *place =
                json_string_value(json_array_get(json_object_get(microbatch, "places"), i));
            cse_print("  %-12lld %s\n", (long long)json_integer_value(sample),
                      place != NULL ? place : "");
        }
    }
}

static cse_status show(const cse_command_line *line, cse_prepared_job *job)
{
    static const int64_t steps[] = { 1, INT64_C(1) << 40 };
    int64_t step = 1;
    cse_dataloader *loader = NULL;
    if (line->argument_count != 2)
        return cse_fail(CSE_USAGE, "data samples: takes one CONFIG.yaml");
    CSE_TRY(cse_option_integer(line, "step", steps, &step));
    CSE_TRY(cse_job_prepare(line, CSE_JOB_TRAIN, job));
    CSE_TRY(cse_config_load_plugins(job->config, cse_network_plugin_find, &job->diagnostics));
    CSE_TRY(cse_dataloader_open(job->settings.train_dataloader->settings,
                                job->settings.session.seed, &loader));
    json_t *found = step_json(loader, step);
    if (cse_option_is_on(line, "json"))
        cse_json_print(found);
    else
        print_step(found);
    json_decref(found);
    cse_dataloader_close(&loader);
    return CSE_OK;
}

int cse_data_samples(const cse_command_line *line)
{
    cse_prepared_job job = { .config = NULL };
    cse_status status = show(line, &job);
    const int code =
        job.diagnostics.count > 0 ? cse_job_report(line, &job, status) : cse_report(status);
    cse_job_clear(&job);
    return code;
}
