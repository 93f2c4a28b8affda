/* The enumerations of the engine that the API's description lists: each is read from the engine's
 * own table. */
#include <string.h>

#include "dashboard/api/schema.h"
#include "dashboard/data/feed_types.h"
#include "dashboard/queue/job_health.h"
#include "dashboard/queue/jobs_commands.h"
#include "engine/base/log.h"

static const char *run_state(int index)
{
    return index < CSE_RUN_STATE_COUNT ? cse_run_state_name((cse_run_state)index) : NULL;
}

static const char *run_phase(int index)
{
    return index < CSE_RUN_PHASE_COUNT ? cse_run_phase_name((cse_run_phase)index) : NULL;
}

static const char *run_reason(int index)
{
    return index < CSE_RUN_REASON_COUNT ? cse_run_reason_name((cse_run_reason)index) : NULL;
}

static const char *log_level(int index)
{
    return index <= CSE_LOG_ERROR ? cse_log_level_name((cse_log_level)index) : NULL;
}

static const char *job_command(int index)
{
    return cse_job_commands[index];
}

static const char *health(int index)
{
    return cse_health_kinds[index];
}

/* Those that a client can select: gap events go to every stream. */
static const char *event(int index)
{
    const char *name = cse_feed_type_name(1u << index);
    return *name != '\0' && strcmp(name, "gap") != 0 ? name : NULL;
}

cse_word_list *cse_word_list_find(const char *name, size_t length)
{
    static const struct {
        const char *name;
        cse_word_list *list;
    } lists[] = {
        { "run_state", run_state }, { "run_phase", run_phase },     { "run_reason", run_reason },
        { "log_level", log_level }, { "job_command", job_command }, { "event", event },
        { "health", health }
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (strlen(lists[i].name) == length && strncmp(lists[i].name, name, length) == 0)
            return lists[i].list;
    return NULL;
}
