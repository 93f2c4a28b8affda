/* A checkpoint's configuration was checked when its run began: only what is asked for is looked at.
 */
#include "engine/base/config/average_settings.h"

#include <string.h>

#include "engine/base/error.h"

const cse_setting cse_average_setting_table[] = {
    { "decay", CSE_SETTING_NUMBER, "null", 0, 1, NULL,
      "exponential moving averages of the weights: each update moves them by 1 - decay; null: none",
      NULL },
    { "evaluate", CSE_SETTING_BOOL, "true", 0, 0, NULL,
      "validations, predictions and exports take the averages", NULL },
    { 0 },
};

bool cse_averages_are_evaluated(cse_arena *arena, const char *configuration)
{
    static const char *const path[] = { "trainer", "init", "ema" };
    cse_yaml_node *node = NULL;
    if (configuration == NULL || cse_yaml_parse(arena, "configuration", configuration,
                                                strlen(configuration), &node) != CSE_OK)
        return false;
    for (int i = 0; i < 3 && node != NULL; i++)
        node = node->kind == CSE_YAML_MAPPING ? cse_yaml_find(node, path[i]) : NULL;
    if (node == NULL || node->kind != CSE_YAML_MAPPING)
        return false;
    const cse_yaml_node *decay = cse_yaml_find(node, "decay");
    const cse_yaml_node *evaluate = cse_yaml_find(node, "evaluate");
    return decay != NULL && !cse_yaml_is_null(decay) &&
           (evaluate == NULL || evaluate->kind != CSE_YAML_SCALAR ||
            strcmp(evaluate->text, "false") != 0);
}
