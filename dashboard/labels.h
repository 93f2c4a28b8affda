/* Labels of jobs: as words of a configuration or a query, and as the object that the API shows. */
#ifndef CSE_DASHBOARD_LABELS_H
#define CSE_DASHBOARD_LABELS_H

#include <jansson.h>

/* "key=value" words as an object, and back. */
json_t *cse_labels_from_words(const json_t *words);
json_t *cse_labels_to_words(const json_t *labels);

#endif
