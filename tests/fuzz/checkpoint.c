/* A checkpoint whose seal fits it, as an attacker would write it: the input's tensor lines and its
 * last line get the right digests before it is read. It is either refused with a message, or read
 * twice with the same tensors. */
#include <string.h>

#include "engine/base/text.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "engine/formats/checkpoint/digest.h"
#include "engine/formats/checkpoint/seal.h"
#include "engine/formats/checkpoint/seal_line.h"
#include "tests/fuzz/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char mark[] = "csengine-seal 3 ";

/* The bytes before the lines of the seal; their number and the lines follow from the last line. */
static size_t body_of(const uint8_t *data, size_t size, cse_text *lines)
{
    const size_t last = strlen(mark) + 16 + 1 + CSE_DIGEST_DIGITS + 1;
    char digits[17] = "";
    if (size < last || memcmp(data + size - last, mark, strlen(mark)) != 0)
        return size;
    memcpy(digits, data + size - last + strlen(mark), 16);
    const uint64_t bytes = strtoull(digits, NULL, 16);
    if (bytes > size - last)
        return size;
    cse_text_add_bytes(lines, (const char *)data + size - last - bytes, bytes);
    return size - last - bytes;
}

static void add_line(const char *text, const uint8_t *data, size_t size, cse_text *manifest)
{
    char *copy = strdup(text), digits[CSE_DIGEST_DIGITS + 1];
    cse_seal_line line;
    if (cse_seal_line_read(copy, size, &line)) {
        crypto_generichash_state hash;
        cse_seal_hash_begin_tensor(&hash, &line);
        crypto_generichash_update(&hash, data + line.offset, line.bytes);
        cse_digest_end(&hash, digits);
        cse_text_add(manifest, "tensor %llu %llu %s %s %s %s\n", (unsigned long long)line.offset,
                     (unsigned long long)line.bytes, digits, line.dtype, line.shape, line.name);
    } else {
        cse_text_add(manifest, "%s\n", text);
    }
    free(copy);
}

static int sealed_file(const uint8_t *data, size_t size, char path[MEMORY_PATH_BYTES])
{
    cse_text lines = { 0 }, manifest = { 0 };
    const size_t body = body_of(data, size, &lines);
    char *rest = lines.data, *line;
    while (rest != NULL && (line = strsep(&rest, "\n")) != NULL && *line != '\0')
        add_line(line, data, body, &manifest);
    if (rest != NULL)
        cse_text_add(&manifest, "\n%s", rest);
    int file = memory_file(data, body, path);
    (void)cse_seal_append(file, &manifest, path); /* it refuses lines that no seal has */
    cse_text_clear(&lines);
    cse_text_clear(&manifest);
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[MEMORY_PATH_BYTES], first[CSE_DIGEST_DIGITS + 1], second[CSE_DIGEST_DIGITS + 1];
    cse_checkpoint *checkpoint = NULL;
    if (sodium_init() < 0)
        abort();
    int file = sealed_file(data, size, path);
    if (cse_checkpoint_load(path, &checkpoint) == CSE_OK) {
        cse_checkpoint_digest(checkpoint, NULL, first);
        cse_checkpoint_destroy(&checkpoint);
        if (cse_checkpoint_load(path, &checkpoint) != CSE_OK)
            abort();
        cse_checkpoint_digest(checkpoint, NULL, second);
        if (strcmp(first, second) != 0)
            abort();
        cse_checkpoint_destroy(&checkpoint);
    } else if (*cse_error_message() == '\0') {
        abort();
    }
    close(file);
    return 0;
}
