/* A recursive-descent parser to a tree in one array; every part is evaluated, so that each name is
 * found to be known or not. */
#include "dashboard/query/expression.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "dashboard/query/lookup.h"
#include "engine/base/arena.h"

enum { MOST_NODES = 200, MOST_DEPTH = 40 };

typedef enum kind { ALL, ANY, NOT, COMPARISON, WORD } kind;
typedef enum operation { EQUAL, UNEQUAL, LESS, AT_MOST, MORE, AT_LEAST, CONTAINS } operation;

typedef struct node {
    kind kind;
    int left, right; /* of ALL, ANY; NOT has the left one */
    operation operation;
    char *name, *value; /* of a comparison; a word is a value */
    double number;      /* of the value, or NaN */
    bool known;         /* a job had the name */
} node;

struct cse_expression {
    node nodes[MOST_NODES];
    int count, root, depth;
    const char *text, *at; /* while it is parsed */
};

/* ---- parser ---- */

static cse_status refuse(const cse_expression *e, const char *what)
{
    return cse_fail(CSE_USAGE,
                    "where: %s at character %d (\"%.20s\"); accepted are words, NAME=VALUE (or !=, "
                    "<, <=, >, >=, ~ for \"contains\"), and, or, not, parentheses",
                    what, (int)(e->at - e->text) + 1, e->at);
}

static void skip_blanks(cse_expression *e)
{
    e->at += strspn(e->at, " \t\n");
}

static cse_status add(cse_expression *e, node new, int *index)
{
    if (e->count == MOST_NODES)
        return refuse(e, "too many parts");
    *index = e->count;
    e->nodes[e->count++] = new;
    return CSE_OK;
}

/* The length of a name, a word or a value without quotes. */
static size_t word_length(const char *at)
{
    return strcspn(at, " \t\n()=!<>~\"");
}

static bool take_keyword(cse_expression *e, const char *keyword)
{
    const size_t length = strlen(keyword);
    skip_blanks(e);
    if (word_length(e->at) != length || strncasecmp(e->at, keyword, length) != 0)
        return false;
    const char *after = e->at + length + strspn(e->at + length, " \t\n");
    if (*after != '\0' && strchr("=!<>~", *after) != NULL) /* the name of a comparison */
        return false;
    e->at += length;
    return true;
}

static bool take_operation(cse_expression *e, operation *found)
{
    static const struct {
        const char *text;
        operation operation;
    } all[] = { { "==", EQUAL }, { "!=", UNEQUAL }, { "<=", AT_MOST }, { ">=", AT_LEAST },
                { "=", EQUAL },  { "<", LESS },     { ">", MORE },     { "~", CONTAINS } };
    const char *before = e->at;
    skip_blanks(e);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strncmp(e->at, all[i].text, strlen(all[i].text)) == 0) {
            *found = all[i].operation;
            e->at += strlen(all[i].text);
            return true;
        }
    e->at = before;
    return false;
}

/* A word, or what stands in quotes. */
static cse_status take_text(cse_expression *e, char **text)
{
    skip_blanks(e);
    if (*e->at == '"') {
        const char *end = strchr(e->at + 1, '"');
        if (end == NULL)
            return refuse(e, "a quote without its end");
        *text = strndup(e->at + 1, (size_t)(end - e->at) - 1);
        e->at = end + 1;
        return CSE_OK;
    }
    const size_t length = word_length(e->at);
    if (length == 0)
        return refuse(e, *e->at == '\0' ? "a value is missing" : "a value was expected");
    *text = strndup(e->at, length);
    e->at += length;
    return CSE_OK;
}

/* "min(val_loss)" is one name. */
static size_t name_length(const char *at)
{
    static const char *const functions[] = { "min(", "max(", "last(", "at(" };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        const size_t head = strlen(functions[i]);
        if (strncasecmp(at, functions[i], head) != 0)
            continue;
        const size_t length = word_length(at + head);
        if (length > 0 && at[head + length] == ')')
            return head + length + 1;
    }
    return word_length(at);
}

static double number_of(const char *text)
{
    char *end = NULL;
    const double number = strtod(text, &end);
    return end != text && *end == '\0' ? number : (double)NAN;
}

static cse_status read_term(cse_expression *e, int *index)
{
    node n = { .kind = WORD, .number = (double)NAN };
    const size_t length = name_length(e->at);
    const bool quoted = *e->at == '"';
    const char *begin = e->at;
    e->at += quoted ? 0 : length;
    if (!quoted && length > 0 && take_operation(e, &n.operation)) {
        n.kind = COMPARISON;
        n.name = strndup(begin, length);
    } else {
        e->at = begin;
    }
    const char *colon = n.kind == WORD && !quoted ? memchr(begin, ':', length) : NULL;
    if (colon != NULL && colon > begin && colon + 1 < begin + length) { /* state:running */
        n.kind = COMPARISON;
        n.name = strndup(begin, (size_t)(colon - begin));
        e->at = colon + 1;
    }
    cse_status status = take_text(e, &n.value);
    if (status == CSE_OK && n.kind == COMPARISON)
        n.number = number_of(n.value);
    if (status == CSE_OK)
        status = add(e, n, index);
    if (status != CSE_OK) {
        free(n.name);
        free(n.value);
    }
    return status;
}

