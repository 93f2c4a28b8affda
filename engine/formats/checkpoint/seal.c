/* Appending and verifying the seal of seal.h. */
#include "engine/formats/checkpoint/seal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/arena.h"
#include "engine/formats/checkpoint/file_bytes.h"
#include "engine/formats/checkpoint/seal_line.h"
#include "engine/formats/checkpoint/seal_rest.h"

#define SEAL_MARK "csengine-seal 3 "
#define SEAL_MARK_WITHOUT_FACTS "csengine-seal 2 "
#define SEAL_MARK_OF_ALL "csengine-seal 1 " /* its digest covers the elements too */
enum {
    MARK_BYTES = sizeof SEAL_MARK - 1,
    LAST_LINE_BYTES = MARK_BYTES + 16 + 1 + CSE_DIGEST_DIGITS + 1,
    MANIFEST_LIMIT_BYTES = 1 << 28,
};

static bool digest_of_file_start(int descriptor, uint64_t bytes, char digits[65])
{
    crypto_generichash_state state;
    cse_digest_begin(&state);
    bool whole = cse_hash_file_range(&state, descriptor, 0, bytes);
    cse_digest_end(&state, digits);
    return whole;
}

void cse_seal_describe(cse_text *manifest, const cse_checkpoint_tensor *tensor, uint64_t offset,
                       const char *digest)
{
    char shape[CSE_SHAPE_TEXT_BYTES];
    cse_text_add(manifest, "tensor %" PRIu64 " %" PRIu64 " %s %s %s %s\n", offset,
                 cse_checkpoint_tensor_bytes(tensor), digest, cse_dtype_name(tensor->dtype),
                 cse_shape_text(tensor->shape, shape, sizeof shape), tensor->name);
}

static cse_status append(int descriptor, const char *data, size_t size, uint64_t *end,
                         const char *path)
{
    if (cse_write_at(descriptor, data, size, *end) != 0)
        return cse_fail(CSE_IO, "%s: cannot be written: %s", path, strerror(errno));
    *end += size;
    return CSE_OK;
}

cse_status cse_seal_append(int descriptor, const cse_text *manifest, const char *path)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        return cse_fail(CSE_IO, "%s: cannot be examined: %s", path, strerror(errno));
    uint64_t end = (uint64_t)status.st_size;
    if (manifest->size > 0)
        CSE_TRY(append(descriptor, manifest->data, manifest->size, &end, path));
    char line[LAST_LINE_BYTES + 1], digits[CSE_DIGEST_DIGITS + 1];
    snprintf(line, sizeof line, "%s%016zx ", SEAL_MARK, manifest->size);
    CSE_TRY(append(descriptor, line, strlen(line), &end, path));
    char *lines = manifest->size > 0 ? cse_strdup(manifest->data) : cse_calloc(1, 1);
    cse_sealed_part part = { .lines = lines, .begin = (uint64_t)status.st_size, .end = end };
    cse_status digested = cse_seal_rest_digest(descriptor, path, part, digits);
    free(lines);
    CSE_TRY(digested);
    snprintf(line, sizeof line, "%s\n", digits);
    return append(descriptor, line, strlen(line), &end, path);
}

bool cse_seal_is_at_end(int descriptor, uint64_t bytes)
{
    static const char mark[] = "csengine-seal ";
    char last[sizeof mark - 1];
    return bytes >= LAST_LINE_BYTES &&
           cse_read_at(descriptor, last, sizeof last, bytes - LAST_LINE_BYTES) ==
               (int64_t)sizeof last &&
           memcmp(last, mark, sizeof last) == 0;
}

/* Checks the elements that a line of the manifest describes against its digest. What cannot be read
 * counts as damaged. */
static cse_status check_line(int descriptor, const char *path, char *text, uint64_t limit)
{
    cse_seal_line line;
    crypto_generichash_state state;
    if (!cse_seal_line_read(text, limit, &line))
        return cse_fail(CSE_DATA, "%s: damaged in the list of its tensors; use another checkpoint",
                        path);
    cse_seal_hash_begin_tensor(&state, &line);
    if (!cse_hash_file_range(&state, descriptor, line.offset, line.bytes))
        memset(line.digest, 0, sizeof line.digest);
    return cse_seal_hash_check_tensor(&state, &line, path);
}

