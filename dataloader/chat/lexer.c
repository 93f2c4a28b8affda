/* A template cut into words; see lexer.h. Line ends are "\n" before anything else, and one line end
 * at the end of the template does not count, as in Jinja. */
#include "dataloader/chat/lexer.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/chat/characters.h"
#include "dataloader/chat/string_literal.h"

enum { MOST_BRACKETS = 100 };

typedef struct lexer {
    cse_arena *arena;
    const char *source, *text;
    size_t length, at;
    cse_jinja_token *tokens;
    size_t count, capacity;
    char brackets[MOST_BRACKETS];
    int depth;
    size_t line_at; /* places are counted on from the last one */
    int line;
    size_t line_begin;
    bool is_line_begin; /* what stood before `at` ended a line */
} lexer;

/* ---- places ---- */

static cse_place place_of(lexer *self, size_t at)
{
    int column = 1;
    for (; self->line_at < at; self->line_at++)
        if (self->text[self->line_at] == '\n') {
            self->line++;
            self->line_begin = self->line_at + 1;
        }
    for (size_t i = self->line_begin; i < at; i++)
        column += ((unsigned char)self->text[i] & 0xC0) != 0x80;
    return (cse_place){ self->source, self->line, column };
}

/* For what was begun before the last place. */
static cse_place earlier_place(lexer *self, size_t at)
{
    self->line_at = self->line_begin = 0;
    self->line = 1;
    return place_of(self, at);
}

static cse_jinja_token *add(lexer *self, cse_jinja_token_kind kind, size_t at, size_t length)
{
    if (self->count == self->capacity) {
        self->capacity = self->capacity == 0 ? 256 : 2 * self->capacity;
        cse_jinja_token *more = cse_arena_alloc(self->arena, self->capacity * sizeof *more);
        if (self->count > 0)
            memcpy(more, self->tokens, self->count * sizeof *more);
        self->tokens = more;
    }
    const cse_place place = place_of(self, at);
    cse_jinja_token *token = &self->tokens[self->count++];
    *token = (cse_jinja_token){ .kind = kind, .line = place.line, .column = place.column };
    char *bytes = cse_arena_alloc(self->arena, length + 1);
    memcpy(bytes, self->text + at, length);
    token->bytes = bytes;
    token->length = length;
    return token;
}

static bool has(const lexer *self, const char *word)
{
    const size_t size = strlen(word);
    return self->length - self->at >= size && memcmp(self->text + self->at, word, size) == 0;
}

/* ---- plain text ---- */

/* The text [begin, end) before a tag, without the white space that the tag takes. */
static void add_data(lexer *self, size_t begin, size_t end, char sign, bool strips_line)
{
    if (sign == '-')
        end = begin + cse_characters_strip_end(self->text + begin, end - begin);
    else if (sign != '+' && strips_line) {
        size_t line = end;
        while (line > begin && self->text[line - 1] != '\n')
            line--;
        if ((line > begin || self->is_line_begin) &&
            cse_characters_strip_end(self->text + line, end - line) == 0)
            end = line;
    }
    if (end > begin)
        add(self, CSE_JINJA_TOKEN_DATA, begin, end - begin);
}

/* Behind the end of a tag: what "-" or trim_blocks takes. */
static void after_tag(lexer *self, char sign, bool trims)
{
    const size_t before = self->at;
    if (sign == '-')
        self->at += cse_characters_strip_begin(self->text + self->at, self->length - self->at);
    else if (trims && sign != '+' && self->at < self->length && self->text[self->at] == '\n')
        self->at++;
    self->is_line_begin = self->at > before && self->text[self->at - 1] == '\n';
}

static char sign_at(lexer *self, const char *signs)
{
    const bool is_sign = self->at < self->length && strchr(signs, self->text[self->at]) != NULL &&
                         self->text[self->at] != '\0';
    return is_sign ? self->text[self->at++] : '\0';
}

static cse_status unfinished(lexer *self, size_t at, const char *begin, const char *end)
{
    return cse_fail_at(&(cse_error){ .status = CSE_DATA, .place = earlier_place(self, at) },
                       "\"%s\" has no \"%s\" behind it", begin, end);
}

/* {# ... #} */
static cse_status take_comment(lexer *self, size_t begin)
{
    const char *end = memmem(self->text + self->at, self->length - self->at, "#}", 2);
    if (end == NULL)
        return unfinished(self, begin, "{#", "#}");
    const size_t stop = (size_t)(end - self->text);
    const char sign = stop > self->at && (end[-1] == '-' || end[-1] == '+') ? end[-1] : '\0';
    self->at = stop + 2;
    after_tag(self, sign, true);
    return CSE_OK;
}

static void skip_blanks(lexer *self)
{
    self->at += cse_characters_strip_begin(self->text + self->at, self->length - self->at);
}

