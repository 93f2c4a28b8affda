/* Where an alert goes besides the store and the log: to a web address, to a program. */
#ifndef CSE_RUN_ALERTS_ALERT_DELIVERY_H
#define CSE_RUN_ALERTS_ALERT_DELIVERY_H

#include "csengine/extend.h"

/* Checks the section `alerts` (NULL: there is none), its conditions included: CSE_CONFIG. */
cse_status cse_alert_check(const cse_settings *settings);

typedef struct cse_alert_delivery cse_alert_delivery;

/* CSE_CONFIG in a confined process that may not do it, or for a program that is not there. The
 * settings must outlive it. */
cse_status cse_alert_delivery_new(const cse_settings *settings, cse_alert_delivery **delivery);
void cse_alert_delivery_destroy(cse_alert_delivery **delivery);

/* Waits up to 10 s for each. A failure is a warning of the log. */
void cse_alert_deliver(cse_alert_delivery *delivery, const char *json);

#endif