/* Called when the whole file's digest is wrong: fails with the part that is damaged. */
static cse_status name_damage(int descriptor, const char *path)
{
    char *text = NULL, *line;
    uint64_t begin = 0;
    cse_status status = CSE_OK;
    if (cse_seal_read(descriptor, path, &text, &begin) == CSE_OK)
        for (char *rest = text;
             status == CSE_OK && (line = strsep(&rest, "\n")) != NULL && *line != '\0';)
            status = check_line(descriptor, path, line, begin);
    free(text);
    if (status != CSE_OK)
        return status;
    return cse_fail(CSE_DATA,
                    "%s: damaged outside the tensors' elements (names, shapes or facts about the "
                    "run); use another checkpoint",
                    path);
}

/* Reads the last line, and the manifest's size from it. */
static cse_status read_last_line(int descriptor, const char *path, char line[LAST_LINE_BYTES + 1],
                                 uint64_t *size, uint64_t *manifest)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        return cse_fail(CSE_IO, "%s: cannot be examined: %s", path, strerror(errno));
    *size = (uint64_t)status.st_size;
    char *end = NULL;
    memset(line, 0, LAST_LINE_BYTES + 1);
    if (*size >= LAST_LINE_BYTES &&
        cse_read_at(descriptor, line, LAST_LINE_BYTES, *size - LAST_LINE_BYTES) == LAST_LINE_BYTES)
        *manifest = strtoull(line + MARK_BYTES, &end, 16);
    bool marked = memcmp(line, SEAL_MARK, MARK_BYTES) == 0 ||
                  memcmp(line, SEAL_MARK_WITHOUT_FACTS, MARK_BYTES) == 0 ||
                  memcmp(line, SEAL_MARK_OF_ALL, MARK_BYTES) == 0;
    if (!marked || end != line + MARK_BYTES + 16 || line[LAST_LINE_BYTES - 1] != '\n')
        return cse_fail(CSE_DATA,
                        "%s: not a whole checkpoint: the seal at its end is missing, so it was cut "
                        "short or changed by another program; use another checkpoint",
                        path);
    return CSE_OK;
}

/* The digest that the last line should hold. */
static cse_status digest_sealed(int descriptor, const char *path, const char *line, uint64_t end,
                                char digits[CSE_DIGEST_DIGITS + 1])
{
    if (memcmp(line, SEAL_MARK_OF_ALL, MARK_BYTES) == 0) {
        if (digest_of_file_start(descriptor, end, digits))
            return CSE_OK;
        return cse_fail(CSE_IO, "%s: cannot be read: %s", path, strerror(errno));
    }
    cse_sealed_part part = { .end = end };
    CSE_TRY(cse_seal_read(descriptor, path, &part.lines, &part.begin));
    cse_status status = cse_seal_rest_digest(descriptor, path, part, digits);
    free(part.lines);
    return status;
}

cse_status cse_seal_verify_rest(int descriptor, const char *path)
{
    char line[LAST_LINE_BYTES + 1], digits[CSE_DIGEST_DIGITS + 1];
    uint64_t size = 0, manifest = 0;
    CSE_TRY(read_last_line(descriptor, path, line, &size, &manifest));
    CSE_TRY(digest_sealed(descriptor, path, line, size - CSE_DIGEST_DIGITS - 1, digits));
    if (memcmp(digits, line + LAST_LINE_BYTES - CSE_DIGEST_DIGITS - 1, CSE_DIGEST_DIGITS) != 0)
        return name_damage(descriptor, path);
    return CSE_OK;
}

cse_status cse_seal_read(int descriptor, const char *path, char **lines, uint64_t *begin)
{
    char line[LAST_LINE_BYTES + 1];
    uint64_t size = 0, manifest = 0;
    *lines = NULL;
    CSE_TRY(read_last_line(descriptor, path, line, &size, &manifest));
    uint64_t limit = size - LAST_LINE_BYTES;
    if (manifest > limit || manifest > MANIFEST_LIMIT_BYTES)
        return cse_fail(CSE_DATA, "%s: damaged in its seal; use another checkpoint", path);
    *begin = limit - manifest;
    *lines = cse_calloc(1, (size_t)manifest + 1);
    bool read = cse_read_at(descriptor, *lines, (size_t)manifest, *begin) == (int64_t)manifest;
    if (read && strlen(*lines) == manifest)
        return CSE_OK;
    free(*lines);
    *lines = NULL;
    if (read)
        return cse_fail(CSE_DATA, "%s: damaged in its seal; use another checkpoint", path);
    return cse_fail(CSE_IO, "%s: cannot be read: %s", path, strerror(errno));
}
