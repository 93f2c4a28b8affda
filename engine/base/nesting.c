/* One pass with counters. */
#include "engine/base/nesting.h"

static bool opens(char c)
{
    return c == '[' || c == '{';
}

static bool closes(char c)
{
    return c == ']' || c == '}';
}

static void step(cse_nesting *at, char c)
{
    at->column++;
    if (c == '\n') {
        at->line++;
        at->column = 0;
    }
}

bool cse_nesting_json(const char *text, size_t size, int most, cse_nesting *where)
{
    int depth = 0;
    bool quoted = false;
    *where = (cse_nesting){ 1, 0 };
    for (size_t i = 0; i < size; i++) {
        step(where, text[i]);
        if (quoted && text[i] == '\\' && i + 1 < size)
            step(where, text[++i]);
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted && closes(text[i]))
            depth--;
        else if (!quoted && opens(text[i]) && ++depth > most)
            return false;
    }
    return true;
}

bool cse_nesting_yaml(const char *text, size_t size, int most, cse_nesting *where)
{
    int before = 0, depth = 0; /* open before the last quote or comment, and since */
    *where = (cse_nesting){ 1, 0 };
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        step(where, c);
        if (c == '"' || c == '\'' || c == '#') {
            before += depth;
            depth = 0;
        } else if (opens(c)) {
            depth++;
        } else if (closes(c) && depth > 0) {
            depth--;
        }
        if (before + depth > most)
            return false;
    }
    return true;
}
