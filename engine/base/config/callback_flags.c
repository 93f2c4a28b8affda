/* A scoped flag replaces the global one; a setting that is given in its own place must agree. */
#include "engine/base/config/callback_flags.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/config/settings.h"

static const char level[] = "csx.precision.optimization_level";
static const char micro_batch_size[] = "csx.performance.micro_batch_size";

/* The value of a flag in the callback of this name; NULL: it is not given, or null. */
static cse_yaml_node *flag_of(const cse_yaml_node *init, const char *callback, const char *flag)
{
    const cse_yaml_node *list = cse_yaml_find(init, "callbacks");
    const bool is_list = list != NULL && list->kind == CSE_YAML_SEQUENCE;
    for (int i = 0; list != NULL && i < (is_list ? list->count : 1); i++) {
        cse_yaml_node *value =
            cse_yaml_find(cse_yaml_find(is_list ? list->children[i] : list, callback), flag);
        if (value != NULL && !cse_yaml_is_null(value))
            return value;
    }
    return NULL;
}

static cse_yaml_node *flag_in(const cse_yaml_node *init, const char *scope, const char *flag)
{
    cse_yaml_node *value = flag_of(init, scope, flag);
    return value != NULL ? value : flag_of(init, "GlobalFlags", flag);
}

static cse_status put(cse_arena *arena, cse_yaml_node *section, const char *name,
                      cse_yaml_node *flag)
{
    const cse_yaml_node *own = cse_yaml_find(section, name);
    if (own != NULL && !cse_yaml_is_null(own)) {
        if (own->kind == CSE_YAML_SCALAR && strcmp(own->text, flag->text) == 0)
            return CSE_OK;
        return cse_fail_at(CSE_ERROR_AT("configuration: ", flag->place),
                           "this flag of a callback is %s, and %s (at %s) is another; give one of "
                           "them",
                           flag->text, name, cse_yaml_place_text(arena, own->place));
    }
    cse_yaml_put(arena, section, (cse_yaml_key){ name, flag->place }, flag);
    return CSE_OK;
}

/* The size of a microbatch in one data loader, or in each of a list. The words of the reference
 * (auto, explore) leave it as it is. */
static cse_status put_micro_batch_size(cse_arena *arena, cse_yaml_node *loaders,
                                       cse_yaml_node *flag)
{
    if (loaders == NULL || flag == NULL || flag->kind != CSE_YAML_SCALAR ||
        flag->text[strspn(flag->text, "0123456789")] != '\0')
        return CSE_OK;
    if (loaders->kind == CSE_YAML_MAPPING)
        return put(arena, loaders, "micro_batch_size", flag);
    for (int i = 0; loaders->kind == CSE_YAML_SEQUENCE && i < loaders->count; i++)
        if (loaders->children[i]->kind == CSE_YAML_MAPPING)
            CSE_TRY(put(arena, loaders->children[i], "micro_batch_size", flag));
    return CSE_OK;
}

/* The callback SkipSamples is a setting of the data that training reads. */
static cse_status put_skipped(cse_arena *arena, cse_yaml_node *loader, const cse_yaml_node *init)
{
    cse_yaml_node *n = flag_of(init, "SkipSamples", "n");
    if (n == NULL || loader == NULL || loader->kind != CSE_YAML_MAPPING)
        return CSE_OK;
    return put(arena, loader, "skip_samples", n);
}

cse_status cse_config_apply_callback_flags(cse_arena *arena, const cse_yaml_node *root)
{
    const cse_yaml_node *trainer = cse_yaml_find(root, "trainer");
    const cse_yaml_node *init = cse_yaml_find(trainer, "init"),
                        *fit = cse_yaml_find(trainer, "fit");
    cse_yaml_node *precision = cse_yaml_find(init, "precision");
    cse_yaml_node *flag = flag_in(init, "ScopedTrainFlags", level);
    /* In float32 there is nothing that a level could permit. */
    if (flag != NULL && flag->kind == CSE_YAML_SCALAR && precision != NULL &&
        cse_yaml_find(precision, "fp16_type") != NULL)
        CSE_TRY(put(arena, precision, "precision_opt_level", flag));
    CSE_TRY(put_micro_batch_size(arena, cse_yaml_find(fit, "train_dataloader"),
                                 flag_in(init, "ScopedTrainFlags", micro_batch_size)));
    CSE_TRY(put_skipped(arena, cse_yaml_find(fit, "train_dataloader"), init));
    return put_micro_batch_size(arena, cse_yaml_find(fit, "val_dataloader"),
                                flag_in(init, "ScopedValidateFlags", micro_batch_size));
}
