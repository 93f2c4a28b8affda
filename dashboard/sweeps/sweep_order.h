/* What the server was asked to train: ROOT/sweeps/NAME/order.json beside the document and the
 * configuration, as they were sent. Only a folder that has it is the server's to go on with. */
#ifndef CSE_DASHBOARD_SWEEPS_SWEEP_ORDER_H
#define CSE_DASHBOARD_SWEEPS_SWEEP_ORDER_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

#include "csengine/status.h"

typedef struct cse_sweep_order {
    bool wanted;       /* the server goes on with it until it is complete */
    bool ends_jobs;    /* it was cancelled, and jobs of it may not have ended */
    char message[512]; /* why it does not; "" */
} cse_sweep_order;

/* False: there is none, or it is damaged. */
bool cse_sweep_order_read(const char *folder, cse_sweep_order *order);
cse_status cse_sweep_order_write(const char *folder, const cse_sweep_order *order);

/* Makes the folder of what is asked for, at once: `spec` as the schema SweepSpec. *made: it was not
 * there before. CSE_CONFIG: it is wrong; CSE_USAGE: there is another sweep of that name. */
cse_status cse_sweep_order_place(const char *root, const json_t *spec, bool *made);
/* Removes what a server that was killed left of that. */
void cse_sweep_order_clean(const char *root);

#endif
