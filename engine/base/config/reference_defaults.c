/* The rules of reference_defaults.h. */
#include "engine/base/config/reference_defaults.h"

#include <string.h>

static bool is_word(const cse_yaml_node *node, const char *word)
{
    return node != NULL && node->kind == CSE_YAML_SCALAR && !node->quoted &&
           strcmp(node->text, word) == 0;
}

static void put_default(cse_arena *arena, cse_yaml_node *section, const char *key,
                        const char *value)
{
    cse_yaml_put(arena, section, (cse_yaml_key){ key, section->place },
                 cse_yaml_scalar_new(arena, section->place, value));
}

/* ---- models ---- */

#define DECODERS "|gpt3|mistral|mixtral|falcon|gptj|bloom|btlm|jais|santacoder|starcoder|gemma2|"

static const struct {
    const char *models; /* each between bars */
    const char *key, *alias, *value;
} model_defaults[] = {
    { DECODERS, "filter_size", NULL, "3072" },
    { DECODERS, "attention_dropout_rate", NULL, "0.1" },
    { "|falcon|gptj|", "embedding_dropout_rate", "embd_pdrop", "0.1" },
    { "|falcon|gptj|", "use_ffn_bias", NULL, "false" },
    { "|bert|esm2|", "embedding_dropout_rate", NULL, "0.1" },
};

/* Names of settings that the reference does not have: who writes one of them means this program's
 * defaults. */
static const char *const own_names[] = { "num_layers", "activation", "dropout",
                                         "residual_dropout_rate" };

static bool is_among(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != NULL; at++)
        if (at[-1] == '|' && at[length] == '|')
            return true;
    return false;
}

static void take_model_defaults(cse_arena *arena, cse_yaml_node *model)
{
    const cse_yaml_node *name = cse_yaml_find(model, "name");
    if (name == NULL || name->kind != CSE_YAML_SCALAR || *name->text == '\0')
        return;
    for (size_t i = 0; i < sizeof own_names / sizeof own_names[0]; i++)
        if (cse_yaml_find(model, own_names[i]) != NULL)
            return;
    for (size_t i = 0; i < sizeof model_defaults / sizeof model_defaults[0]; i++) {
        const char *const alias = model_defaults[i].alias;
        if (is_among(model_defaults[i].models, name->text) &&
            cse_yaml_find(model, model_defaults[i].key) == NULL &&
            (alias == NULL || cse_yaml_find(model, alias) == NULL))
            put_default(arena, model, model_defaults[i].key, model_defaults[i].value);
    }
}

/* ---- data ---- */

/* Processors of the reference that shuffle unless they are told not to. */
#define SHUFFLING                                                                 \
    "|BertCSVDynamicMaskDataProcessor|T5DynamicDataProcessor|ImageNet1KProcessor" \
    "|MNISTDataProcessor|SST2DataProcessor|MNLIDataProcessor|"

static void take_loader_defaults(cse_arena *arena, cse_yaml_node *loader)
{
    const cse_yaml_node *name = cse_yaml_find(loader, "data_processor");
    if (loader == NULL)
        return;
    if (loader->kind == CSE_YAML_SEQUENCE)
        for (int i = 0; i < loader->count; i++)
            take_loader_defaults(arena, loader->children[i]);
    if (name == NULL || name->kind != CSE_YAML_SCALAR || *name->text == '\0' ||
        cse_yaml_find(loader, "shuffle") != NULL || !is_among(SHUFFLING, name->text))
        return;
    /* Only the training's pictures of ImageNet are shuffled. */
    if (strcmp(name->text, "ImageNet1KProcessor") != 0 ||
        !is_word(cse_yaml_find(loader, "split"), "val"))
        put_default(arena, loader, "shuffle", "true");
}

/* ---- all ---- */

void cse_config_take_defaults(cse_arena *arena, const cse_yaml_node *trainer)
{
    const cse_yaml_node *init = cse_yaml_find(trainer, "init");
    const cse_yaml_node *fit = cse_yaml_find(trainer, "fit");
    take_model_defaults(arena, cse_yaml_find(init, "model"));
    take_loader_defaults(arena, cse_yaml_find(fit, "train_dataloader"));
    take_loader_defaults(arena, cse_yaml_find(fit, "val_dataloader"));
}
