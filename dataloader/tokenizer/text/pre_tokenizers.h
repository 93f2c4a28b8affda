/* How a text is cut into words before they become tokens: a list of stages, each of which cuts the
 * pieces of the stage before. A stage may change its piece first (a space before it, spaces as
 * another character); then it is cut at the matches of a pattern or at characters of a kind. */
#ifndef CSE_DATALOADER_TOKENIZER_TEXT_PRE_TOKENIZERS_H
#define CSE_DATALOADER_TOKENIZER_TEXT_PRE_TOKENIZERS_H

#include <jansson.h>

#include "dataloader/tokenizer/text/aligned_text.h"
#include "dataloader/tokenizer/text/split_pattern.h"

enum { CSE_SPLIT_STAGES = 32, CSE_SPLIT_DELIMITER_BYTES = 8 };

/* What becomes of a match. */
typedef enum cse_split_behavior {
    CSE_SPLIT_ISOLATED,      /* a piece of its own */
    CSE_SPLIT_REMOVED,       /* left out */
    CSE_SPLIT_WITH_PREVIOUS, /* the end of the piece before it */
    CSE_SPLIT_WITH_NEXT,     /* the begin of the piece behind it */
    CSE_SPLIT_CONTIGUOUS     /* one piece with the matches beside it */
} cse_split_behavior;

typedef struct cse_split_stage {
    /* The change of a piece. */
    char delimiter[CSE_SPLIT_DELIMITER_BYTES]; /* one character */
    bool replaces_spaces;                      /* by the delimiter */
    bool begins_with_it;                       /* it is put before a piece without it */
    bool only_the_first;                       /* likewise, before the begin of the text alone */
    bool writes_bytes;                         /* as the characters that stand for them */
    /* The cut: by a pattern, by the kind of each character (0 for none), by their number, or by
     * their script. */
    cse_split_pattern *pattern;
    int (*kind_of)(const struct cse_split_stage *stage, uint32_t character);
    int64_t length;    /* of each piece in characters; 0: it does not cut */
    bool cuts_scripts; /* where the script of the characters changes */
    bool joins_kinds;  /* neighbours of one kind are one match */
    bool inverted;     /* what is between matches counts as match */
    cse_split_behavior behavior;
} cse_split_stage;

/* Start from a zeroed struct. */
typedef struct cse_pre_tokenizers {
    cse_split_stage stages[CSE_SPLIT_STAGES];
    int count;
    bool is_byte_level;  /* the words' bytes become tokens */
    bool asks_for_first; /* a stage does something at the begin of a text alone */
    bool cuts_at_lines;  /* see cse_tokenizer_cuts_at_lines */
} cse_pre_tokenizers;

/* The member "pre_tokenizer" of a tokenizer.json; null is none. `takes_bytes`: the model can be
 * given the bytes that characters stand for. CSE_DATA names what is not accepted. */
cse_status cse_pre_tokenizers_read(cse_pre_tokenizers *pre, const json_t *entry, bool takes_bytes);
/* GPT-2's. */
cse_status cse_pre_tokenizers_of_gpt2(cse_pre_tokenizers *pre);
/* A last stage that cuts before each run of the character, where there is room for one. */
void cse_pre_tokenizers_cut_before(cse_pre_tokenizers *pre, const char *character);
void cse_pre_tokenizers_clear(cse_pre_tokenizers *pre);

/* Where pieces go. */
typedef struct cse_piece_sink {
    cse_status (*put)(void *self, const cse_text_view *piece);
    void *self;
} cse_piece_sink;

/* A part of a text that was checked to be UTF-8. */
typedef struct cse_piece {
    cse_text_view view;
    bool is_first; /* it begins where the whole text does */
} cse_piece;

/* Bytes `begin` to `end` of a piece; origins, where it has them, tell whether it is first. */
static inline cse_piece cse_piece_part(const cse_piece *piece, size_t begin, size_t end)
{
    const cse_origin *origins = piece->view.origins;
    return (cse_piece){
        { piece->view.text + begin, end - begin, origins != NULL ? origins + begin : NULL },
        origins != NULL && end > begin ? origins[begin].begin == 0 : piece->is_first && begin == 0
    };
}

/* Calls the sink for each word of a piece that is not empty. */
cse_status cse_pre_tokenize(const cse_pre_tokenizers *pre, cse_split_matcher *matcher,
                            cse_piece piece, const cse_piece_sink *sink);

#endif
