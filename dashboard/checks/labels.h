/* Labels of jobs: "key=value" words in configurations and queries, an object in the API. */
#ifndef CSE_DASHBOARD_CHECKS_LABELS_H
#define CSE_DASHBOARD_CHECKS_LABELS_H

#include <jansson.h>

/* An array of words as an object, and back. */
json_t *cse_labels_from_words(const json_t *words);
json_t *cse_labels_to_words(const json_t *labels);

#endif