static cse_status read_any(cse_expression *e, int *index);

static cse_status read_one(cse_expression *e, int *index)
{
    int inner = 0;
    if (take_keyword(e, "not")) {
        if (++e->depth > MOST_DEPTH)
            return refuse(e, "too many levels");
        CSE_TRY(read_one(e, &inner));
        e->depth--;
        return add(e, (node){ .kind = NOT, .left = inner }, index);
    }
    skip_blanks(e);
    if (*e->at != '(')
        return read_term(e, index);
    if (++e->depth > MOST_DEPTH)
        return refuse(e, "too many levels");
    e->at++;
    CSE_TRY(read_any(e, index));
    skip_blanks(e);
    if (*e->at != ')')
        return refuse(e, "\")\" is missing");
    e->at++;
    e->depth--;
    return CSE_OK;
}

/* Whether a part ends here: at the end, a parenthesis or "or". */
static bool ends(cse_expression *e)
{
    skip_blanks(e);
    if (*e->at == '\0' || *e->at == ')')
        return true;
    const char *before = e->at;
    const bool other = take_keyword(e, "or");
    e->at = before;
    return other;
}

static cse_status read_all(cse_expression *e, int *index)
{
    int right = 0;
    CSE_TRY(read_one(e, index));
    while (!ends(e)) {
        (void)take_keyword(e, "and");
        CSE_TRY(read_one(e, &right));
        CSE_TRY(add(e, (node){ .kind = ALL, .left = *index, .right = right }, index));
    }
    return CSE_OK;
}

static cse_status read_any(cse_expression *e, int *index)
{
    int right = 0;
    CSE_TRY(read_all(e, index));
    while (take_keyword(e, "or")) {
        CSE_TRY(read_all(e, &right));
        CSE_TRY(add(e, (node){ .kind = ANY, .left = *index, .right = right }, index));
    }
    return CSE_OK;
}

cse_status cse_expression_parse(const char *text, cse_expression **expression)
{
    cse_expression *e = cse_calloc(1, sizeof *e);
    e->text = e->at = text;
    cse_status status = CSE_OK;
    if (strlen(text) > CSE_EXPRESSION_BYTES)
        status = refuse(e, "longer than 1000 characters");
    if (status == CSE_OK)
        status = read_any(e, &e->root);
    if (status == CSE_OK && *e->at != '\0')
        status = refuse(e, "something is left over");
    e->text = e->at = NULL;
    if (status != CSE_OK)
        cse_expression_destroy(&e);
    *expression = e;
    return status;
}

void cse_expression_destroy(cse_expression **expression)
{
    cse_expression *e = *expression;
    for (int i = 0; e != NULL && i < e->count; i++) {
        free(e->nodes[i].name);
        free(e->nodes[i].value);
    }
    free(e);
    *expression = NULL;
}

/* ---- evaluation ---- */

/* Numbers by value, else texts: whether the value stands to the wanted one as asked. */
static bool compares(const node *n, const char *text)
{
    const double number = number_of(text);
    const bool numbers = !isnan(number) && !isnan(n->number);
    const int order =
        numbers ? (number > n->number) - (number < n->number) : strverscmp(text, n->value);
    switch (n->operation) {
    case EQUAL:
    case UNEQUAL:
        return numbers ? order == 0 : strcasecmp(text, n->value) == 0;
    case LESS:
        return order < 0;
    case AT_MOST:
        return order <= 0;
    case MORE:
        return order > 0;
    case AT_LEAST:
        return order >= 0;
    case CONTAINS:
        return strcasestr(text, n->value) != NULL;
    }
    return false;
}

typedef struct asked {
    const node *node;
    bool holds;
} asked;

static void take_value(void *self, const char *text)
{
    asked *a = self;
    a->holds = a->holds || compares(a->node, text);
}

static bool holds(cse_expression *e, int index, const json_t *job, const json_t *values)
{
    node *n = &e->nodes[index];
    bool left, right;
    switch (n->kind) {
    case ALL:
    case ANY:
        left = holds(e, n->left, job, values);
        right = holds(e, n->right, job, values);
        return n->kind == ALL ? left && right : left || right;
    case NOT:
        return !holds(e, n->left, job, values);
    case WORD:
        return cse_lookup_word(n->value, job);
    case COMPARISON:
        break;
    }
    asked a = { .node = n };
    if (cse_lookup(n->name, job, values, take_value, &a))
        n->known = true;
    return n->operation == UNEQUAL ? !a.holds : a.holds;
}

bool cse_expression_holds(cse_expression *expression, const json_t *job, const json_t *values)
{
    return holds(expression, expression->root, job, values);
}

const char *cse_expression_unknown(const cse_expression *expression)
{
    for (int i = 0; i < expression->count; i++)
        if (expression->nodes[i].kind == COMPARISON && !expression->nodes[i].known)
            return expression->nodes[i].name;
    return NULL;
}
