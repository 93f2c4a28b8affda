/* Why a setting that is given has no effect.
 *
 * A setting without an effect is warned of and not refused: configurations of the ModelZoo Trainer
 * write an optimizer's learning_rate beside a schedule, a file may serve training and evaluation,
 * and what is asked for is clear. Settings that contradict each other are refused, since nobody can
 * say which one is meant; where one of them comes from the command line, it replaces the other. */
#ifndef CSE_CONFIG_CONFIG_EFFECTS_H
#define CSE_CONFIG_CONFIG_EFFECTS_H

#include "engine/base/config/config.h"

/* Explains a value that nothing has read, as cse_config_unread lists it. False when it needs no
 * warning: it is what is used anyway, as a learning rate that a schedule begins with. `warning`
 * gets the place and the message, in the configuration's memory. */
bool cse_config_explain_unread(const cse_config *config, const cse_yaml_unread *unread,
                               cse_error *warning);

/* Whether the setting at a path describes other hardware: no value of it has an effect, so that a
 * run tells all of them in one line. */
bool cse_config_is_hint(const char *path);

/* The settings of which the configuration alone shows that they have no effect, without a run;
 * returns their number. The list lives as long as the configuration. */
int cse_config_without_effect(const cse_config *config, cse_error **warnings);

#endif
