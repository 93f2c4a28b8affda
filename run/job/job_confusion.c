/* Counts are whole numbers but for samples with weights: they are kept as doubles, which hold both.
 * Names of classes are those that the training left in model_dir. */
#include "run/job/job_confusion.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/tables/class_names.h"
#include "engine/base/arena.h"
#include "engine/base/text.h"

static cse_arena *arena_of(const cse_job *j)
{
    return j->settings->config != NULL ? cse_config_arena_view(j->settings->config) : NULL;
}

/* NULL where model_dir names none, or another number of them. */
static const char *const *class_names(const cse_job *j, cse_arena *arena, int classes)
{
    cse_class_names names = { .count = 0 };
    const char **copies = NULL;
    if (cse_class_names_find(NULL, j->result->checkpoint_path, j->session->configuration.model_dir,
                             &names) == CSE_OK &&
        names.count == classes) {
        copies = cse_arena_alloc(arena, (size_t)classes * sizeof *copies);
        for (int c = 0; c < classes; c++)
            copies[c] = cse_arena_string(arena, names.names[c]);
    }
    cse_class_names_clear(&names);
    return copies;
}

/* The slot of a series, whose memory is used again by the next validation. */
static cse_job_confusion *slot_of(cse_job_result *result, const char *name)
{
    for (int i = 0; i < result->confusion_count; i++)
        if (strcmp(result->confusions[i].name, name) == 0)
            return &result->confusions[i];
    return result->confusion_count < CSE_JOB_MAX_CONFUSIONS
               ? &result->confusions[result->confusion_count++]
               : NULL;
}

cse_status cse_job_take_confusion(cse_job *j, int index, const char *name)
{
    cse_metric *metric = j->metrics[index].metric;
    cse_arena *arena = arena_of(j);
    if (strcmp(metric->descriptor->name, "confusion_matrix") != 0 || arena == NULL)
        return CSE_OK;
    cse_job_confusion *to = slot_of(j->result, name);
    if (to == NULL)
        return CSE_OK;
    const int64_t cells = cse_shape_elements(metric->states[0]->shape);
    if (to->counts == NULL) {
        to->name = cse_arena_string(arena, name);
        to->classes = (int)metric->states[0]->shape.dims[0];
        to->names = class_names(j, arena, to->classes);
        to->counts = cse_arena_alloc(arena, (size_t)cells * sizeof *to->counts);
    }
    float *parts = cse_calloc((size_t)cells, sizeof *parts);
    const size_t bytes = (size_t)cells * sizeof *parts;
    to->step = cse_global_step();
    memset(to->counts, 0, (size_t)cells * sizeof *to->counts);
    cse_status status = CSE_OK;
    for (int s = 0; s < 2 && status == CSE_OK; s++) {
        status = cse_state_get(metric->states[s], parts, bytes);
        for (int64_t i = 0; i < cells; i++)
            to->counts[i] += (double)parts[i];
    }
    free(parts);
    return status;
}

static json_t *number(double count)
{
    return count == (double)(int64_t)count ? json_integer((json_int_t)count) : json_real(count);
}

static json_t *name_json(const char *name)
{
    char printable[1024];
    json_t *json = json_string(name);
    if (json != NULL)
        return json;
    cse_text_printable(name, printable, sizeof printable);
    return json_string(printable);
}

json_t *cse_job_confusion_json(const cse_job_confusion *c)
{
    json_t *rows = json_array(), *names = c->names != NULL ? json_array() : json_null();
    for (int row = 0; row < c->classes; row++) {
        json_t *list = json_array();
        for (int column = 0; column < c->classes; column++)
            json_array_append_new(list, number(c->counts[row * c->classes + column]));
        json_array_append_new(rows, list);
        if (c->names != NULL)
            json_array_append_new(names, name_json(c->names[row]));
    }
    return json_pack("{s:s, s:I, s:o, s:o}", "name", c->name, "step", (json_int_t)c->step,
                     "classes", names, "counts", rows);
}

void cse_job_record_confusions(const cse_job *j)
{
    const cse_job_result *result = j->result;
    if (j->recorder == NULL || result->confusion_count == 0)
        return;
    json_t *list = json_array();
    for (int i = 0; i < result->confusion_count; i++)
        json_array_append_new(list, cse_job_confusion_json(&result->confusions[i]));
    json_t *all = json_pack("{s:o}", "matrices", list);
    char *text = json_dumps(all, JSON_COMPACT);
    if (text != NULL)
        cse_recorder_artefact(j->recorder, "confusion.json", text);
    free(text);
    json_decref(all);
}
