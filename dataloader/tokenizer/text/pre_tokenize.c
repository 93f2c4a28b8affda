/* Each stage walks over its piece in segments, which are matches or what stands between them, and
 * hands on what its behavior makes of them. One piece waits until it is known that the next segment
 * does not belong to it. */
#include <stdlib.h>
#include <string.h>

#include "dataloader/tokenizer/text/byte_characters.h"
#include "dataloader/tokenizer/text/character_scripts.h"
#include "dataloader/tokenizer/text/characters.h"
#include "dataloader/tokenizer/text/pre_tokenizers.h"

typedef struct cutting {
    const cse_pre_tokenizers *pre;
    cse_split_matcher *matcher;
    const cse_piece_sink *sink;
    int stage;
    cse_piece piece;
    size_t waiting[2]; /* the piece that waits */
    bool is_waiting, was_match;
} cutting;

static cse_status cut(cutting *c);

static cse_status hand_on(cutting *c, size_t begin, size_t end)
{
    if (begin == end)
        return CSE_OK;
    cutting next = { .pre = c->pre,
                     .matcher = c->matcher,
                     .sink = c->sink,
                     .stage = c->stage + 1,
                     .piece = cse_piece_part(&c->piece, begin, end) };
    return cut(&next);
}

static cse_status end_waiting(cutting *c)
{
    if (!c->is_waiting)
        return CSE_OK;
    c->is_waiting = false;
    return hand_on(c, c->waiting[0], c->waiting[1]);
}

/* Whether the segment belongs to the piece that waits. */
static bool belongs(const cutting *c, cse_split_behavior behavior, bool is_match)
{
    switch (behavior) {
    case CSE_SPLIT_WITH_PREVIOUS:
        return is_match && !c->was_match;
    case CSE_SPLIT_WITH_NEXT:
        return !is_match && c->was_match;
    default:
        return behavior == CSE_SPLIT_CONTIGUOUS && is_match == c->was_match;
    }
}

static cse_status put_segment(cutting *c, size_t begin, size_t end, bool is_match)
{
    const cse_split_stage *stage = &c->pre->stages[c->stage];
    is_match ^= stage->inverted;
    if (stage->behavior == CSE_SPLIT_ISOLATED)
        return hand_on(c, begin, end);
    if (stage->behavior == CSE_SPLIT_REMOVED)
        return is_match ? CSE_OK : hand_on(c, begin, end);
    if (c->is_waiting && belongs(c, stage->behavior, is_match)) {
        c->waiting[1] = end;
    } else {
        CSE_TRY(end_waiting(c));
        c->waiting[0] = begin;
        c->waiting[1] = end;
        c->is_waiting = true;
    }
    c->was_match = is_match;
    return CSE_OK;
}

static cse_status cut_by_pattern(cutting *c, const cse_split_stage *stage)
{
    cse_split_search search = { .text = c->piece.view.text, .size = c->piece.view.size };
    size_t done = 0, range[2];
    for (int found; (found = cse_split_next(stage->pattern, c->matcher, &search, range)) != 0;) {
        if (found < 0)
            return cse_fail(CSE_DATA,
                            "the split pattern of the tokenizer takes too many steps on this text");
        if (range[0] > done)
            CSE_TRY(put_segment(c, done, range[0], false));
        CSE_TRY(put_segment(c, range[0], range[1], true));
        done = range[1];
    }
    return done < c->piece.view.size ? put_segment(c, done, c->piece.view.size, false) : CSE_OK;
}

static cse_status cut_by_kind(cutting *c, const cse_split_stage *stage)
{
    size_t begin = 0;
    int kind = 0; /* of the segment that began there */
    for (size_t i = 0, length; i < c->piece.view.size; i += length) {
        const int here = stage->kind_of(stage, cse_character_at(c->piece.view.text + i, &length));
        if (i > begin && (here != kind || (here != 0 && !stage->joins_kinds))) {
            CSE_TRY(put_segment(c, begin, i, kind != 0));
            begin = i;
        }
        kind = here;
    }
    return put_segment(c, begin, c->piece.view.size, kind != 0);
}

