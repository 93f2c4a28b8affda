/* Sentences, or pairs of them, with a class, from the tables of GLUE (Wang et al. 2018): what the
 * ModelZoo's classifier processors share. */
#ifndef CSE_DATALOADER_INPUTS_GLUE_SENTENCES_H
#define CSE_DATALOADER_INPUTS_GLUE_SENTENCES_H

#include "dataloader/input.h"
#include "dataloader/tokens/sentence_tokens.h"

/* One task. */
typedef struct cse_glue_task {
    const char *training, *validation[2]; /* files of data_dir */
    const char *sentences[2];             /* columns; the second may be NULL */
    const char *label;                    /* column */
    const char *const *classes;           /* words, ended by NULL; NULL: numbers */
} cse_glue_task;

extern const cse_setting cse_glue_settings[];

cse_status cse_glue_open(cse_input *input, const cse_settings *settings, const cse_glue_task *task);
cse_status cse_glue_describe(cse_input *input, const cse_settings *settings,
                             const cse_unseen_data *known);
cse_status cse_glue_read(cse_input *input, const int64_t *indices, int64_t count,
                         void *const outputs[]);
void cse_glue_locate(const cse_input *input, const cse_element_place *place, char *text,
                     size_t size);
void cse_glue_close(cse_input *input);

#endif
