/* A configuration that is validated by a process of its own, as `csengine start --validate_only`
 * does it: what one file does to it does nothing to the next. */
#ifndef CSE_CLI_RUNS_VALIDATED_FILE_H
#define CSE_CLI_RUNS_VALIDATED_FILE_H

#include <jansson.h>

#include "csengine/status.h"

typedef struct cse_validated_file {
    bool passes;
    double seconds;
    json_t *missing; /* a list of {line, column, message}, without places where there are none */
} cse_validated_file;

/* `model_dir` is not written to. Ends after `most_seconds`, which is a failure of the file. The
 * caller releases `missing`. */
cse_status cse_validate_file(const char *path, const char *model_dir, int most_seconds,
                             cse_validated_file *result);

#endif
