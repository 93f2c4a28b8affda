/* What a run was made from, beside its settings: code, artefact and data, by their digests. */
#ifndef CSE_DASHBOARD_QUERY_ORIGINS_H
#define CSE_DASHBOARD_QUERY_ORIGINS_H

#include <jansson.h>

/* `links`: of each run the text of its identity's links (engine/formats/checkpoint/links.h), or
 * null. An array of {"path": what it is in words, "changes_bits": true, "values": [text|null for
 * each run]}, of that in which two runs differ; a run of which it is not known is null, and no
 * difference. */
json_t *cse_origins_that_differ(const json_t *links);

#endif
