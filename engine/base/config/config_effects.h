/* Why a setting that is given has no effect.
 *
 * A setting without an effect is warned of and not refused: configurations of the ModelZoo Trainer
 * write an optimizer's learning_rate beside a schedule, a file may serve training and evaluation,
 * and what is asked for is clear. Settings that contradict each other are refused, since nobody can
 * say which one is meant; where one of them comes from the command line, it replaces the other. */
#ifndef CSE_CONFIG_CONFIG_EFFECTS_H
#define CSE_CONFIG_CONFIG_EFFECTS_H

#include "engine/base/config/config.h"

/* Why one given setting has no effect. */
typedef struct cse_config_effect {
    cse_error warning; /* place and message, in the configuration's memory */
    bool is_hint;      /* it describes other hardware: a run tells all of them in one line */
    const struct cse_config_hint *hint; /* which one; NULL: it is none of the table's */
    const char *name;                   /* of the setting, as that line has it */
} cse_config_effect;

/* Explains a value that nothing has read, as cse_config_unread lists it. False when it needs no
 * warning: it is what is used anyway, as a learning rate that a schedule begins with. */
bool cse_config_explain_unread(const cse_config *config, const cse_yaml_unread *unread,
                               cse_config_effect *effect);

/* The settings of which the configuration alone shows that they have no effect, without a run;
 * returns their number. The list lives as long as the configuration. */
int cse_config_without_effect(const cse_config *config, cse_error **warnings);

#endif
