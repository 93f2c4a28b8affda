/* All conversations as tokens; see conversation_set.h. */
#include "dataloader/conversations/conversation_set.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/identity/data_watch.h"
#include "engine/base/arena.h"

enum { PLACE_BYTES = PATH_MAX + 64 };

typedef struct filling {
    cse_conversation_set *set;
    const cse_conversation_writer *writer;
    const cse_conversation_rules *rules;
    cse_conversation_tokens tokens;
    char first_without[PLACE_BYTES], first_cut_away[PLACE_BYTES], first_long[PLACE_BYTES];
} filling;

void cse_conversation_set_clear(cse_conversation_set *set)
{
    cse_conversation_files_clear(&set->files);
    free(set->ids);
    free(set->counts);
    free(set->items);
    free(set->lengths);
    *set = (cse_conversation_set){ 0 };
}

/* The place of the first of its kind. */
static void note(filling *f, int64_t row, char first[PLACE_BYTES])
{
    if (first[0] == '\0')
        cse_conversation_files_locate(&f->set->files, row, first, PLACE_BYTES);
}

static void keep(cse_conversation_set *set, const cse_conversation_tokens *tokens, int64_t count,
                 int64_t row)
{
    if (set->token_count + count > set->token_capacity) {
        set->token_capacity = 2 * (set->token_count + count);
        set->ids = cse_realloc(set->ids, (size_t)set->token_capacity * sizeof *set->ids);
        set->counts = cse_realloc(set->counts, (size_t)set->token_capacity);
    }
    memcpy(set->ids + set->token_count, tokens->ids.ids, (size_t)count * sizeof *set->ids);
    memcpy(set->counts + set->token_count, tokens->counts, (size_t)count);
    if (set->count == set->capacity) {
        set->capacity = set->capacity == 0 ? 64 : 2 * set->capacity;
        set->items = cse_realloc(set->items, (size_t)set->capacity * sizeof *set->items);
        set->lengths = cse_realloc(set->lengths, (size_t)set->capacity * sizeof *set->lengths);
    }
    set->items[set->count] = (cse_conversation_item){ set->token_count, row };
    set->lengths[set->count++] = (int32_t)count;
    set->token_count += count;
}

/* Whether some token that is predicted counts: the first one is not. */
static bool has_counted(const cse_conversation_tokens *tokens, int64_t count)
{
    for (int64_t t = 1; t < count; t++)
        if (tokens->counts[t])
            return true;
    return false;
}

static void judge(filling *f, int64_t row)
{
    cse_conversation_set *set = f->set;
    int64_t count = (int64_t)f->tokens.ids.count;
    const int64_t beyond = count - f->rules->most_tokens;
    if (!has_counted(&f->tokens, count)) {
        set->without_answer++;
        note(f, row, f->first_without);
        return;
    }
    if (beyond > 0) {
        note(f, row, f->first_long);
        if (f->rules->too_long != CSE_TOO_LONG_CUT) {
            set->left_out_long++;
            return;
        }
        count = f->rules->most_tokens;
        if (!has_counted(&f->tokens, count)) {
            set->cut_away++;
            note(f, row, f->first_cut_away);
            return;
        }
        set->cut++;
        set->cut_tokens += beyond;
    }
    keep(set, &f->tokens, count, row);
}

static cse_status take_row(filling *f, int64_t row)
{
    json_t *object = NULL;
    cse_conversation conversation = { 0 };
    cse_status status = cse_conversation_files_read(&f->set->files, row, &object);
    if (status == CSE_OK)
        status = cse_conversation_of_row(object, f->rules->format, &conversation);
    if (status == CSE_OK)
        status = cse_conversation_write(f->writer, &conversation, &f->tokens);
    if (status == CSE_OK)
        judge(f, row);
    else {
        char place[PLACE_BYTES];
        cse_conversation_files_locate(&f->set->files, row, place, sizeof place);
        status = cse_fail_within(status, "%s: ", place);
    }
    cse_conversation_clear(&conversation);
    json_decref(object);
    return status;
}

/* ---- what is refused, and what is told ---- */

static cse_status refuse(const filling *f)
{
    const cse_conversation_set *set = f->set;
    const int64_t rows = set->files.rows, most = f->rules->most_tokens;
    if (set->left_out_long > 0 && f->rules->too_long == CSE_TOO_LONG_REFUSED)
        return cse_fail(CSE_DATA,
                        "%" PRId64 " of %" PRId64 " conversations have more than %" PRId64
                        " tokens, the first: %s; a greater sequence_length has room for them, "
                        "too_long: cut or leave_out accepts them",
                        set->left_out_long, rows, most, f->first_long);
    if (set->without_answer > 0 && !f->rules->leaves_out)
        return cse_fail(CSE_DATA,
                        "%" PRId64 " of %" PRId64 " conversations have no answer that the loss "
                        "counts, the first: %s; without_answer: leave_out leaves them out",
                        set->without_answer, rows, f->first_without);
    if (set->cut_away > 0 && !f->rules->leaves_out)
        return cse_fail(CSE_DATA,
                        "%" PRId64 " of %" PRId64
                        " conversations have their answers beyond %" PRId64
                        " tokens, so that nothing of them would count, the first: %s; a greater "
                        "sequence_length has room for them, without_answer: leave_out leaves them "
                        "out",
                        set->cut_away, rows, most, f->first_cut_away);
    if (set->count == 0)
        return cse_fail(CSE_DATA, "%s: no conversation is left of %" PRId64,
                        cse_file_pool_path_view(set->files.pool, 0), rows);
    return CSE_OK;
}

static void tell(const filling *f)
{
    const cse_conversation_set *set = f->set;
    const char *path = cse_file_pool_path_view(set->files.pool, 0);
    const int64_t rows = set->files.rows, most = f->rules->most_tokens;
    if (set->cut > 0)
        cse_data_tell("%s: %" PRId64 " of %" PRId64 " conversations have more than %" PRId64
                      " tokens and are cut: %" PRId64 " tokens are left out, the first: %s",
                      path, set->cut, rows, most, set->cut_tokens, f->first_long);
    if (set->left_out_long > 0)
        cse_data_tell("%s: %" PRId64 " of %" PRId64 " conversations have more than %" PRId64
                      " tokens and are left out, the first: %s",
                      path, set->left_out_long, rows, most, f->first_long);
    if (set->without_answer > 0)
        cse_data_tell("%s: %" PRId64 " of %" PRId64
                      " conversations have no answer that the loss counts and are left out, the "
                      "first: %s",
                      path, set->without_answer, rows, f->first_without);
    if (set->cut_away > 0)
        cse_data_tell("%s: %" PRId64 " of %" PRId64 " conversations have their answers beyond "
                      "%" PRId64 " tokens and are left out, the first: %s",
                      path, set->cut_away, rows, most, f->first_cut_away);
}

cse_status cse_conversation_set_fill(cse_conversation_set *set,
                                     const cse_conversation_writer *writer,
                                     const cse_conversation_rules *rules)
{
    filling *f = cse_calloc(1, sizeof *f);
    cse_status status = CSE_OK;
    f->set = set;
    f->writer = writer;
    f->rules = rules;
    for (int64_t row = 0; row < set->files.rows && status == CSE_OK; row++)
        status = take_row(f, row);
    if (status == CSE_OK)
        status = refuse(f);
    if (status == CSE_OK)
        tell(f);
    cse_conversation_tokens_clear(&f->tokens);
    free(f);
    return status;
}
