/* Opens the loggers that the configuration lists, and passes each scalar to all of them. */
#include "run/record/logger_set.h"

#include <stdlib.h>
#include <time.h>

#include "engine/base/log.h"
#include "run/loggers/logger.h"

typedef struct open_logger {
    const cse_logger_descriptor *descriptor;
    const cse_settings *settings;
    void *logger; /* NULL while it is not open */
} open_logger;

struct cse_logger_set {
    open_logger *loggers;
    int count;
};

cse_logger_set *cse_logger_set_new(const cse_config_plugin *plugins, int count)
{
    cse_logger_set *set = cse_calloc(1, sizeof *set);
    set->loggers = cse_calloc((size_t)count + 1, sizeof *set->loggers);
    set->count = count;
    for (int i = 0; i < count; i++)
        set->loggers[i] =
            (open_logger){ .descriptor = plugins[i].descriptor, .settings = plugins[i].settings };
    return set;
}

cse_status cse_logger_set_open(cse_logger_set *set, const char *model_dir)
{
    for (int i = 0; set != NULL && i < set->count; i++) {
        open_logger *m = &set->loggers[i];
        cse_status status = m->descriptor->open(m->settings, model_dir, &m->logger);
        if (status != CSE_OK)
            return cse_fail_within(status, "%s: ", m->descriptor->name);
    }
    return CSE_OK;
}

static void close_logger(open_logger *m)
{
    if (m->logger != NULL)
        m->descriptor->close(m->logger);
    m->logger = NULL;
}

static void give_up(open_logger *m)
{
    cse_log_line(CSE_LOG_WARNING, "%s: %s; the run goes on without it", m->descriptor->name,
                 cse_error_message());
    close_logger(m);
}

void cse_logger_set_go_on(cse_logger_set *set, int64_t step)
{
    for (int i = 0; set != NULL && i < set->count; i++) {
        open_logger *m = &set->loggers[i];
        if (m->logger != NULL && m->descriptor->go_on != NULL &&
            m->descriptor->go_on(m->logger, step) != CSE_OK)
            give_up(m);
    }
}

void cse_logger_set_scalar(cse_logger_set *set, const char *name, int64_t step, double value)
{
    if (set == NULL || set->count == 0)
        return;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    cse_logged_scalar scalar = { .name = name, .step = step, .value = value };
    scalar.time_s = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    for (int i = 0; i < set->count; i++) {
        open_logger *m = &set->loggers[i];
        if (m->logger != NULL && m->descriptor->scalar(m->logger, &scalar) != CSE_OK)
            give_up(m);
    }
}

void cse_logger_set_flush(cse_logger_set *set)
{
    for (int i = 0; set != NULL && i < set->count; i++) {
        open_logger *m = &set->loggers[i];
        if (m->logger != NULL && m->descriptor->flush(m->logger) != CSE_OK)
            give_up(m);
    }
}

void cse_logger_set_destroy(cse_logger_set **set)
{
    for (int i = 0; *set != NULL && i < (*set)->count; i++)
        close_logger(&(*set)->loggers[i]);
    if (*set != NULL)
        free((*set)->loggers);
    free(*set);
    *set = NULL;
}
