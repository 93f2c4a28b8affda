/* The process outside is a supervisor whose body is one, too. */
#include "workers/control/contained.h"

#include <stddef.h>

#include "engine/base/log.h"
#include "engine/base/name_spaces.h"
#include "workers/control/supervisor.h"

typedef struct contained {
    const cse_confinement *confinement;
    const char *private_folder;
    int (*run)(void *self);
    void *self;
} contained;

static int report(cse_status status)
{
    cse_log_line(CSE_LOG_ERROR, "%s", cse_error_message());
    return cse_status_exit_code(status);
}

static int run_first(void *self)
{
    const contained *c = self;
    const cse_status status = cse_name_spaces_settle(c->confinement, c->private_folder);
    return status == CSE_OK ? c->run(c->self) : report(status);
}

int cse_contained_run(const cse_confinement *confinement, const char *private_folder,
                      int (*run)(void *self), void *self, int *killed_by)
{
    contained c = { confinement, private_folder, run, self };
    *killed_by = 0;
    if (!cse_name_spaces_are_there())
        return run(self);
    const cse_status status = cse_name_spaces_enter();
    if (status != CSE_OK)
        return report(status);
    return cse_supervisor_run(&(cse_supervised){
        .body = run_first, .self = &c, .contains = true, .killed_by = killed_by });
}
