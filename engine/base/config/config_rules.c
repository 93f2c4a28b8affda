/* Constraints between settings of CONFIG.yaml that are valid one by one. */
#include "engine/base/config/config_rules.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/config/loss_settings.h"
#include "engine/base/config/settings.h"
#include "engine/base/config/sparsity_settings.h"

static const char context[] = "configuration: ";

static cse_status reject_pair(const cse_settings *settings, const char *section, const char *a,
                              const char *b)
{
    if (!cse_settings_has(settings, a) || !cse_settings_has(settings, b))
        return CSE_OK;
    return cse_fail_at(CSE_ERROR_AT(context, cse_settings_place(settings, b)),
                       "%s.%s and %s.%s (at %s) exclude each other; keep one", section, b, section,
                       a, cse_settings_origin(settings, a));
}

static cse_status require_positive(const cse_settings *settings, const char *name)
{
    if (!cse_settings_has(settings, name) || cse_settings_number(settings, name) > 0)
        return CSE_OK;
    return cse_fail_at(CSE_ERROR_AT(context, cse_settings_place(settings, name)),
                       "precision.%s is 0; accepted: a number above 0, or null", name);
}

static cse_status check_loss_scaling(const cse_settings *precision)
{
    const char *factor = cse_settings_text(precision, "loss_scaling_factor");
    char *end = NULL;
    double number = strtod(factor, &end);
    if (strcmp(factor, "dynamic") == 0 ||
        (*factor != '\0' && *end == '\0' && number >= 0 && number < UINT64_MAX))
        return CSE_OK;
    return cse_fail_at(CSE_ERROR_AT(context, cse_settings_place(precision, "loss_scaling_factor")),
                       "precision.loss_scaling_factor: \"%s\" is not accepted; accepted: a "
                       "number, 0 for none, or dynamic",
                       factor);
}

