/* Calls hooks one after another; the first that fails ends the round, and names its callback. */
#include "run/job/callback_set.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/config/settings.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/graph/trace/trace.h"
#include "run/job/callbacks.h"

typedef struct open_callback {
    const cse_callback_descriptor *descriptor;
    void *self;
} open_callback;

struct cse_callback_set {
    open_callback *callbacks;
    int count;
};

cse_status cse_callback_set_new(const cse_config_plugin *plugins, int count,
                                cse_callback_host *host, cse_callback_set **set)
{
    *set = NULL;
    if (count == 0)
        return CSE_OK;
    cse_callback_set *made = cse_calloc(1, sizeof *made);
    made->callbacks = cse_calloc((size_t)count, sizeof *made->callbacks);
    for (int i = 0; i < count; i++) {
        const cse_callback_descriptor *descriptor = plugins[i].descriptor;
        open_callback *c = &made->callbacks[made->count];
        c->descriptor = descriptor;
        cse_status status = descriptor->setup != NULL
                                ? descriptor->setup(plugins[i].settings, host, &c->self)
                                : CSE_OK;
        if (status != CSE_OK) {
            status = cse_fail_within(status, "%s: ", descriptor->name);
            cse_callback_set_destroy(&made);
            return status;
        }
        made->count++;
    }
    *set = made;
    return CSE_OK;
}

void cse_callback_set_destroy(cse_callback_set **set)
{
    if (*set == NULL)
        return;
    for (int i = 0; i < (*set)->count; i++)
        if ((*set)->callbacks[i].descriptor->finalize != NULL)
            (*set)->callbacks[i].descriptor->finalize((*set)->callbacks[i].self);
    free((*set)->callbacks);
    free(*set);
    *set = NULL;
}

bool cse_callback_set_sees_validations(const cse_callback_set *set)
{
    for (int i = 0; set != NULL && i < set->count; i++)
        if (set->callbacks[i].descriptor->on_validate_end != NULL)
            return true;
    return false;
}

/* Calls `hook` of each callback that has it; returns from the caller with the first failure. */
#define CALL(set, hook, ...)                                                                     \
    for (int i_ = 0; (set) != NULL && i_ < (set)->count; i_++) {                                 \
        const open_callback *c_ = &(set)->callbacks[i_];                                         \
        cse_status status_ =                                                                     \
            c_->descriptor->hook != NULL ? c_->descriptor->hook(c_->self, __VA_ARGS__) : CSE_OK; \
        if (status_ != CSE_OK)                                                                   \
            return cse_fail_within(status_, "callback %s: ", c_->descriptor->name);              \
    }

cse_status cse_callback_set_fit_start(cse_callback_set *set, int64_t step)
{
    CALL(set, on_fit_start, step)
    return CSE_OK;
}

cse_status cse_callback_set_fit_end(cse_callback_set *set, int64_t step, cse_status status)
{
    if (status == CSE_OK) {
        CALL(set, on_fit_end, step)
        return CSE_OK;
    }
    if (set == NULL)
        return status;
    cse_error *failure = cse_error_copy(cse_error_last()); /* a hook may fail, too */
    for (int i = 0; i < set->count; i++)
        if (set->callbacks[i].descriptor->on_fit_exception != NULL)
            set->callbacks[i].descriptor->on_fit_exception(set->callbacks[i].self, step,
                                                           failure->message);
    cse_fail_again(failure);
    free(failure);
    return status;
}

cse_status cse_callback_set_train(cse_callback_set *set, int64_t step, bool starts)
{
    if (starts) {
        CALL(set, on_train_start, step)
    } else {
        CALL(set, on_train_end, step)
    }
    return CSE_OK;
}

