/* Unicode's normal forms, by utf8proc but for characters that are younger than the tables of
 * Hugging Face's tokenizers: these stand between the pieces that are normalized. */
#ifndef CSE_DATALOADER_TOKENIZER_TEXT_NORMAL_FORMS_H
#define CSE_DATALOADER_TOKENIZER_TEXT_NORMAL_FORMS_H

#include "dataloader/tokenizer/text/aligned_text.h"

typedef enum cse_normal_form { CSE_NFC, CSE_NFD, CSE_NFKC, CSE_NFKD } cse_normal_form;

/* Adds the text in this form. */
cse_status cse_normal_form_add(cse_normal_form form, const cse_text_view *from,
                               cse_aligned_text *to);

#endif
