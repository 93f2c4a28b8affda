/* Samples of bleu, with independent values. */
#include "tests/samples/samples.h"

#include "tests/samples/metrics/ngrams.h"

/* Written by tests/reference/metrics.py. */
static const cse_metric_sample samples[] = {
    { .name = "up to 2",
      .settings = "{max_n: 2}",
      .source = "the definition, by collections.Counter",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .columns = 4, .values = { CSE_NGRAMS_LABELS } },
                     { .dtype = CSE_INT32, .columns = 4, .values = { CSE_NGRAMS_PREDICTIONS } } },
      .values = { 0.7637626158, 0.663403472, 0.6548430686 } },
    { .name = "up to 2, padded",
      .settings = "{max_n: 2, padding: 0}",
      .source = "the definition, by collections.Counter",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .columns = 4, .values = { CSE_NGRAMS_LABELS } },
                     { .dtype = CSE_INT32,
                       .columns = 4,
                       .values = { CSE_NGRAMS_PADDED_PREDICTIONS } } },
      .values = { 0.2089788602, 0.1907794406, 0.1737453208 } },
    { .name = "up to 4",
      .source = "the definition, by collections.Counter",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .columns = 4, .values = { CSE_NGRAMS_LABELS } },
                     { .dtype = CSE_INT32, .columns = 4, .values = { CSE_NGRAMS_PREDICTIONS } } },
      .values = { 0.6179654585, 0.4306122473, 0.4347837519 } },
    { .name = "up to 4, padded",
      .settings = "{padding: 0}",
      .source = "the definition, by collections.Counter",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .columns = 4, .values = { CSE_NGRAMS_LABELS } },
                     { .dtype = CSE_INT32,
                       .columns = 4,
                       .values = { CSE_NGRAMS_PADDED_PREDICTIONS } } },
      .values = { 0, 0, 0 } },
    { .name = "refused", .settings = "{max_n: 17}", .refusal = "max_n" },
    { .name = NULL },
};

CSE_SAMPLES(metric, bleu, samples);
