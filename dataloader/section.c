/* The input function's name decides what else the section may hold, so the text is checked
 * twice: first against the settings of all input functions, to find the name, then against those
 * of the one. */
#include "dataloader/section.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/registry.h"
#include "engine/config/dataloader_table.h"

static const char subject[] = "data loader";

static int table_length(const cse_setting *table)
{
    int length = 0;
    while (table[length].name != NULL)
        length++;
    return length;
}

static bool table_has(const cse_setting *table, int length, const char *name)
{
    for (int i = 0; i < length; i++)
        if (strcmp(table[i].name, name) == 0)
            return true;
    return false;
}

/* The common settings and, of any form, those of every input function: enough to read the name. */
static cse_setting *table_of_all_inputs(void)
{
    int length = table_length(cse_dataloader_settings), capacity = length + 1;
    for (int i = 0; cse_inputs[i] != NULL; i++)
        capacity += table_length(cse_inputs[i]->settings);
    cse_setting *table = cse_calloc((size_t)capacity, sizeof *table);
    for (int i = 0; i < length; i++) {
        table[i] = cse_dataloader_settings[i];
        if (strcmp(table[i].name, "data_processor") != 0)
            table[i].type = CSE_SETTING_ANY, table[i].default_value = "null";
    }
    for (int i = 0; cse_inputs[i] != NULL; i++)
        for (const cse_setting *own = cse_inputs[i]->settings; own->name != NULL; own++)
            if (!table_has(table, length, own->name))
                table[length++] = (cse_setting){ .name = own->name,
                                                 .type = CSE_SETTING_ANY,
                                                 .default_value = "null",
                                                 .doc = own->doc };
    return table;
}

static cse_status find_input(const char *yaml, const cse_input_descriptor **descriptor)
{
    const void *member = NULL;
    cse_settings *settings = NULL;
    cse_setting *table = table_of_all_inputs();
    cse_status status = cse_settings_parse(table, subject, yaml, &settings);
    if (status == CSE_OK) {
        status = cse_registry_get(cse_inputs, "input function",
                                  cse_settings_text(settings, "data_processor"), &member);
        if (status != CSE_OK)
            cse_fail_within(status, "%s: %s: data_processor: ", subject,
                            cse_settings_origin(settings, "data_processor"));
        cse_settings_destroy(&settings);
    }
    free(table);
    *descriptor = member;
    return status;
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
    section->table = cse_dataloader_table_new(section->descriptor->settings);
    cse_status status = cse_settings_parse(section->table, subject, yaml, &section->settings);
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
            "data loader: %s: micro_batch_size %" PRId64 " does not divide batch_size %" PRId64
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
                        "data loader: %s: batch_size %" PRId64 " is larger than the data, which "
                        "has %" PRId64 " samples: accepted are 1 to %" PRId64,
                        origin, batch_size, sample_count, sample_count);
    if (!section->batching.drop_last && sample_count % batch_size != 0)
        return cse_fail(CSE_CONFIG,
                        "data loader: %s: batch_size %" PRId64 " leaves %" PRId64 " of %" PRId64
                        " samples over, and a batch has one size: set drop_last: true, or a "
                        "batch_size that divides, such as %" PRId64 " and %" PRId64,
                        origin, batch_size, sample_count % batch_size, sample_count,
                        divisor_below(sample_count, batch_size),
                        divisor_above(sample_count, batch_size));
    return CSE_OK;
}
