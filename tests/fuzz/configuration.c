/* A configuration as text is either refused with a message, or its canonical text is a
 * configuration with the same settings. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/config/config.h"
#include "engine/base/config/settings.h"
#include "engine/base/text.h"
#include "run/job/kinds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_table(cse_arena *arena, const cse_setting *table, cse_yaml_node *tree)
{
    cse_settings *settings = NULL;
    const cse_settings_expected expected = { .table = table, .subject = "fuzzed" };
    if (cse_settings_check(arena, &expected, tree, &settings) != CSE_OK &&
        *cse_error_message() == '\0')
        abort();
}

/* Most plugins have a name or two of this table. The tree survives its way to a worker. */
static void read_plugin(const cse_config_plugin *plugin)
{
    static const cse_setting table[] = {
        { "lr", CSE_SETTING_NUMBER, "0.1", .doc = "a number" },
        { "batch_size", CSE_SETTING_INTEGER, "1", .doc = "an integer" },
        { "betas", CSE_SETTING_NUMBER_LIST, "[0.9, 0.999]", .doc = "numbers" },
        { "name", CSE_SETTING_TEXT, "null", .doc = "a text" },
        { NULL },
    };
    cse_arena *arena = cse_arena_new();
    cse_text json = { 0 };
    cse_yaml_node *again = NULL;
    read_table(arena, table, plugin->tree);
    cse_yaml_encode(plugin->tree, &json);
    if (cse_yaml_decode(arena, json.data, json.size, &again) != CSE_OK)
        abort();
    cse_text_clear(&json);
    cse_arena_destroy(&arena);
}

static void read_plugins(const cse_config *config)
{
    static const char *const sections[] = { "model",
                                            "optimizer",
                                            "schedulers",
                                            "callbacks",
                                            "loggers",
                                            "train_dataloader",
                                            "val_dataloader",
                                            "validate.val_dataloader",
                                            "validate_all.val_dataloaders" };
    cse_yaml_unread *unread = NULL;
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
        for (int k = 0; k < cse_config_plugin_count(config, sections[i]); k++)
            read_plugin(cse_config_plugin_view(config, sections[i], k));
    (void)cse_config_unread(config, &unread);
}

static cse_status parse(const char *source, const char *yaml, const cse_kind *kinds,
                        cse_config **config)
{
    const cse_config_text text = { .source = source, .yaml = yaml, .kinds = kinds };
    return cse_config_check(&text, NULL, config);
}

static void read_again(const cse_config *config)
{
    cse_config *again = NULL;
    cse_text yaml = { 0 }, origins = { 0 };
    const char *canonical = cse_config_canonical(config);
    if (parse("canonical", canonical, NULL, &again) != CSE_OK ||
        strcmp(cse_config_canonical(again), canonical) != 0)
        abort();
    cse_config_destroy(&again);
    cse_config_resolved(config, &yaml, &origins);
    if (parse("resolved", yaml.data, NULL, &again) != CSE_OK)
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
    if (parse("fuzzed.yaml", text, cse_kinds, &config) == CSE_OK)
        cse_config_destroy(&config);
    if (parse("fuzzed.yaml", text, NULL, &config) == CSE_OK) {
        read_plugins(config);
        read_again(config);
    } else if (*cse_error_message() == '\0') {
        abort();
    }
    cse_config_destroy(&config);
    free(text);
    return 0;
}
