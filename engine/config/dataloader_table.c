/* The table of dataloader_table.h. */
#include "engine/config/dataloader_table.h"

#include <string.h>

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

static size_t length_of(const cse_setting *table)
{
    size_t length = 0;
    while (table[length].name != NULL)
        length++;
    return length;
}

cse_status cse_dataloader_settings_check(cse_arena *arena, const cse_setting *own,
                                         cse_yaml_node *node, cse_diagnostics *diagnostics,
                                         cse_settings **settings)
{
    size_t common_length = length_of(cse_dataloader_settings), own_length = length_of(own);
    cse_setting *table = cse_arena_alloc(arena, (common_length + own_length + 1) * sizeof *table);
    memcpy(table, cse_dataloader_settings, common_length * sizeof *table);
    memcpy(table + common_length, own, own_length * sizeof *table);
    return cse_settings_check(arena,
                              &(cse_settings_expected){ .table = table,
                                                        .subject = "data loader",
                                                        .diagnostics = diagnostics },
                              node, settings);
}
