/* The loggers of a run: all that its configuration lists, fed alike.
 *
 * A logger that fails is closed with one warning; the training and the other loggers go on. */
#ifndef CSE_RUN_RECORD_LOGGER_SET_H
#define CSE_RUN_RECORD_LOGGER_SET_H

#include <stdint.h>

#include "engine/config/config.h"

typedef struct cse_logger_set cse_logger_set;

/* Of the plugins, whose settings live as long; opens nothing yet. */
cse_logger_set *cse_logger_set_new(const cse_config_plugin *plugins, int count);
/* Fails when one of them cannot be opened: that is found before any training. */
cse_status cse_logger_set_open(cse_logger_set *set, const char *model_dir);
/* All may be called with NULL and before open, without effect. */
void cse_logger_set_scalar(cse_logger_set *set, const char *name, int64_t step, double value);
void cse_logger_set_flush(cse_logger_set *set);
void cse_logger_set_destroy(cse_logger_set **set);

#endif