/* One side of a label: letters, digits and inner -_., at most 63 characters. */
static bool is_label_word(const char *word, size_t length)
{
    static const char alphanumeric[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    if (length == 0 || length > 63 || strchr(alphanumeric, word[0]) == NULL ||
        strchr(alphanumeric, word[length - 1]) == NULL)
        return false;
    for (size_t i = 0; i < length; i++)
        if (strchr(alphanumeric, word[i]) == NULL && strchr("-_.", word[i]) == NULL)
            return false;
    return true;
}

bool cse_config_is_label(const char *label)
{
    size_t key = strcspn(label, "=");
    return label[key] == '=' && is_label_word(label, key) &&
           is_label_word(label + key + 1, strlen(label + key + 1));
}

static cse_status check_labels(const cse_settings *cluster, cse_diagnostics *diagnostics)
{
    for (int i = 0; i < cse_settings_count(cluster, "job_labels"); i++) {
        const char *label = cse_settings_text_at(cluster, "job_labels", i);
        if (cse_config_is_label(label))
            continue;
        CSE_TRY(cse_diagnostics_take(
            diagnostics,
            cse_fail_at(CSE_ERROR_AT(context, cse_settings_place(cluster, "job_labels")),
                        "cluster_config.job_labels: \"%.140s\" is no label; accepted: "
                        "key=value, each of 1 to 63 letters, digits and inner -_.",
                        label)));
    }
    return CSE_OK;
}

static cse_status check_loop(const cse_settings *loop)
{
    CSE_TRY(reject_pair(loop, "loop", "num_epochs", "num_steps"));
    if (cse_settings_has(loop, "steps_per_epoch") && !cse_settings_has(loop, "num_epochs"))
        return cse_fail_at(CSE_ERROR_AT(context, cse_settings_place(loop, "steps_per_epoch")),
                           "loop.steps_per_epoch has no effect without loop.num_epochs; "
                           "add num_epochs or use num_steps");
    return CSE_OK;
}

static cse_status check_backend(const cse_settings *backend)
{
    if (cse_settings_bool(backend, "compile_only") && cse_settings_bool(backend, "validate_only"))
        return cse_fail_at(CSE_ERROR_AT(context, cse_settings_place(backend, "validate_only")),
                           "backend.validate_only and backend.compile_only exclude each "
                           "other; keep one");
    return CSE_OK;
}

/* Partial sums of larger microbatches would be rounded less often. */
static cse_status check_gradient_sums(const cse_settings *precision)
{
    if (strcmp(cse_settings_text(precision, "gradient_sums"), "sample") != 0 ||
        strcmp(cse_settings_text(precision, "weight_grad_reduce"), "fp32") == 0)
        return CSE_OK;
    return reject_pair(precision, "precision", "gradient_sums", "weight_grad_reduce");
}

cse_status cse_config_check_precision(const cse_settings *precision, cse_diagnostics *diagnostics)
{
    static const char *const positive[] = { "max_gradient_norm", "max_gradient_value",
                                            "initial_loss_scale" };
    CSE_TRY(
        cse_diagnostics_take(diagnostics, reject_pair(precision, "precision", "max_gradient_norm",
                                                      "max_gradient_value")));
    for (size_t i = 0; i < sizeof positive / sizeof positive[0]; i++)
        CSE_TRY(cse_diagnostics_take(diagnostics, require_positive(precision, positive[i])));
    CSE_TRY(cse_diagnostics_take(diagnostics, check_gradient_sums(precision)));
    return cse_diagnostics_take(diagnostics, check_loss_scaling(precision));
}

/* A section without errors in its settings, else NULL: constraints need all values. */
static const cse_settings *sound_section(const cse_settings *trainer, const char *path)
{
    const cse_settings *settings = cse_settings_section(trainer, path);
    return settings == NULL || settings->faulty ? NULL : settings;
}

static cse_status check_sparsity(const cse_settings *init)
{
    cse_sparsity_groups groups;
    cse_status status =
        cse_sparsity_settings_read(init->arena, cse_settings_node(init, "sparsity"), &groups);
    return status == CSE_OK ? CSE_OK : cse_fail_within(status, "%s", context);
}

/* "newest" goes with weights: they are for a run that has none. */
static cse_status check_start(const cse_settings *fit)
{
    const char *checkpoint = cse_settings_text(fit, "ckpt_path");
    return checkpoint != NULL && strcmp(checkpoint, "newest") == 0
               ? CSE_OK
               : reject_pair(fit, "fit", "ckpt_path", "weights");
}

/* Adapters are added to weights that are loaded, each with a factor or none with one. */
static cse_status check_adapters(const cse_settings *fit)
{
    const int count = cse_settings_count(fit, "adapter");
    const int factors = cse_settings_count(fit, "adapter_weights");
    if (factors == 0 || factors == count)
        return CSE_OK;
    const cse_error error = { .status = CSE_CONFIG,
                              .place = cse_settings_place(fit, "adapter_weights"),
                              .accepted = "accepted: a number for each adapter" };
    return cse_fail_at(&error, "adapter_weights has %d numbers for %d adapters", factors, count);
}

/* With adapters the model's own parameters are not trained but for those that they name. */
static cse_status check_trainable(const cse_settings *init)
{
    const bool freezes = cse_settings_count(init, "freeze") > 0;
    if (!cse_settings_has(init, "adapters") || cse_settings_node(init, "adapters")->count == 0 ||
        (!freezes && cse_settings_count(init, "trainable") == 0))
        return CSE_OK;
    const char *name = freezes ? "freeze" : "trainable";
    const cse_error error = { .status = CSE_CONFIG,
                              .place = cse_settings_place(init, name),
                              .accepted = "accepted with adapters: modules_to_save and bias, which "
                                          "say what they train of the model itself" };
    return cse_fail_at(&error, "%s: adapters train nothing of the model but what they name", name);
}

cse_status cse_config_check_rules(const cse_settings *trainer, cse_diagnostics *diagnostics)
{
    const cse_settings *init = sound_section(trainer, "init");
    const cse_settings *loop = sound_section(trainer, "init.loop");
    const cse_settings *precision = sound_section(trainer, "init.precision");
    const cse_settings *cluster = sound_section(trainer, "init.backend.cluster_config");
    const cse_settings *backend = sound_section(trainer, "init.backend");
    const cse_settings *fit = sound_section(trainer, "fit");
    const cse_settings *loss = sound_section(trainer, "init.loss");
    if (loss != NULL)
        CSE_TRY(cse_diagnostics_take(diagnostics, cse_loss_settings_check(loss)));
    if (fit != NULL)
        CSE_TRY(cse_diagnostics_take(diagnostics, check_start(fit)));
    if (fit != NULL)
        CSE_TRY(cse_diagnostics_take(diagnostics, check_adapters(fit)));
    if (loop != NULL)
        CSE_TRY(cse_diagnostics_take(diagnostics, check_loop(loop)));
    if (precision != NULL)
        CSE_TRY(cse_config_check_precision(precision, diagnostics));
    if (cluster != NULL)
        CSE_TRY(check_labels(cluster, diagnostics));
    if (init != NULL)
        CSE_TRY(cse_diagnostics_take(diagnostics, check_trainable(init)));
    if (init != NULL && cse_settings_has(init, "sparsity"))
        CSE_TRY(cse_diagnostics_take(diagnostics, check_sparsity(init)));
    return backend != NULL ? cse_diagnostics_take(diagnostics, check_backend(backend)) : CSE_OK;
}
