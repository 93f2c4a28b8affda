/* Written by autogen.sh: the plugins of run/loggers. */
#include <stddef.h>

#include "run/loggers/logger.h"

extern const cse_logger_descriptor cse_logger_csv;
extern const cse_logger_descriptor cse_logger_tensorboard;

const cse_logger_descriptor *const cse_loggers[] = {
    &cse_logger_csv,
    &cse_logger_tensorboard,
    NULL,
};
