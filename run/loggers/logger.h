/* The loggers that are built in; the contract of one is public, csengine/logger.h. */
#ifndef CSE_RUN_LOGGERS_LOGGER_H
#define CSE_RUN_LOGGERS_LOGGER_H

#include "csengine/logger.h"

extern const cse_logger_descriptor *const cse_loggers[];

#endif
