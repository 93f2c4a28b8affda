/* The loggers of a run: all that its configuration lists get the same scalars.
 *
 * A logger that fails is closed with one warning; the training and the other loggers go on. */
#ifndef CSE_RUN_RECORD_LOGGER_SET_H
#define CSE_RUN_RECORD_LOGGER_SET_H

#include <stdint.h>

#include "engine/base/config/config.h"

typedef struct cse_logger_set cse_logger_set;

/* Makes the set without opening the loggers. The plugins' settings must outlive it. */
cse_logger_set *cse_logger_set_new(const cse_config_plugin *plugins, int count);
/* Fails when one of them cannot be opened. Called before training starts. */
cse_status cse_logger_set_open(cse_logger_set *set, const char *model_dir);
/* The run goes on after `step`, in a folder where it was started before. */
void cse_logger_set_go_on(cse_logger_set *set, int64_t step);
/* With NULL, or before open, these do nothing. */
void cse_logger_set_scalar(cse_logger_set *set, const char *name, int64_t step, double value);
void cse_logger_set_flush(cse_logger_set *set);
void cse_logger_set_destroy(cse_logger_set **set);

#endif
