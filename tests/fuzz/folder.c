/* A folder of Hugging Face from a stranger: config.json, an index (or none) and the header of a
 * file of safetensors, which name families, settings, shards and tensors. It is refused with a
 * message, or all that it says is there can be read, also under our names, and its settings are a
 * section of a configuration.
 *
 * An input is the three texts with a 0 between; the elements of the tensors are zeros. */
#include <string.h>
#include <sys/stat.h>

#include "engine/base/arena.h"
#include "engine/formats/weights/map.h"
#include "engine/formats/weights/open.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/read_weights.h"

enum { PARTS = 3, MOST_ELEMENT_BYTES = 1 << 22 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char directory[64];

static void remove_directory(void)
{
    static const char *const names[] = { "config.json", "model.safetensors",
                                         "model.safetensors.index.json" };
    char path[128];
    for (int i = 0; i < PARTS; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        unlink(path);
    }
    rmdir(directory);
}

/* An empty text is no file; `header`: of safetensors, between its length and its elements. */
static void put(const char *name, const uint8_t *text, size_t size, bool header)
{
    char path[128];
    uint64_t length = size;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    unlink(path);
    if (size == 0)
        return;
    FILE *file = fopen(path, "wb");
    if (file == NULL || (header && fwrite(&length, 1, sizeof length, file) != sizeof length) ||
        fwrite(text, 1, size, file) != size || fflush(file) != 0)
        abort();
    if (header) {
        /* The largest number of the header is the end of the last tensor. */
        uint64_t end = 0, number = 0;
        for (size_t i = 0; i < size; i++) {
            number = text[i] >= '0' && text[i] <= '9' && number < MOST_ELEMENT_BYTES
                         ? 10 * number + (uint64_t)(text[i] - '0')
                         : 0;
            end = number > end && number <= MOST_ELEMENT_BYTES ? number : end;
        }
        if (ftruncate(fileno(file), (off_t)(sizeof length + size + end)) != 0)
            abort();
    }
    fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *part[PARTS];
    size_t bytes[PARTS];
    cse_weights *weights = NULL;
    for (int i = 0; i < PARTS; i++) {
        const uint8_t *end = i + 1 < PARTS && size > 0 ? memchr(data, 0, size) : NULL;
        part[i] = data;
        bytes[i] = end != NULL ? (size_t)(end - data) : size;
        const size_t taken = bytes[i] + (end != NULL);
        data += taken;
        size -= taken;
    }
    if (directory[0] == '\0') {
        snprintf(directory, sizeof directory, "/dev/shm/cse_fuzz_XXXXXX");
        if (mkdtemp(directory) == NULL || atexit(remove_directory) != 0)
            abort();
    }
    put("config.json", part[0], bytes[0], false);
    put("model.safetensors.index.json", part[1], bytes[1], false);
    put("model.safetensors", part[2], bytes[2], true);
    if (cse_weights_open(directory, NULL, &weights) == CSE_OK)
        read_weights(weights, true);
    else if (*cse_error_message() == '\0')
        abort();
    cse_weights_close(&weights);
    if (cse_weights_open_ours(directory, NULL, &weights) == CSE_OK) {
        const char *model = NULL;
        cse_yaml_node *settings = NULL;
        read_weights(weights, true);
        if (weights->config != NULL &&
            cse_map_model_section(weights->arena, weights->config, &model, &settings) != CSE_OK)
            abort();
    } else if (*cse_error_message() == '\0') {
        abort();
    }
    cse_weights_close(&weights);
    return 0;
}