void cse_callback_set_trace(cse_callback_set *set, cse_step *step)
{
    if (set == NULL || step->gradients == NULL)
        return;
    cse_graph *graph = step->graph;
    const size_t count = (size_t)step->parameter_count;
    cse_tensor **values = cse_arena_alloc(graph->arena, count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = cse_graph_state_node(graph, cse_state_bind(graph, step->parameters[i]));
    const cse_callback_trace trace = { .step = step,
                                       .count = step->parameter_count,
                                       .states = step->parameters,
                                       .values = values,
                                       .gradients = step->gradients };
    for (int i = 0; i < set->count; i++) {
        const open_callback *c = &set->callbacks[i];
        if (c->descriptor->trace == NULL)
            continue;
        cse_scope_enter(step, c->descriptor->name);
        c->descriptor->trace(c->self, &trace);
        cse_scope_leave(step, c->descriptor->name);
    }
}

cse_status cse_callback_set_step(cse_callback_set *set, const cse_callback_step *step)
{
    CALL(set, on_train_step_end, step)
    return CSE_OK;
}

cse_status cse_callback_set_validation(cse_callback_set *set,
                                       const cse_callback_validation *validation, bool starts)
{
    if (starts) {
        CALL(set, on_validate_start, validation)
    } else {
        CALL(set, on_validate_end, validation)
    }
    return CSE_OK;
}

cse_status cse_callback_set_checkpoint(cse_callback_set *set, cse_checkpoint_moment moment,
                                       const cse_callback_checkpoint *checkpoint)
{
    switch (moment) {
    case CSE_BEFORE_SAVING:
        CALL(set, on_save_checkpoint, checkpoint)
        break;
    case CSE_AFTER_SAVING:
        CALL(set, on_after_save_checkpoint, checkpoint)
        break;
    case CSE_BEFORE_LOADING:
        CALL(set, on_before_load_checkpoint, checkpoint)
        break;
    }
    return CSE_OK;
}

/* ---- what a callback may ask of the run ---- */

const char *cse_callback_model_dir_view(const cse_callback_host *host)
{
    return host->model_dir;
}

cse_model *cse_callback_model_view(const cse_callback_host *host)
{
    return host->model;
}

static bool number_of(const cse_settings *settings, const char *name, int index, double *value)
{
    for (int i = 0; settings != NULL && i < settings->count; i++) {
        const cse_setting_value *found = &settings->values[i];
        if (strcmp(settings->table[i].name, name) != 0 || found->is_null)
            continue;
        switch (settings->table[i].type) {
        case CSE_SETTING_NUMBER:
            *value = cse_settings_number(settings, name);
            return index == 0;
        case CSE_SETTING_INTEGER:
            *value = (double)cse_settings_integer(settings, name);
            return index == 0;
        case CSE_SETTING_BOOL:
            *value = cse_settings_bool(settings, name);
            return index == 0;
        case CSE_SETTING_NUMBER_LIST:
            if (index >= cse_settings_count(settings, name))
                return false;
            *value = cse_settings_number_at(settings, name, index);
            return true;
        default:
            return false;
        }
    }
    return false;
}

bool cse_callback_optimizer_setting(const cse_callback_host *host, const char *name, int index,
                                    double *value)
{
    return number_of(host->optimizer, name, index, value);
}

int cse_callback_group_count(const cse_callback_host *host)
{
    return host->trained != NULL ? host->trained->group_count : 1;
}

const char *cse_callback_group_name_view(const cse_callback_host *host, int group)
{
    if (group < 0 || group >= cse_callback_group_count(host))
        return NULL;
    return host->trained != NULL ? host->trained->groups[group].name : "0";
}

bool cse_callback_group_setting(const cse_callback_host *host, int group, const char *name,
                                int index, double *value)
{
    if (group < 0 || group >= cse_callback_group_count(host))
        return false;
    return number_of(host->trained != NULL ? host->trained->groups[group].settings
                                           : host->optimizer,
                     name, index, value);
}

void cse_callback_log(cse_callback_host *host, const char *name, int64_t step, double value)
{
    host->log(host->self, name, step, value);
}

void cse_callback_tell(cse_callback_host *host, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    host->tell(host->self, line);
}

void cse_callback_stop(cse_callback_host *host, const char *reason)
{
    if (!host->stops)
        cse_callback_tell(host, "training ends: %s", reason);
    host->stops = true;
}

void cse_callback_keep_checkpoints(cse_callback_host *host, int64_t count)
{
    host->keep = count;
}

void cse_callback_load_only(cse_callback_host *host, const char *const *states)
{
    host->load_only = states;
}

cse_status cse_callback_save_only(cse_callback_host *host, const char *path,
                                  const char *const *states)
{
    return host->save_only(host->self, path, states);
}

void cse_callback_fetch(const cse_callback_trace *trace, const char *name, cse_tensor *value)
{
    if (!cse_trace_is_poison(value) && (value->batch || value->shape.rank != 0))
        cse_trace_fail(CSE_SHAPE, "cse_callback_fetch: %s must be a scalar of step level", name);
    else
        cse_step_fetch(trace->step, name, value);
}

bool cse_callback_value(const cse_callback_step *step, const char *name, double *value)
{
    const char *found;
    for (int i = 0; step->values != NULL && cse_values_named(step->values, &i, &found, value);)
        if (strcmp(found, name) == 0)
            return true;
    return false;
}