static cse_status cut_by_length(cutting *c, int64_t most)
{
    size_t begin = 0;
    int64_t count = 0; /* characters since there */
    for (size_t i = 0, length; i < c->piece.view.size; i += length) {
        cse_character_at(c->piece.view.text + i, &length);
        if (count++ < most)
            continue;
        CSE_TRY(hand_on(c, begin, i));
        begin = i;
        count = 1;
    }
    return hand_on(c, begin, c->piece.view.size);
}

/* A character without a script goes on with those before it; where it stands before the first
 * script it is left out, as in the original. */
static cse_status cut_by_script(cutting *c)
{
    size_t begin = 0;
    int script = 0;
    for (size_t i = 0, length; i < c->piece.view.size; i += length) {
        const int here = cse_script_of(cse_character_at(c->piece.view.text + i, &length));
        if (here == 0 || here == script)
            continue;
        if (script != 0)
            CSE_TRY(hand_on(c, begin, i));
        begin = i;
        script = here;
    }
    return script != 0 ? hand_on(c, begin, c->piece.view.size) : CSE_OK;
}

static bool begins_with(const cse_text_view *view, const char *text)
{
    const size_t size = strlen(text);
    return view->size >= size && memcmp(view->text, text, size) == 0;
}

/* The piece with the delimiter for spaces and before it. */
static void put_delimiters(cutting *c, const cse_split_stage *stage, cse_aligned_text *changed)
{
    const cse_text_view *view = &c->piece.view;
    const char *delimiter = stage->delimiter;
    const size_t length = strlen(delimiter);
    const bool has_it = begins_with(view, delimiter) ||
                        (stage->replaces_spaces && view->size > 0 && view->text[0] == ' ');
    const bool adds =
        stage->begins_with_it && !has_it && (!stage->only_the_first || c->piece.is_first);
    if (!adds && !(stage->replaces_spaces && memchr(view->text, ' ', view->size) != NULL))
        return;
    if (adds)
        cse_aligned_text_put(changed, view, 0, delimiter, length);
    size_t done = 0;
    for (size_t i = 0; i < view->size && stage->replaces_spaces; i++)
        if (view->text[i] == ' ') {
            cse_aligned_text_keep(changed, view, done, i);
            cse_aligned_text_put(changed, view, i, delimiter, length);
            done = i + 1;
        }
    cse_aligned_text_keep(changed, view, done, view->size);
    c->piece.view = cse_aligned_text_view(changed, view);
}

/* Each byte becomes the character that stands for it. */
static void put_byte_characters(cutting *c, cse_aligned_text *changed)
{
    const cse_text_view *view = &c->piece.view;
    for (size_t i = 0; i < view->size; i++) {
        char bytes[4];
        const uint32_t one = (uint32_t)cse_byte_character((unsigned char)view->text[i]);
        const size_t size = cse_character_bytes(one, bytes);
        cse_aligned_text_put(changed, view, i, bytes, size);
    }
    c->piece.view = cse_aligned_text_view(changed, view);
}

/* As deep as there are stages. */
static cse_status cut(cutting *c)
{
    if (c->stage == c->pre->count)
        return c->sink->put(c->sink->self, &c->piece.view);
    const cse_split_stage *stage = &c->pre->stages[c->stage];
    cse_aligned_text changed = { 0 };
    if (stage->begins_with_it || stage->replaces_spaces)
        put_delimiters(c, stage, &changed);
    if (stage->writes_bytes)
        put_byte_characters(c, &changed);
    cse_status status;
    if (stage->pattern != NULL)
        status = cut_by_pattern(c, stage);
    else if (stage->kind_of != NULL)
        status = cut_by_kind(c, stage);
    else if (stage->length > 0)
        status = cut_by_length(c, stage->length);
    else if (stage->cuts_scripts)
        status = cut_by_script(c);
    else
        status = hand_on(c, 0, c->piece.view.size);
    if (status == CSE_OK)
        status = end_waiting(c);
    cse_aligned_text_clear(&changed);
    return status;
}

cse_status cse_pre_tokenize(const cse_pre_tokenizers *pre, cse_split_matcher *matcher,
                            cse_piece piece, const cse_piece_sink *sink)
{
    cutting c = { .pre = pre, .matcher = matcher, .sink = sink, .piece = piece };
    return cut(&c);
}
