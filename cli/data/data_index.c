/* Writes where the members of tar archives stand, next to each archive. */
#include "cli/data/data_index.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "dataloader/files/tar_index.h"

typedef struct indexing {
    FILE *file;
    int64_t members;
} indexing;

static cse_status write_member(void *self, const cse_tar_member *member)
{
    indexing *i = self;
    if (strchr(member->name, '\n') != NULL)
        return cse_fail(CSE_DATA, "a name of the archive has a line end in it");
    fprintf(i->file, "%" PRId64 " %" PRId64 " %s\n", member->offset, member->bytes, member->name);
    i->members++;
    return CSE_OK;
}

static cse_status write_index(const char *path, const char *to, int64_t *members)
{
    int file;
    indexing i = { .file = fopen(to, "we") };
    if (i.file == NULL)
        return cse_fail(CSE_CANNOT_CREATE, "%s: %s", to, strerror(errno));
    cse_file_pool *pool = cse_file_pool_new(NULL, NULL);
    cse_status status = cse_file_pool_add(pool, path, &file);
    if (status == CSE_OK)
        status = cse_tar_scan(pool, file, write_member, &i);
    cse_file_pool_destroy(&pool);
    const bool failed = ferror(i.file) != 0;
    if ((fclose(i.file) != 0 || failed) && status == CSE_OK)
        status = cse_fail(CSE_IO, "%s: writing failed: %s", to, strerror(errno));
    *members = i.members;
    return status;
}

/* It takes its name when it is whole. */
static cse_status index_one(const char *path)
{
    char to[4096], partial[4096 + 16];
    int64_t members = 0;
    if (snprintf(to, sizeof to, "%s.idx", path) >= (int)sizeof to)
        return cse_fail(CSE_USAGE, "data index: the path of '%.80s' is too long", path);
    snprintf(partial, sizeof partial, "%s.partial", to);
    cse_status status = write_index(path, partial, &members);
    if (status == CSE_OK && rename(partial, to) != 0)
        status = cse_fail(CSE_CANNOT_CREATE, "%s: %s", to, strerror(errno));
    if (status != CSE_OK)
        remove(partial);
    else
        cse_print("%s: %" PRId64 " files\n", to, members);
    return status;
}

int cse_data_index(const cse_command_line *line)
{
    for (int i = 1; i < line->argument_count; i++) {
        cse_status status = index_one(line->arguments[i]);
        if (status != CSE_OK)
            return cse_report(status);
    }
    return 0;
}
