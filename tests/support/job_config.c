/* A job's settings from a configuration's text, for tests of whole jobs. */
#include "tests/support/job_config.h"

#include <check.h>

#include "run/job/job_settings.h"
#include "run/job/kinds.h"

void job_config_read(const char *yaml, const char *const (*overrides)[2], job_config *job)
{
    cse_config_override list[16];
    int count = 0;
    for (; overrides != NULL && overrides[count][0] != NULL; count++)
        list[count] =
            (cse_config_override){ overrides[count][0], overrides[count][1], "--set", false };
    const cse_config_text text = { .source = "test.yaml",
                                   .yaml = yaml,
                                   .overrides = list,
                                   .override_count = count,
                                   .kinds = cse_kinds };
    *job = (job_config){ .arena = cse_arena_new() };
    ck_assert_msg(cse_config_check(&text, NULL, &job->config) == CSE_OK, "%s", cse_error_message());
    ck_assert_msg(cse_job_settings_read(job->config, CSE_JOB_TRAIN, job->arena, &job->settings) ==
                      CSE_OK,
                  "%s", cse_error_message());
}

void job_config_clear(job_config *job)
{
    cse_config_destroy(&job->config);
    cse_arena_destroy(&job->arena);
}
