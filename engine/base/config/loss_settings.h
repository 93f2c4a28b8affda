/* The section `loss`: label smoothing and weights of classes. */
#ifndef CSE_CONFIG_LOSS_SETTINGS_H
#define CSE_CONFIG_LOSS_SETTINGS_H

#include "engine/base/config/settings.h"

extern const cse_setting cse_loss_setting_table[];

/* Checks class_weights: null, balanced, or a list of numbers from 0 on, not all of them 0. */
cse_status cse_loss_settings_check(const cse_settings *loss);
/* Of checked settings. */
bool cse_loss_weights_are_balanced(const cse_settings *loss);
/* The numbers of the list, in `arena`; 0: there is none. */
int cse_loss_weights_read(const cse_settings *loss, cse_arena *arena, float **weights);

#endif
