/* The table of dataloader_table.h. */
#include "engine/base/config/dataloader_table.h"

#include <string.h>

const cse_setting cse_dataloader_settings[] = {
    { "data_processor", CSE_SETTING_TEXT, NULL, 0, 0, NULL, "name of the input function", NULL },
    { "library", CSE_SETTING_PATH, "null", 0, 0, NULL,
      "shared object that holds the input function; null: it is built in", NULL },
    { "batch_size", CSE_SETTING_INTEGER, NULL, 1, 1e15, NULL, "samples of the global batch", NULL },
    { "micro_batch_size", CSE_SETTING_INTEGER, "null", 1, 1e15, NULL,
      "samples of one microbatch, divides batch_size; null: batch_size", NULL },
    { "shuffle", CSE_SETTING_BOOL, "false", 0, 0, NULL, "shuffle the samples anew in each epoch",
      NULL },
    { "shuffle_seed", CSE_SETTING_INTEGER, "null", 0, 0, NULL,
      "seed of the shuffling; null: the run's seed", NULL },
    { "sampling", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "draw samples with replacement: balanced, {class_weights: [1, 2.5]} or {sample_weights: FILE "
      "of a number a line}; null: each sample once in an epoch",
      NULL },
    { "mixing", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "{mixup_alpha: 0.2, cutmix_alpha: 1.0, ...}: training samples and their labels are mixed "
      "with others",
      NULL },
    { "drop_last", CSE_SETTING_BOOL, "null", 0, 0, NULL,
      "leave out the samples of an epoch that do not fill a batch; false: they are a smaller "
      "batch; null: true in training, false in an evaluation",
      NULL },
    { "skip_samples", CSE_SETTING_INTEGER, "0", 0, 1e15, NULL,
      "samples of the stream before those of the first step, over all epochs", NULL },
    { "without", CSE_SETTING_INTEGER_LIST, "null", 0, 1e15, NULL,
      "numbers of samples, from 0, that no batch has: those that would have one are smaller, and "
      "the order of all others stays",
      NULL },
    /* Hints of cluster_table.h. */
    { "num_workers", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "no effect: num_workers_per_csx says how many processes read data", NULL },
    { "prefetch_factor", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "no effect: input workers read ahead as far as the ring has room", NULL },
    { "persistent_workers", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "no effect: input workers live as long as the run", NULL },
    { "use_worker_cache", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "no effect: the kernel keeps files in memory", NULL },
    { "shuffle_buffer", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "no effect: all samples of an epoch are shuffled, whatever memory there is", NULL },
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

cse_status cse_dataloader_common_check(cse_arena *arena, const cse_yaml_node *node,
                                       cse_diagnostics *diagnostics, cse_settings **settings)
{
    static const cse_setting none[] = { { 0 } };
    cse_yaml_node *common = cse_yaml_mapping_new(arena, node->place);
    for (int i = 0; node->kind == CSE_YAML_MAPPING && i < node->count; i++)
        if (cse_setting_table_has(cse_dataloader_settings, node->keys[i].text))
            cse_yaml_put(arena, common, node->keys[i], node->children[i]);
    return cse_dataloader_settings_check(arena, none, common, diagnostics, settings);
}
