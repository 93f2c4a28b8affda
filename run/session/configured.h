/* Variants of the public calls that take settings as text (csengine/train.h), for settings that are
 * already parsed, as those of a configuration file are. Each public call parses its text and calls
 * one of these. Settings and trees must live as long as the session. */
#ifndef CSE_RUN_SESSION_CONFIGURED_H
#define CSE_RUN_SESSION_CONFIGURED_H

#include "engine/config/config.h"
#include "run/session/session.h"

/* cse_model_new; the library of the plugin is loaded (cse_config_load_plugins). */
cse_model *cse_session_model_new(const cse_config_plugin *plugin);
/* cse_configure_optimizer, but as the ModelZoo's trainer divides parameters: those of norms and
 * those with "bias" in their names have no weight decay, unless a group of `params` gives them one
 * or weight_decay has a schedule. */
cse_optimizer *cse_session_optimizer_new(const cse_config_plugin *plugin, cse_model *model);
/* cse_configure_schedule. */
cse_schedule *cse_session_schedule_new(cse_optimizer *optimizer, cse_yaml_node *tree);
/* cse_configure_metric. */
cse_metric *cse_session_metric_new(const cse_config_plugin *plugin, const char *label);
/* cse_grad_scaler_new. */
cse_grad_scaler *cse_session_grad_scaler_new(cse_yaml_node *tree);
/* cse_executor_new; `options->input` is not looked at. */
cse_executor *cse_session_executor_new(const cse_executor_options *options,
                                       const cse_settings *input);

#endif
