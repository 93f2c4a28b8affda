/* The bytes of a logger's own samples can be read after flush, and opening it again in the same
 * folder keeps them. */
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/directory.h"
#include "run/contracts/contract.h"

enum { MOST_BYTES = 1 << 16 };

/* As csengine/logger.h lists them. */
static const cse_logged_scalar scalars[] = {
    { "loss", 1, 1700000000.25, 0.5 },
    { "val \"accuracy\", %", 300, 1700000001.5, 0.1 },
    { "lr/0", 70000, 1700000002.75, INFINITY },
};

typedef struct open_logger {
    const cse_logger_descriptor *descriptor;
    cse_settings *settings;
    void *logger;
    bool is_open;
} open_logger;

static cse_status open_sample(const cse_contract *contract, const cse_logger_descriptor *d,
                              const cse_logger_sample *sample, open_logger *opened)
{
    char text[1024];
    *opened = (open_logger){ .descriptor = d };
    cse_contract_text(contract, sample->settings, text, sizeof text);
    CSE_TRY(cse_settings_parse(d->settings, d->name, text, &opened->settings));
    CSE_TRY(d->open(opened->settings, contract->folder, &opened->logger));
    opened->is_open = true;
    return CSE_OK;
}

static void close_sample(open_logger *opened)
{
    if (opened->is_open)
        opened->descriptor->close(opened->logger);
    cse_settings_destroy(&opened->settings);
}

static cse_status write_all(const open_logger *opened)
{
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++)
        CSE_TRY(opened->descriptor->scalar(opened->logger, &scalars[i]));
    return opened->descriptor->flush(opened->logger);
}

static cse_status find_file(const cse_contract *contract, const cse_logger_sample *sample,
                            char path[512])
{
    char pattern[512];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/%s", contract->folder, sample->file);
    const bool one = glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1;
    if (one)
        snprintf(path, 512, "%s", found.gl_pathv[0]);
    globfree(&found);
    return one ? CSE_OK
               : cse_fail(CSE_DATA, "%s: one file is expected to match after flush", pattern);
}

static size_t read_file(const char *path, char bytes[MOST_BYTES])
{
    FILE *file = fopen(path, "rbe");
    size_t size = file != NULL ? fread(bytes, 1, MOST_BYTES, file) : 0;
    if (file != NULL)
        fclose(file);
    return size;
}

static cse_status compare(const cse_logger_sample *sample, const char *bytes, size_t size)
{
    const size_t expected = sample->size > 0 ? sample->size : strlen(sample->bytes);
    if (size != sample->skipped_bytes + expected)
        return cse_fail(CSE_DATA, "the file has %zu bytes, expected %zu (%s)", size,
                        sample->skipped_bytes + expected, sample->source);
    for (size_t i = 0; i < expected; i++)
        if (bytes[sample->skipped_bytes + i] != sample->bytes[i])
            return cse_fail(CSE_DATA, "byte %zu of the file differs (%s)",
                            sample->skipped_bytes + i, sample->source);
    return CSE_OK;
}

static cse_status meet_in_folder(const cse_contract *contract, const cse_logger_descriptor *d,
                                 const cse_logger_sample *sample, char *bytes)
{
    char path[512];
    open_logger opened;
    char *later = bytes + MOST_BYTES;
    if (sample->source == NULL || sample->file == NULL || sample->bytes == NULL)
        return cse_fail(CSE_DATA, "the sample needs source, file and bytes");
    cse_status status = open_sample(contract, d, sample, &opened);
    if (status == CSE_OK)
        status = write_all(&opened);
    if (d->later)
        close_sample(&opened);
    if (status == CSE_OK)
        status = find_file(contract, sample, path);
    size_t size = status == CSE_OK ? read_file(path, bytes) : 0;
    if (status == CSE_OK)
        status = compare(sample, bytes, size);
    if (!d->later)
        close_sample(&opened);
    CSE_TRY(status);
    status = open_sample(contract, d, sample, &opened);
    if (status == CSE_OK)
        status = d->scalar(opened.logger, &scalars[0]);
    close_sample(&opened);
    CSE_TRY(status);
    return read_file(path, later) >= size && memcmp(bytes, later, size) == 0
               ? CSE_OK
               : cse_fail(CSE_DATA, "opening it again changed what the file held");
}

/* Each sample has an empty folder. */
static cse_status meet(const cse_contract *contract, const cse_logger_descriptor *d,
                       const cse_logger_sample *sample)
{
    char folder[512];
    cse_contract own = *contract;
    char *bytes = cse_malloc(2 * (size_t)MOST_BYTES);
    snprintf(folder, sizeof folder, "%s/logger_XXXXXX", contract->folder);
    own.folder = mkdtemp(folder);
    cse_status status = own.folder != NULL ? meet_in_folder(&own, d, sample, bytes)
                                           : cse_fail(CSE_CANNOT_CREATE, "%s", folder);
    if (own.folder != NULL)
        cse_remove_tree(folder);
    free(bytes);
    return status;
}

static cse_status refuse(const cse_contract *contract, const cse_logger_descriptor *d,
                         const cse_logger_sample *sample)
{
    open_logger opened;
    cse_status status =
        cse_contract_refused(open_sample(contract, d, sample, &opened), sample->refusal);
    close_sample(&opened);
    return status;
}

static cse_status check_descriptor(const cse_logger_descriptor *d, const cse_logger_sample *samples)
{
    bool values = false;
    if (d->summary == NULL || d->summary[0] == '\0')
        return cse_fail(CSE_DATA, "it has no summary");
    CSE_TRY(cse_contract_settings(d->settings, d->name));
    for (const cse_logger_sample *s = samples; s != NULL && s->settings != NULL; s++)
        values = values || s->refusal == NULL;
    return values ? CSE_OK : cse_fail(CSE_DATA, "it has no sample with bytes");
}

void cse_contract_of_logger(cse_contract *contract, const void *descriptor)
{
    const cse_logger_descriptor *d = descriptor;
    const cse_logger_sample *samples = cse_contract_samples(contract, d, d->samples);
    cse_contract_tell(contract, check_descriptor(d, samples), "is complete");
    for (const cse_logger_sample *s = samples; s != NULL && s->settings != NULL; s++)
        if (s->refusal != NULL)
            cse_contract_tell(contract, refuse(contract, d, s), "refuses %s", s->settings);
        else
            cse_contract_tell(contract, meet(contract, d, s), "writes the bytes of %s",
                              s->settings);
}