/* "raw %}" at the place, behind "{%": moves behind it. */
static bool take_word_tag(lexer *self, const char *word, char *sign)
{
    const size_t begin = self->at;
    skip_blanks(self);
    if (has(self, word)) {
        self->at += strlen(word);
        skip_blanks(self);
        *sign = sign_at(self, "-+");
        if (has(self, "%}")) {
            self->at += 2;
            return true;
        }
    }
    self->at = begin;
    return false;
}

/* {% raw %} ... {% endraw %}: the text between is what it is. */
static cse_status take_raw(lexer *self, size_t begin, char sign)
{
    if (sign == '-')
        skip_blanks(self);
    for (size_t from = self->at; self->at < self->length; self->at++) {
        const size_t end = self->at;
        if (!has(self, "{%"))
            continue;
        self->at += 2;
        const char before = sign_at(self, "-+");
        char after;
        if (take_word_tag(self, "endraw", &after)) {
            self->is_line_begin = false;
            add_data(self, from, end, before, true);
            after_tag(self, after, true);
            return CSE_OK;
        }
        self->at = end;
    }
    return unfinished(self, begin, "{% raw %}", "{% endraw %}");
}

/* ---- words inside of tags ---- */

static cse_status refuse(lexer *self, size_t at, const char *what)
{
    return cse_fail_at(&(cse_error){ .status = CSE_DATA, .place = earlier_place(self, at) }, "%s",
                       what);
}

static cse_status take_text(lexer *self)
{
    const size_t begin = self->at;
    const char quote = self->text[self->at++];
    while (self->at < self->length && self->text[self->at] != quote)
        self->at += self->text[self->at] == '\\' ? 2 : 1;
    if (self->at >= self->length)
        return refuse(self, begin, "a text has no closing quote");
    cse_jinja_token *token = add(self, CSE_JINJA_TOKEN_TEXT, begin + 1, self->at - begin - 1);
    const char *wrong;
    token->bytes =
        cse_string_literal(self->arena, token->bytes, token->length, &token->length, &wrong);
    if (token->bytes == NULL)
        return refuse(self, begin, wrong);
    self->at++;
    return CSE_OK;
}

static bool is_digit(const lexer *self, size_t at)
{
    return at < self->length && isdigit((unsigned char)self->text[at]);
}

static size_t digits_end(const lexer *self, size_t at)
{
    while (is_digit(self, at) ||
           (at < self->length && self->text[at] == '_' && is_digit(self, at + 1)))
        at++;
    return at;
}

/* Moves behind "e+5" or ".5e+5"; whether there was such. */
static bool take_fraction(const lexer *self, size_t *end)
{
    size_t at = *end;
    if (at < self->length && self->text[at] == '.' && is_digit(self, at + 1))
        at = digits_end(self, at + 1);
    if (at < self->length && (self->text[at] | 0x20) == 'e') {
        size_t exponent = at + 1;
        if (exponent < self->length && strchr("+-", self->text[exponent]) != NULL &&
            self->text[exponent] != '\0')
            exponent++;
        if (is_digit(self, exponent))
            at = digits_end(self, exponent);
    }
    const bool moved = at > *end;
    *end = at;
    return moved;
}

static int base_at(const lexer *self)
{
    const char letter = self->at + 2 < self->length && self->text[self->at] == '0'
                            ? self->text[self->at + 1]
                            : '\0';
    return (letter | 0x20) == 'x'   ? 16
           : (letter | 0x20) == 'o' ? 8
           : (letter | 0x20) == 'b' ? 2
                                    : 10;
}

static cse_status take_number(lexer *self)
{
    char digits[128];
    size_t count = 0, begin = self->at, end;
    const int base = base_at(self);
    bool is_float = false;
    if (base != 10)
        for (end = begin + 2; end < self->length && isalnum((unsigned char)self->text[end]); end++)
            ;
    else {
        end = digits_end(self, begin);
        is_float = (self->count == 0 || begin == 0 || self->text[begin - 1] != '.') &&
                   take_fraction(self, &end);
    }
    for (size_t i = base == 10 ? begin : begin + 2; i < end && count + 1 < sizeof digits; i++)
        if (self->text[i] != '_')
            digits[count++] = self->text[i];
    digits[count] = '\0';
    cse_jinja_token *token =
        add(self, is_float ? CSE_JINJA_TOKEN_FLOAT : CSE_JINJA_TOKEN_INTEGER, begin, end - begin);
    char *rest;
    errno = 0;
    if (is_float)
        token->number = strtod(digits, &rest);
    else
        token->integer = strtoll(digits, &rest, base);
    self->at = end;
    return *rest == '\0' && count > 0 && end - begin < sizeof digits && (is_float || errno == 0)
               ? CSE_OK
               : refuse(self, begin,
                        "a number is not in the range of 64 bits, or has more than "
                        "127 characters");
}

