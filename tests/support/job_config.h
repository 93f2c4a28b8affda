/* A job's settings from a configuration's text, for tests of whole jobs. */
#ifndef CSE_TESTS_SUPPORT_JOB_CONFIG_H
#define CSE_TESTS_SUPPORT_JOB_CONFIG_H

#include "run/job/job.h"

typedef struct job_config {
    cse_arena *arena;
    cse_config *config;
    cse_job_settings settings;
} job_config;

/* Checks `yaml` with overrides {"loop.num_steps", "4"}, ended by a NULL path (the list may be NULL),
 * for a training; a mistake fails the test. Release with job_config_clear. */
void job_config_read(const char *yaml, const char *const (*overrides)[2], job_config *job);
void job_config_clear(job_config *job);

#endif
