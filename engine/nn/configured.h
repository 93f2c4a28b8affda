/* Variants of the public calls that take settings as text (csengine/train.h), for settings that are
 * already parsed, as those of a configuration file are. Each public call parses its text and calls
 * one of these. Settings and trees must live as long as the network. */
#ifndef CSE_ENGINE_NN_CONFIGURED_H
#define CSE_ENGINE_NN_CONFIGURED_H

#include "engine/base/config/config.h"
#include "engine/nn/network.h"

/* cse_model_new; the library of the plugin is loaded (cse_config_load_plugins). */
cse_model *cse_configured_model(const cse_config_plugin *plugin);
/* A second model, which is not trained, has no adapter, and is in evaluation mode; the names of its
 * states begin with `role` ("reference"), which lives as long as the network. */
cse_model *cse_frozen_model(const char *role, const cse_config_plugin *plugin);
/* cse_configure_optimizer, but as the ModelZoo's trainer divides parameters: those of norms and
 * those with "bias" in their names have no weight decay, unless a group of `params` gives them one
 * or weight_decay has a schedule. */
cse_optimizer *cse_configured_optimizer(const cse_config_plugin *plugin, cse_model *model);
/* cse_configure_schedule. */
cse_schedule *cse_configured_schedule(cse_optimizer *optimizer, cse_yaml_node *tree);
/* cse_configure_metric. */
cse_metric *cse_configured_metric(const cse_config_plugin *plugin, const char *label);
/* cse_grad_scaler_new. */
cse_grad_scaler *cse_configured_grad_scaler(cse_yaml_node *tree);

#endif
