/* All that the section `precision` says, for a configuration file and for the text of the C API
 * alike: the step's formats, what lies between microbatches and between steps, loss scaling and
 * clipping. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/config/compute_format.h"
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
    session->network.sums_samples =
        strcmp(cse_settings_text(settings, "gradient_sums"), "sample") == 0;
    session->network.scaler_tree = scaler_tree(settings, session->arena);
    if (cse_settings_has(settings, "log_loss_scale"))
        session->network.loss_scale_log =
            cse_settings_bool(settings, "log_loss_scale") ? CSE_LOG_ALWAYS : CSE_LOG_NEVER;
    session->network.clip =
        (cse_clip){ .max_norm = number_or_zero(settings, "max_gradient_norm"),
                    .max_value = number_or_zero(settings, "max_gradient_value") };
    return cse_precision_new(settings, &session->network.precision);
}

/* ---- what is told of it ---- */

/* "precision.fp16_type is bfloat16 (CONFIG.yaml:12:18)"; of a program "... (cse_configuration)". */
static void add_reason(const cse_session *session, const cse_settings *settings, const char *name,
                       const char *value, cse_text *text)
{
    const char *origin = session->configuration.precision_origin;
    if (!session->opened.tells_format)
        origin = cse_settings_origin(settings, name);
    else if (origin == NULL)
        origin = "cse_configuration.precision";
    cse_text_add(text, "precision.%s is %s (%s)", name, value, origin);
}

void cse_session_explain_format(cse_session *session, const cse_settings *precision)
{
    const cse_compute_format format = precision != NULL
                                          ? cse_compute_format_of(precision)
                                          : (cse_compute_format){ .name = NULL, .setting = NULL };
    const bool rounds_nothing = session->network.precision != NULL &&
                                session->network.precision->preset == 0 &&
                                session->network.precision->override_count == 0;
    cse_text text = { 0 };
    cse_text_add(&text, "computes in %s, because ",
                 format.name != NULL && !rounds_nothing ? format.name : "float32");
    if (format.setting == NULL)
        cse_text_add(&text, "neither precision.fp16_type nor precision.enabled is given (default)");
    else if (rounds_nothing)
        cse_text_add(&text, "precision.graphamp.preset is mp0, which rounds nothing to %s",
                     format.name);
    else if (strcmp(format.setting, "fp16_type") == 0)
        add_reason(session, precision, format.setting, format.name, &text);
    else
        add_reason(session, precision, format.setting, format.name != NULL ? "true" : "false",
                   &text);
    session->opened.computes = cse_arena_string(session->arena, text.data);
    cse_text_clear(&text);
}

void cse_session_tell_format(cse_session *session)
{
    if (session->opened.tells_format && session->opened.computes != NULL)
        cse_log_line(CSE_LOG_INFO, "%s", session->opened.computes);
    session->opened.tells_format = false;
}
