/* A configuration as text: it is refused with a message, or what is made of it is itself a
 * configuration, of the same settings. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"
#include "engine/config/config.h"
#include "engine/config/precision_settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_table(const cse_setting *table, const char *yaml)
{
    cse_settings *settings = NULL;
    if (cse_settings_parse(table, "fuzzed", yaml, &settings) == CSE_OK)
        cse_settings_destroy(&settings);
    else if (*cse_error_message() == '\0')
        abort();
}

/* Most members have a name or two of this table. */
static void read_member(const cse_config_member *member)
{
    static const cse_setting table[] = {
        { "lr", CSE_SETTING_NUMBER, "0.1", .doc = "a number" },
        { "batch_size", CSE_SETTING_INTEGER, "1", .doc = "an integer" },
        { "betas", CSE_SETTING_NUMBER_LIST, "[0.9, 0.999]", .doc = "numbers" },
        { "name", CSE_SETTING_TEXT, "null", .doc = "a text" },
        { NULL },
    };
    read_table(table, member->yaml);
}

/* Members' settings are checked by their own tables, from text that is read once more. */
static void read_members(const cse_config *config)
{
    static const char *const sections[] = { "model",   "optimizer",        "schedulers",
                                            "loggers", "train_dataloader", "val_dataloader" };
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
        for (int k = 0; k < cse_config_member_count(config, sections[i]); k++)
            read_member(cse_config_member_view(config, sections[i], k));
    (void)cse_config_check_members(config, NULL);
    read_table(cse_precision_setting_table, cse_config_precision_view(config));
    read_table(cse_numerics_setting_table, cse_config_numerics_view(config));
}

static void read_again(const cse_config *config)
{
    cse_config *again = NULL;
    cse_text yaml = { 0 }, origins = { 0 };
    const char *canonical = cse_config_canonical(config);
    if (cse_config_parse("canonical", canonical, NULL, 0, &again) != CSE_OK ||
        strcmp(cse_config_canonical(again), canonical) != 0)
        abort();
    cse_config_destroy(&again);
    cse_config_resolved(config, &yaml, &origins);
    if (cse_config_parse("resolved", yaml.data, NULL, 0, &again) != CSE_OK)
        abort();
    cse_config_destroy(&again);
    cse_text_clear(&yaml);
    cse_text_clear(&origins);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = cse_calloc(1, size + 1);
    cse_config *config = NULL;
    memcpy(text, data, size);
    if (cse_config_parse("fuzzed.yaml", text, NULL, 0, &config) == CSE_OK) {
        read_members(config);
        read_again(config);
    } else if (*cse_error_message() == '\0') {
        abort();
    }
    cse_config_destroy(&config);
    free(text);
    return 0;
}
