/* class_weights is a word or a list, which no type of settings is. */
#include "engine/base/config/loss_settings.h"

#include <stdlib.h>
#include <string.h>

static const char name[] = "class_weights", balanced[] = "balanced";

const cse_setting cse_loss_setting_table[] = {
    { "label_smoothing", CSE_SETTING_NUMBER, "0", 0, 1, NULL,
      "part of the target that all classes share, while training; of classifiers and language "
      "models",
      NULL },
    { "class_weights", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "weights of the classes in the loss of a classifier, as [1, 2.5]; balanced: samples / "
      "(classes * samples of the class), of the training data",
      NULL },
    { 0 },
};

static cse_status wrong(cse_place place, const char *what)
{
    const cse_error error = { .status = CSE_CONFIG,
                              .context = "configuration: ",
                              .place = place,
                              .accepted = "accepted: null, balanced, or a list with a number from "
                                          "0 on for each class" };
    return cse_fail_at(&error, "loss.class_weights: %s", what);
}

cse_status cse_loss_settings_check(const cse_settings *loss)
{
    const cse_yaml_node *node = cse_settings_node(loss, name);
    double sum = 0;
    if (cse_yaml_is_null(node) || cse_loss_weights_are_balanced(loss))
        return CSE_OK;
    if (node->kind != CSE_YAML_SEQUENCE || node->count == 0)
        return wrong(node->place, "this is no list of weights");
    for (int i = 0; i < node->count; i++) {
        double weight = -1;
        const cse_yaml_node *entry = node->children[i];
        if (entry->kind != CSE_YAML_SCALAR || !cse_setting_number_read(entry->text, &weight) ||
            !(weight >= 0 && weight <= 1e30))
            return wrong(entry->place, "a weight is a number from 0 to 1e30");
        sum += weight;
    }
    return sum > 0 ? CSE_OK : wrong(node->place, "all weights are 0");
}

bool cse_loss_weights_are_balanced(const cse_settings *loss)
{
    cse_yaml_node *node = cse_settings_node(loss, name);
    node->read = true;
    return node->kind == CSE_YAML_SCALAR && strcmp(node->text, balanced) == 0;
}

int cse_loss_weights_read(const cse_settings *loss, cse_arena *arena, float **weights)
{
    const cse_yaml_node *node = cse_settings_node(loss, name);
    *weights = NULL;
    if (node->kind != CSE_YAML_SEQUENCE)
        return 0;
    *weights = cse_arena_alloc(arena, (size_t)node->count * sizeof **weights);
    for (int i = 0; i < node->count; i++) {
        node->children[i]->read = true;
        (*weights)[i] = strtof(node->children[i]->text, NULL);
    }
    return node->count;
}