static cse_status take_operator(lexer *self)
{
    static const char *const operators[] = { "//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                             "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                             ">",  "<",  "=",  ".",  ":",  "|",  ",", ";" };
    const char *found = NULL;
    for (size_t i = 0; i < sizeof operators / sizeof operators[0] && found == NULL; i++)
        if (has(self, operators[i]))
            found = operators[i];
    if (found == NULL)
        return refuse(self, self->at, "a character that no expression has");
    add(self, CSE_JINJA_TOKEN_OPERATOR, self->at, strlen(found));
    if (strchr("([{", found[0]) != NULL) {
        if (self->depth == MOST_BRACKETS)
            return refuse(self, self->at, "more than 100 brackets stand in one another");
        self->brackets[self->depth++] = found[0] == '(' ? ')' : found[0] == '[' ? ']' : '}';
    } else if (strchr(")]}", found[0]) != NULL) {
        if (self->depth == 0 || self->brackets[self->depth - 1] != found[0])
            return refuse(self, self->at, "a closing bracket has no opening one of its kind");
        self->depth--;
    }
    self->at += strlen(found);
    return CSE_OK;
}

static cse_status take_word(lexer *self)
{
    const unsigned char first = (unsigned char)self->text[self->at];
    if (first == '"' || first == '\'')
        return take_text(self);
    if (isdigit(first))
        return take_number(self);
    const size_t length = cse_characters_name(self->text + self->at, self->length - self->at);
    if (length == 0)
        return take_operator(self);
    add(self, CSE_JINJA_TOKEN_NAME, self->at, length);
    self->at += length;
    return CSE_OK;
}

/* The words up to "%}" or "}}". */
static cse_status take_words(lexer *self, size_t begin, bool is_tag)
{
    const char *const end = is_tag ? "%}" : "}}";
    for (self->depth = 0;;) {
        skip_blanks(self);
        if (self->at >= self->length)
            return unfinished(self, begin, is_tag ? "{%" : "{{", end);
        const size_t at = self->at;
        const char sign = self->depth > 0 ? '\0' : sign_at(self, is_tag ? "-+" : "-");
        if (self->depth == 0 && has(self, end)) {
            add(self, is_tag ? CSE_JINJA_TOKEN_TAG_END : CSE_JINJA_TOKEN_PRINT_END, at, 0);
            self->at += 2;
            after_tag(self, sign, is_tag);
            return CSE_OK;
        }
        self->at = at;
        CSE_TRY(take_word(self));
    }
}

/* ---- the template ---- */

/* The begin of the next tag: '%', '{' or '#'; or the end. */
static char next_tag(lexer *self)
{
    for (; self->at + 1 < self->length; self->at++)
        if (self->text[self->at] == '{' && strchr("%{#", self->text[self->at + 1]) != NULL &&
            self->text[self->at + 1] != '\0')
            return self->text[self->at + 1];
    self->at = self->length;
    return '\0';
}

static cse_status take_tag(lexer *self, size_t from, char kind)
{
    const size_t begin = self->at;
    char after;
    self->at += 2;
    const char sign = sign_at(self, "-+");
    add_data(self, from, begin, sign, kind != '{');
    if (kind == '#')
        return take_comment(self, begin);
    if (kind == '%' && take_word_tag(self, "raw", &after))
        return take_raw(self, begin, after);
    add(self, kind == '%' ? CSE_JINJA_TOKEN_TAG_BEGIN : CSE_JINJA_TOKEN_PRINT_BEGIN, begin, 0);
    return take_words(self, begin, kind == '%');
}

/* A copy with "\n" for all line ends, without the last one. */
static char *with_plain_lines(cse_arena *arena, const char *text, size_t *length)
{
    size_t count = 0;
    char *copy = cse_arena_alloc(arena, *length + 1);
    for (size_t i = 0; i < *length; i++) {
        if (text[i] != '\r')
            copy[count++] = text[i];
        else if (i + 1 == *length || text[i + 1] != '\n')
            copy[count++] = '\n';
    }
    if (count > 0 && copy[count - 1] == '\n')
        count--;
    copy[count] = '\0';
    *length = count;
    return copy;
}

cse_status cse_jinja_lex(cse_arena *arena, const char *source, const char *text, size_t length,
                         cse_jinja_tokens *tokens)
{
    lexer self = { .arena = arena, .source = source, .line = 1, .is_line_begin = true };
    self.text = with_plain_lines(arena, text, &length);
    self.length = length;
    for (size_t at = 0; at < length;) {
        const size_t size = cse_utf8_length(self.text + at, length - at);
        if (size == 0)
            return refuse(&self, at, "the template is no UTF-8");
        at += size;
    }
    for (char kind = '{'; kind != '\0';) {
        const size_t from = self.at;
        kind = next_tag(&self);
        if (kind != '\0')
            CSE_TRY(take_tag(&self, from, kind));
        else if (self.at > from)
            add(&self, CSE_JINJA_TOKEN_DATA, from, self.at - from);
    }
    add(&self, CSE_JINJA_TOKEN_END, self.length, 0);
    *tokens = (cse_jinja_tokens){ self.tokens, self.count };
    return CSE_OK;
}
