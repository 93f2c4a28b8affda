/* The settings of a configuration that can change a bit of a step. */
#include "engine/config/config.h"
#include "engine/config/settings.h"

/* Where a run happens, how long it lasts and what it leaves changes no bit of a step. */
static const char *const without_effect[] = { "backend",    "model_dir", "loop",
                                              "checkpoint", "logging",   "loggers",
                                              "numerics",   "seed",      NULL };
static const char *const places[] = { "path", "data_dir", NULL };
static const char *const library[] = { "library", NULL };

static void replace(cse_arena *arena, cse_yaml_node *mapping, const char *key,
                    const char *const *left_out)
{
    cse_yaml_node *child = mapping != NULL ? cse_yaml_find(mapping, key) : NULL;
    if (child != NULL && child->kind == CSE_YAML_MAPPING)
        cse_yaml_put(arena, mapping, (cse_yaml_key){ .text = key },
                     cse_yaml_without(arena, child, left_out));
}

void cse_settings_effective(const cse_settings *settings, cse_text *text)
{
    cse_arena *arena = cse_arena_new();
    cse_yaml_node *trainer = cse_yaml_find(cse_settings_tree(arena, settings), "trainer");
    replace(arena, trainer, "init", without_effect);
    cse_yaml_node *init = trainer != NULL ? cse_yaml_find(trainer, "init") : NULL;
    cse_yaml_node *fit = trainer != NULL ? cse_yaml_find(trainer, "fit") : NULL;
    replace(arena, init, "model", library);
    replace(arena, fit, "train_dataloader", places);
    cse_yaml_node *data = fit != NULL ? cse_yaml_find(fit, "train_dataloader") : NULL;
    if (init != NULL)
        cse_yaml_print(init, text);
    cse_text_add(text, "\n");
    if (data != NULL)
        cse_yaml_print(data, text);
    cse_arena_destroy(&arena);
}
