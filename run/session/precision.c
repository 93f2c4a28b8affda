/* All that the section `precision` says, for a configuration file and for the text of the C API
 * alike: the step's formats, what lies between microbatches and between steps, loss scaling and
 * clipping. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/config/config.h"
#include "engine/base/config/settings.h"
#include "engine/base/log.h"
#include "run/session/session.h"

/* A word that cse_configuration and `precision` can both give. */
static cse_status take_word(const cse_settings *settings, const char *name, const char **member)
{
    if (!cse_settings_given(settings, name) && *member != NULL)
        return CSE_OK;
    const char *word = cse_settings_text(settings, name);
    if (*member != NULL && strcmp(*member, word) != 0)
        return cse_fail(CSE_CONFIG,
                        "%s is \"%s\", and the %s of precision (%s) is \"%s\"; give one of them",
                        name, *member, name, cse_settings_origin(settings, name), word);
    *member = word;
    return CSE_OK;
}

/* The loss scaling settings, renamed to those of the gradient scaler; NULL for a factor of 0 or 1,
 * which change nothing. With a static scale the settings of dynamic scaling are not read. */
static cse_yaml_node *scaler_tree(const cse_settings *settings, cse_arena *arena)
{
    static const char *const names[][2] = { { "steps_per_increase", "steps_per_increase" },
                                            { "initial_loss_scale", "init_scale" },
                                            { "min_loss_scale", "min_loss_scale" },
                                            { "max_loss_scale", "max_loss_scale" },
                                            { "overflow_tolerance", "overflow_tolerance" } };
    const char *factor = cse_settings_text(settings, "loss_scaling_factor");
    cse_yaml_node *node = cse_settings_node(settings, "loss_scaling_factor");
    const cse_place place = node->place;
    bool dynamic = strcmp(factor, "dynamic") == 0;
    double number = strtod(factor, NULL);
    if (!dynamic && (number == 0 || number == 1))
        return NULL;
    cse_yaml_node *tree = cse_yaml_mapping_new(arena, place);
    cse_yaml_put(arena, tree, (cse_yaml_key){ "loss_scale", place }, node);
    for (size_t i = 0; dynamic && i < sizeof names / sizeof names[0]; i++)
        if (cse_settings_given(settings, names[i][0]))
            cse_yaml_put(arena, tree, (cse_yaml_key){ names[i][1], place },
                         cse_settings_node(settings, names[i][0]));
    return tree;
}

static double number_or_zero(const cse_settings *settings, const char *name)
{
    return cse_settings_has(settings, name) ? cse_settings_number(settings, name) : 0;
}

cse_status cse_session_take_precision(cse_session *session, const cse_settings *settings)
{
    cse_configuration *c = &session->configuration;
    CSE_TRY(cse_config_check_precision(settings, NULL));
    CSE_TRY(take_word(settings, "weight_grad_reduce", &c->weight_grad_reduce));
    CSE_TRY(take_word(settings, "weight_update", &c->weight_update));
    session->network.scaler_tree = scaler_tree(settings, session->arena);
    if (cse_settings_has(settings, "log_loss_scale"))
        session->network.loss_scale_log =
            cse_settings_bool(settings, "log_loss_scale") ? CSE_LOG_ALWAYS : CSE_LOG_NEVER;
    session->network.clip =
        (cse_clip){ .max_norm = number_or_zero(settings, "max_gradient_norm"),
                    .max_value = number_or_zero(settings, "max_gradient_value") };
    return cse_precision_new(settings, &session->network.precision);
}
