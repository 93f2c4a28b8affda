/* The input function's name is looked up first, since it decides what else the section may hold. */
#include "dataloader/section.h"

#include <inttypes.h>
#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/registry.h"
#include "engine/base/text.h"

const cse_setting cse_dataloader_settings[] = {
    { .name = "data_processor", .type = CSE_SETTING_TEXT, .doc = "name of the input function" },
    { .name = "batch_size",
      .type = CSE_SETTING_INTEGER,
      .min = 1,
      .max = 1e15,
      .doc = "samples of the global batch" },
    { .name = "micro_batch_size",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = 1,
      .max = 1e15,
      .doc = "samples of one microbatch, divides batch_size; null: batch_size" },
    { .name = "shuffle",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "another order of the samples in each epoch" },
    { .name = "shuffle_seed",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .doc = "chooses the orders; null: the run's seed" },
    { .name = "drop_last",
      .type = CSE_SETTING_BOOL,
      .default_value = "true",
      .doc = "leave out the remainder of an epoch that fills no batch" },
    { 0 },
};

/* The section's data_processor, which the caller frees; NULL where there is none. `readable`: the text
 * is YAML at all. */
static char *peek_name(const char *yaml, bool *readable)
{
    const struct fy_parse_cfg quiet = { .flags = FYPCF_QUIET };
    struct fy_document *document = fy_document_build_from_string(&quiet, yaml, strlen(yaml));
    char *name = NULL;
    *readable = document != NULL;
    if (document == NULL)
        return NULL;
    struct fy_node *root = fy_document_root(document);
    if (root != NULL && fy_node_is_mapping(root)) {
        struct fy_node *value = fy_node_mapping_lookup_by_string(root, "data_processor", FY_NT);
        const char *text = value == NULL ? NULL : fy_node_get_scalar0(value);
        name = text == NULL || text[0] == '\0' ? NULL : cse_strdup(text);
    }
    fy_document_destroy(document);
    return name;
}

static cse_status missing_name(void)
{
    cse_text names = { 0 };
    for (int i = 0; cse_inputs[i] != NULL; i++)
        cse_text_add(&names, "%s%s", i == 0 ? "" : ", ", cse_inputs[i]->name);
    cse_status status = cse_fail(CSE_CONFIG,
                                 "data loader: data_processor is missing: give the name of an "
                                 "input function: %s",
                                 names.data);
    cse_text_clear(&names);
    return status;
}

static cse_status find_input(const char *yaml, const cse_input_descriptor **descriptor)
{
    bool readable;
    const void *member = NULL;
    char *name = peek_name(yaml, &readable);
    cse_status status;
    if (name != NULL) {
        status = cse_registry_get(cse_inputs, "input function", name, &member);
        *descriptor = member;
        free(name);
        return status;
    }
    if (!readable) {
        /* The reader of settings says best what is wrong with the text, and where. */
        cse_settings *settings = NULL;
        status = cse_settings_parse(cse_dataloader_settings, "data loader", yaml, &settings);
        cse_settings_destroy(&settings);
        if (status != CSE_OK)
            return status;
    }
    return missing_name();
}

static int table_length(const cse_setting *table)
{
    int length = 0;
    while (table[length].name != NULL)
        length++;
    return length;
}

static cse_setting *joined_table(const cse_setting *own)
{
    int common_length = table_length(cse_dataloader_settings), own_length = table_length(own);
    cse_setting *table = cse_calloc((size_t)(common_length + own_length + 1), sizeof *table);
    memcpy(table, cse_dataloader_settings, (size_t)common_length * sizeof *table);
    memcpy(table + common_length, own, (size_t)own_length * sizeof *table);
    return table;
}

/* The divisors of `whole` on both sides of `size`, or the trivial one where none is near. */
enum { NEAR = 1000000 };

static int64_t divisor_below(int64_t whole, int64_t size)
{
    for (int64_t candidate = size - 1; candidate > 1 && candidate > size - NEAR; candidate--)
        if (whole % candidate == 0)
            return candidate;
    return 1;
}

static int64_t divisor_above(int64_t whole, int64_t size)
{
    for (int64_t candidate = size + 1; candidate < whole && candidate < size + NEAR; candidate++)
        if (whole % candidate == 0)
            return candidate;
    return whole;
}

static void read_batching(cse_dataloader_section *section, uint64_t default_seed)
{
    const cse_settings *settings = section->settings;
    cse_batching *batching = &section->batching;
    *batching = (cse_batching){
        .batch_size = cse_settings_integer(settings, "batch_size"),
        .shuffle = cse_settings_bool(settings, "shuffle"),
        .shuffle_seed = default_seed,
        .drop_last = cse_settings_bool(settings, "drop_last"),
    };
    batching->micro_batch_size = batching->batch_size;
    if (cse_settings_has(settings, "micro_batch_size"))
        batching->micro_batch_size = cse_settings_integer(settings, "micro_batch_size");
    if (cse_settings_has(settings, "shuffle_seed"))
        batching->shuffle_seed = (uint64_t)cse_settings_integer(settings, "shuffle_seed");
}

cse_status cse_dataloader_section_parse(const char *yaml, uint64_t default_seed,
                                        cse_dataloader_section *section)
{
    *section = (cse_dataloader_section){ 0 };
    yaml = yaml == NULL ? "" : yaml;
    CSE_TRY(find_input(yaml, &section->descriptor));
    section->table = joined_table(section->descriptor->settings);
    cse_status status = cse_settings_parse(section->table, "data loader", yaml, &section->settings);
    if (status != CSE_OK) {
        section->settings = NULL;
        cse_dataloader_section_clear(section);
        return status;
    }
    read_batching(section, default_seed);
    const cse_batching *batching = &section->batching;
    if (batching->batch_size % batching->micro_batch_size != 0) {
        status = cse_fail(
            CSE_CONFIG,
            "%s: data loader: micro_batch_size %" PRId64 " does not divide batch_size %" PRId64
            ": accepted are its divisors, such as %" PRId64 " and %" PRId64,
            cse_settings_origin(section->settings, "micro_batch_size"), batching->micro_batch_size,
            batching->batch_size, divisor_below(batching->batch_size, batching->micro_batch_size),
            divisor_above(batching->batch_size, batching->micro_batch_size));
        cse_dataloader_section_clear(section);
    }
    return status;
}

void cse_dataloader_section_clear(cse_dataloader_section *section)
{
    if (section->settings != NULL)
        cse_settings_destroy(&section->settings);
    free(section->table);
    *section = (cse_dataloader_section){ 0 };
}

cse_status cse_dataloader_section_check_samples(const cse_dataloader_section *section,
                                                int64_t sample_count)
{
    int64_t batch_size = section->batching.batch_size;
    const char *origin = cse_settings_origin(section->settings, "batch_size");
    if (batch_size > sample_count)
        return cse_fail(CSE_CONFIG,
                        "%s: data loader: batch_size %" PRId64 " is larger than the data, which "
                        "has %" PRId64 " samples: accepted are 1 to %" PRId64,
                        origin, batch_size, sample_count, sample_count);
    if (!section->batching.drop_last && sample_count % batch_size != 0)
        return cse_fail(CSE_CONFIG,
                        "%s: data loader: batch_size %" PRId64 " leaves %" PRId64 " of %" PRId64
                        " samples over, and a batch has one size: set drop_last: true, or a "
                        "batch_size that divides, such as %" PRId64 " and %" PRId64,
                        origin, batch_size, sample_count % batch_size, sample_count,
                        divisor_below(sample_count, batch_size),
                        divisor_above(sample_count, batch_size));
    return CSE_OK;
}
