/* Limits, refusals and texts of a rendering; see run.h. */
#include "dataloader/chat/run.h"

#include <stdarg.h>
#include <stdio.h>

cse_status cse_jinja_refuse(const cse_jinja_run *run, const char *format, ...)
{
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return cse_fail_at(&(cse_error){ .status = CSE_DATA,
                                     .place = { run->source, run->at != NULL ? run->at->line : 1,
                                                run->at != NULL ? run->at->column : 1 } },
                       "%s", message);
}

cse_status cse_jinja_step(cse_jinja_run *run, size_t steps)
{
    run->steps += (int64_t)steps;
    if (run->steps > CSE_JINJA_MOST_STEPS)
        return cse_jinja_refuse(run, "the template takes more than %d steps", CSE_JINJA_MOST_STEPS);
    if (cse_arena_used_bytes(run->arena) > CSE_JINJA_MOST_ARENA_BYTES)
        return cse_jinja_refuse(run, "the template takes more than %d MB of memory",
                                CSE_JINJA_MOST_ARENA_BYTES >> 20);
    return CSE_OK;
}

static cse_status count_compared(cse_jinja_run *run, int64_t compared)
{
    return compared <= CSE_JINJA_MOST_COMPARED
               ? cse_jinja_step(run, (size_t)compared / 4)
               : cse_jinja_refuse(run, "two values have too many parts to be compared");
}

cse_status cse_jinja_are_equal(cse_jinja_run *run, const cse_jinja_value *a,
                               const cse_jinja_value *b, bool *equal)
{
    int64_t compared = 0;
    *equal = cse_jinja_equal(a, b, &compared);
    return count_compared(run, compared);
}

cse_status cse_jinja_order_of(cse_jinja_run *run, const cse_jinja_value *a,
                              const cse_jinja_value *b, int *order)
{
    int64_t compared = 0;
    const bool is_known = cse_jinja_order(a, b, order, &compared);
    CSE_TRY(count_compared(run, compared));
    return is_known ? CSE_OK
                    : cse_jinja_refuse(run, "a %s and a %s have no order", cse_jinja_kind_name(a),
                                       cse_jinja_kind_name(b));
}

cse_status cse_jinja_collected(cse_jinja_run *run, cse_text *text, cse_jinja_value *value)
{
    const bool fits = text->size < CSE_JINJA_MOST_BYTES;
    if (fits)
        *value = cse_jinja_text_copy(run->arena, text->data, text->size);
    cse_text_clear(text);
    return fits ? cse_jinja_step(run, value->text.length / 64)
                : cse_jinja_refuse(run, "a text has more than %d MB", CSE_JINJA_MOST_BYTES >> 20);
}

cse_status cse_jinja_str(cse_jinja_run *run, const cse_jinja_value *value, cse_jinja_value *text)
{
    cse_text out = { 0 };
    if (value->kind == CSE_JINJA_TEXT) {
        *text = *value;
        return CSE_OK;
    }
    cse_jinja_print(&out, value);
    return cse_jinja_collected(run, &out, text);
}
