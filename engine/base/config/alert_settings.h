/* Alerts of a run, section `alerts` of CONFIG.yaml. */
#ifndef CSE_CONFIG_ALERT_SETTINGS_H
#define CSE_CONFIG_ALERT_SETTINGS_H

#include "csengine/extend.h"

extern const cse_setting cse_alert_setting_table[];

#endif
