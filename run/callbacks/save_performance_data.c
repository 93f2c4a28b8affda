/* SavePerformanceData: writes MODEL_DIR/performance.json when the training ends, with the
 * ModelZoo's keys: samples, seconds and rates of this start of the run. flops_utilization is null:
 * it has no one meaning on processors whose clock depends on the instructions. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/file_status.h"
#include "run/callbacks/rates.h"

typedef struct performance {
    cse_callback_host *host;
    cse_rates rates;
} performance;

static cse_status setup(const cse_settings *settings, cse_callback_host *host, void **self)
{
    (void)settings;
    performance *p = cse_calloc(1, sizeof *p);
    p->host = host;
    *self = p;
    return CSE_OK;
}

static cse_status on_train_step_end(void *self, const cse_callback_step *step)
{
    performance *p = self;
    cse_rates_update(&p->rates, step);
    return CSE_OK;
}

static cse_status write_file(const performance *p, const char *path)
{
    const cse_rates *r = &p->rates;
    char next[PATH_MAX + 8];
    snprintf(next, sizeof next, "%s.new", path);
    FILE *file = fopen(next, "w");
    if (file == NULL)
        return cse_fail(cse_status_of_writing(errno), "%s: %s", next, strerror(errno));
    fprintf(file,
            "{\"total_samples\": %.17g, \"total_time\": %.17g, \"rate\": %.17g, "
            "\"global_rate\": %.17g, \"samples_per_sec\": %.17g, \"flops_utilization\": null}\n",
            r->total_samples, r->seconds, r->rate, r->global_rate, r->global_rate);
    const bool failed = ferror(file) != 0;
    if (fclose(file) == 0 && !failed && rename(next, path) == 0)
        return CSE_OK;
    const int reason = errno;
    remove(next);
    return cse_fail(CSE_IO, "%s: %s", path, strerror(reason));
}

/* What a run measures is worth less than what it has trained: a full disk does not fail it. */
static cse_status on_fit_end(void *self, int64_t step)
{
    performance *p = self;
    char path[PATH_MAX];
    (void)step;
    snprintf(path, sizeof path, "%s/performance.json", cse_callback_model_dir_view(p->host));
    if (p->rates.step > 0 && write_file(p, path) != CSE_OK)
        cse_callback_tell(p->host, "%s", cse_error_message());
    return CSE_OK;
}

static const cse_setting settings[] = { { .name = NULL } };

const cse_callback_descriptor cse_callback_save_performance_data = {
    .name = "SavePerformanceData",
    .summary = "writes samples, seconds and rates to MODEL_DIR/performance.json",
    .settings = settings,
    .setup = setup,
    .finalize = free,
    .on_train_step_end = on_train_step_end,
    .on_fit_end = on_fit_end,
};
