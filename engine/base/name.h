/* Names that people give: to layers, modules, parameters, metrics, groups, streams of data. They
 * reach generated code, checkpoints, tables, pages and terminals, so that they are checked once,
 * where they are read, and are the same text everywhere. */
#ifndef CSE_BASE_NAME_H
#define CSE_BASE_NAME_H

#include <stdbool.h>

#include "csengine/status.h"

enum { CSE_LONGEST_NAME = 128, CSE_LONGEST_PATH = 255 };

/* The macros end sentences: "accepted: " CSE_NAME_ACCEPTED. */
#define CSE_NAME_ACCEPTED                                                                       \
    "1 to 128 letters (a-z, A-Z), digits, '_', '-' and '.', of which the first is none of '-' " \
    "and '.'"
#define CSE_PATH_NAME_ACCEPTED                                                                  \
    "1 to 255 letters (a-z, A-Z), digits, '_', '-' and '.', of which the first is none of '-' " \
    "and '.'"
#define CSE_SERIES_NAME_ACCEPTED \
    "1 to 255 letters (a-z, A-Z), digits, '_', '-', '.' and '/' between names"

/* Of one thing; false for NULL. */
bool cse_name_is_good(const char *name);
/* Of a thing in others, dotted: "model.layers.0.weight". */
bool cse_name_is_path(const char *name);
/* Of a series of numbers or a scope: names with '/' between them, "validate_0/loss". Such a name is
 * no name of a tensor, since a checkpoint cannot hold it. */
bool cse_name_is_series(const char *name);

/* The same as errors: "a layer's name \"a/b\" is not accepted; accepted: ...". */
cse_status cse_name_check_path(const char *what, const char *name);
cse_status cse_name_check_series(const char *what, const char *name);

#endif
