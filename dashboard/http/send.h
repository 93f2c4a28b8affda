/* An answer becomes the HTTP library's response: entity tags, ranges, content codings, the headers
 * that every answer has, and streams. */
#ifndef CSE_DASHBOARD_HTTP_SEND_H
#define CSE_DASHBOARD_HTTP_SEND_H

#include "dashboard/http/exchange.h"

/* Tags, cuts and packs the answer, once: in a worker where there is one, since it may take
 * milliseconds; otherwise before it is sent. */
void cse_exchange_prepare(cse_exchange *exchange);
/* Gives the answer to the library, once for each exchange. */
enum MHD_Result cse_exchange_send(cse_exchange *exchange);

#endif
