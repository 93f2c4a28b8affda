/* Whether the section `alerts` of a configuration is right, before anything is trained. */
#ifndef CSE_RUN_ALERTS_ALERT_CHECK_H
#define CSE_RUN_ALERTS_ALERT_CHECK_H

#include "csengine/extend.h"

/* CSE_CONFIG for a condition or an address that is none, and for a setting without the one that it
 * needs. `settings` NULL: there is no section. */
cse_status cse_alert_check(const cse_settings *settings);

#endif
