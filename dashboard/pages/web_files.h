/* The pages of the dashboard as embedded in the program: written by scripts/build_web.sh, or an
 * empty table where no pages were built. */
#ifndef CSE_DASHBOARD_PAGES_WEB_FILES_H
#define CSE_DASHBOARD_PAGES_WEB_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/text.h"

typedef struct cse_web_file {
    const char *path;         /* "/index.html"; NULL ends the table */
    const char *content_type; /* with its charset */
    const char *etag;         /* with its quotes */
    bool immutable;           /* the name holds the content's hash */
    const char *gzip;
    size_t gzip_bytes;
} cse_web_file;

extern const cse_web_file cse_web_files[] __attribute__((weak));

/* Adds the file's content to `text`; false where it is damaged. */
bool cse_web_file_unpack(const cse_web_file *file, cse_text *text);

#endif
