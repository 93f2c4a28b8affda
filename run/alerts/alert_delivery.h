/* Where an alert goes besides the store and the log: to a web address, to a program. */
#ifndef CSE_RUN_ALERTS_ALERT_DELIVERY_H
#define CSE_RUN_ALERTS_ALERT_DELIVERY_H

#include "csengine/extend.h"

typedef struct cse_alert_delivery cse_alert_delivery;

/* Of a section `alerts` that was checked, which must outlive it. CSE_CONFIG, CSE_PERMISSION or
 * CSE_NO_INPUT in a confined process that may not call the one or run the other. */
cse_status cse_alert_delivery_new(const cse_settings *settings, cse_alert_delivery **delivery);
void cse_alert_delivery_destroy(cse_alert_delivery **delivery);

/* Waits up to 10 s for each. What the program prints goes to standard error; a failure is a warning
 * of the log. */
void cse_alert_deliver(cse_alert_delivery *delivery, const char *json);

#endif
