/* The public calls that take a settings text (csengine/train.h), for settings that are values
 * already: those of a configuration file. Each public call parses its text once and calls these. */
#ifndef CSE_RUN_SESSION_CONFIGURED_H
#define CSE_RUN_SESSION_CONFIGURED_H

#include "engine/config/config.h"
#include "run/session/session.h"

/* cse_configure with checked settings (tables: precision_settings.h) instead of the texts
 * `precision` and `numerics`, which are not looked at. Both may be NULL, and are needed during the
 * call only. Below, settings must live as long as the session. */
cse_status cse_session_configure(const cse_configuration *configuration,
                                 const cse_settings *precision, const cse_settings *numerics);

/* cse_model_new, or cse_model_load where the plugin has a library. */
cse_model *cse_session_model_new(const cse_config_plugin *plugin);
/* cse_configure_optimizer. */
cse_optimizer *cse_session_optimizer_new(const cse_config_plugin *plugin, cse_model *model);
/* cse_configure_schedule. */
cse_schedule *cse_session_schedule_new(cse_optimizer *optimizer, cse_yaml_node *tree);
/* cse_grad_scaler_new. */
cse_grad_scaler *cse_session_grad_scaler_new(cse_yaml_node *tree);
/* cse_executor_new; `options->input` is not looked at. */
cse_executor *cse_session_executor_new(const cse_executor_options *options,
                                       const cse_settings *input);

/* A text as a tree in the session's memory; messages begin with `subject`. */
cse_status cse_session_parse(const char *subject, const char *yaml, cse_yaml_node **tree);
/* The same for a public call; NULL after a failure, which is the session's, or without a session.
 */
cse_yaml_node *cse_session_text(const char *caller, const char *subject, const char *yaml);
/* A tree against a table; the result lives as long as the session. */
cse_status cse_session_check(const cse_setting *table, const char *subject, cse_yaml_node *tree,
                             const cse_settings **settings);

#endif
