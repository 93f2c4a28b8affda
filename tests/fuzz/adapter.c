/* A folder of PEFT from a stranger: adapter_config.json, the header of adapter_model.safetensors,
 * and csengine_base.json. It is refused with a message, or it can be added to weights that it fits,
 * all of which can be read then, and its settings are a section of a configuration.
 *
 * An input is the three texts with a 0 between; the elements of the factors are zeros. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/config/adapter_settings.h"
#include "engine/formats/weights/in_memory.h"
#include "engine/formats/weights/peft/merged.h"
#include "engine/formats/weights/peft/settings.h"
#include "tests/fuzz/read_weights.h"

enum { PARTS = 3, MOST_ELEMENT_BYTES = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char directory[64];
static const char *const names[] = { "adapter_config.json", "adapter_model.safetensors",
                                     "csengine_base.json" };

static void remove_directory(void)
{
    char path[128];
    for (int i = 0; i < PARTS; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        unlink(path);
    }
    rmdir(directory);
}

static void put(int part, const uint8_t *text, size_t size)
{
    static const char zeros[MOST_ELEMENT_BYTES];
    char path[128];
    uint64_t length = size;
    const bool header = part == 1;
    snprintf(path, sizeof path, "%s/%s", directory, names[part]);
    unlink(path);
    if (size == 0)
        return;
    FILE *file = fopen(path, "wb");
    uint64_t end = 0, number = 0; /* the largest number is the end of the last factor */
    for (size_t i = 0; i < size && header; i++) {
        number = text[i] >= '0' && text[i] <= '9' && number < MOST_ELEMENT_BYTES
                     ? 10 * number + (uint64_t)(text[i] - '0')
                     : 0;
        end = number > end && number <= MOST_ELEMENT_BYTES ? number : end;
    }
    if (file == NULL || (header && fwrite(&length, 1, sizeof length, file) != sizeof length) ||
        fwrite(text, 1, size, file) != size || fwrite(zeros, 1, end, file) != end)
        abort();
    fclose(file);
}

/* What the adapters of the corpus are beside. */
static cse_weights *base(void)
{
    static const struct {
        const char *name;
        int64_t rows, columns;
    } rows[] = {
        { "model.embed_tokens.weight", 12, 8 },
        { "model.layers.0.self_attn.q_proj.weight", 8, 8 },
        { "model.layers.0.mlp.down_proj.weight", 8, 12 },
        { "lm_head.weight", 12, 8 },
    };
    cse_weights *weights = cse_in_memory_new("base");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        float *values = NULL;
        if (cse_in_memory_add(weights, rows[i].name, cse_shape_of(rows[i].rows, rows[i].columns),
                              &values) != CSE_OK)
            abort();
        for (int64_t e = 0; e < rows[i].rows * rows[i].columns; e++)
            values[e] = (float)(e % 7) - 3;
    }
    return weights;
}

static void must_be_told(cse_status status)
{
    if (status != CSE_OK && *cse_error_message() == '\0')
        abort();
}

static void add(bool linear)
{
    const char *const paths[] = { directory, directory };
    const double factors[] = { 0.5, -2 };
    const cse_weights_adapters adapters = {
        .paths = paths, .weights = factors, .count = linear ? 2 : 1, .is_linear = linear
    };
    cse_weights *weights = base();
    cse_peft_set set;
    cse_status status = cse_peft_set_open(&adapters, &set);
    if (status == CSE_OK)
        status = cse_peft_merge(&weights, NULL, &set);
    must_be_told(status);
    if (status == CSE_OK)
        read_weights(weights, true);
    cse_peft_set_close(&set);
    cse_weights_close(&weights);
}

/* As the section of a configuration. */
static void resolve(void)
{
    char text[128];
    cse_arena *arena = cse_arena_new();
    cse_yaml_node *tree = NULL, *resolved = NULL;
    cse_adapter_settings *settings = NULL;
    snprintf(text, sizeof text, "{a: {path: %s}}", directory);
    if (cse_yaml_parse(arena, "section", text, strlen(text), &tree) != CSE_OK)
        abort();
    cse_status status = cse_peft_resolve(arena, tree, &resolved);
    if (status == CSE_OK)
        status = cse_adapter_settings_read(arena, resolved, &settings);
    must_be_told(status);
    cse_arena_destroy(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (directory[0] == '\0') {
        snprintf(directory, sizeof directory, "/dev/shm/cse_fuzz_XXXXXX");
        if (mkdtemp(directory) == NULL || atexit(remove_directory) != 0)
            abort();
    }
    for (int i = 0; i < PARTS; i++) {
        const uint8_t *end = i + 1 < PARTS && size > 0 ? memchr(data, 0, size) : NULL;
        const size_t bytes = end != NULL ? (size_t)(end - data) : size;
        put(i, data, bytes);
        data += bytes + (end != NULL);
        size -= bytes + (end != NULL);
    }
    add(false);
    add(true);
    resolve();
    return 0;
}
