/* An answer becomes the HTTP library's response: entity tags, ranges, the headers that every answer
 * has, and streams. */
#ifndef CSE_DASHBOARD_SEND_H
#define CSE_DASHBOARD_SEND_H

#include "dashboard/exchange.h"

/* Gives the answer to the library, once for each exchange. */
enum MHD_Result cse_exchange_send(cse_exchange *exchange);

#endif
