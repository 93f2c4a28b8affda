/* Content codings of answers: gzip, where the client takes it and it is worth it.
 *
 * A body is packed as a whole before it is sent: it is in memory already, and the packed one is
 * smaller, so that an answer never takes more than twice its size, whoever reads it how slowly.
 * Event streams are not packed: a coder holds events back or, flushed at each of them, gains
 * little, and would keep a quarter of a megabyte for each stream. Parts of files are sent as they
 * are. */
#ifndef CSE_DASHBOARD_HTTP_ENCODING_H
#define CSE_DASHBOARD_HTTP_ENCODING_H

#include "dashboard/api/route.h"

/* Whether an Accept-Encoding (NULL: none was sent) prefers gzip to the identity: RFC 9110, section
 * 12.5.3. */
bool cse_prefers_gzip(const char *accept_encoding);

/* Packs the answer's body where it is text of at least a kilobyte and the client takes gzip, and
 * adds Content-Encoding. */
void cse_answer_pack(cse_answer *answer, bool takes_gzip);

/* Whether the answer's body is packed. */
bool cse_answer_is_packed(const cse_answer *answer);

#endif
