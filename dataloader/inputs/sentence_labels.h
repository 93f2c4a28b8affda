/* What a text is labelled with: a class, numbers (of a regression, or one for each class), or all
 * classes that hold (one number for each class, 1 or 0), from a field of a table or a member of a
 * JSON line. */
#ifndef CSE_DATALOADER_INPUTS_SENTENCE_LABELS_H
#define CSE_DATALOADER_INPUTS_SENTENCE_LABELS_H

#include <jansson.h>

#include "csengine/input.h"

typedef enum cse_sentence_label { CSE_LABEL_CLASS, CSE_LABEL_NUMBERS, CSE_LABEL_CLASSES } cse_label;

enum { CSE_MOST_SENTENCE_LABELS = 1 << 16 };

typedef struct cse_sentence_labels {
    cse_label kind;
    int64_t count;        /* numbers of a sample */
    const char *name;     /* of the column, for messages */
    const char **classes; /* words that stand for classes */
    int class_count;      /* 0: classes are numbers */
} cse_sentence_labels;

/* The stream: int32 [], float32 [] of one number, or float32 [count]. */
void cse_sentence_labels_describe(const cse_sentence_labels *self, cse_stream *stream);

/* Writes the label of sample `place`. CSE_DATA. */
cse_status cse_sentence_labels_put_text(const cse_sentence_labels *self, const char *text,
                                        void *labels, int64_t place);
cse_status cse_sentence_labels_put_json(const cse_sentence_labels *self, const json_t *label,
                                        void *labels, int64_t place);
/* Of a text that has none: a class that losses leave out, or no numbers, of which a loss is NaN. */
void cse_sentence_labels_put_none(const cse_sentence_labels *self, void *labels, int64_t place);

#endif
