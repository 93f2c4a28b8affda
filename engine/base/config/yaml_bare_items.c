/* Only a line that an error points to is changed, so that none within a longer text is. */
#include "engine/base/config/yaml_bare_items.h"

/* Where line `line` begins; the end of the text where there are fewer. */
static size_t line_begin(const char *text, size_t size, int line)
{
    size_t at = 0;
    for (int seen = 1; seen < line && at < size; at++)
        seen += text[at] == '\n';
    return at;
}

static size_t skip_blanks(const char *text, size_t at, size_t end)
{
    while (at < end && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r'))
        at++;
    return at;
}

static bool is_empty(const char *text, size_t at, size_t end)
{
    at = skip_blanks(text, at, end);
    return at == end || text[at] == '#';
}

/* Where the last dash of a line ends that has nothing but dashes; 0: it has something else. */
static size_t behind_dash(const char *text, size_t at, size_t end)
{
    size_t behind = 0;
    for (;;) {
        const size_t next = skip_blanks(text, at, end);
        if (behind > 0 && (next == end || (text[next] == '#' && next > at)))
            return behind;
        if (next == end || text[next] != '-' || (behind > 0 && next == at))
            return 0;
        at = behind = next + 1;
    }
}

bool cse_yaml_fill_bare_item(const char *text, size_t size, int line, cse_text *repaired)
{
    size_t begin = line_begin(text, size, line), end, behind;
    do {
        if (begin == 0)
            return false;
        end = begin - (begin < size || text[begin - 1] == '\n');
        for (begin = end; begin > 0 && text[begin - 1] != '\n';)
            begin--;
    } while (is_empty(text, begin, end));
    behind = behind_dash(text, begin, end);
    if (behind == 0)
        return false;
    cse_text_add_bytes(repaired, text, behind);
    cse_text_add_bytes(repaired, " null", 5);
    cse_text_add_bytes(repaired, text + behind, size - behind);
    return true;
}
