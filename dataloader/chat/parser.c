/* What both files of the grammar share; see parser.h. */
#include "dataloader/chat/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_DEPTH = 100 };

cse_jinja_node *cse_jinja_node_new(cse_jinja_parser *parser, cse_jinja_node_kind kind)
{
    cse_jinja_node *node = cse_arena_alloc(parser->arena, sizeof *node);
    node->kind = kind;
    node->line = parser->at->line;
    node->column = parser->at->column;
    return node;
}

void cse_jinja_nodes_add(cse_jinja_parser *parser, cse_jinja_nodes *nodes, cse_jinja_node *node)
{
    if (nodes->count == nodes->capacity) {
        nodes->capacity = nodes->capacity == 0 ? 4 : 2 * nodes->capacity;
        cse_jinja_node **more = cse_arena_alloc(parser->arena, nodes->capacity * sizeof *more);
        if (nodes->count > 0)
            memcpy(more, nodes->nodes, nodes->count * sizeof *more);
        nodes->nodes = more;
    }
    nodes->nodes[nodes->count++] = node;
}

void cse_jinja_names_add(cse_jinja_parser *parser, cse_jinja_node *node, const char *name)
{
    const char **more =
        cse_arena_alloc(parser->arena, (node->name_count + 1) * sizeof *node->names);
    if (node->name_count > 0)
        memcpy(more, node->names, node->name_count * sizeof *more);
    more[node->name_count++] = name;
    node->names = more;
}

bool cse_jinja_at_operator(const cse_jinja_parser *parser, const char *text)
{
    return parser->at->kind == CSE_JINJA_TOKEN_OPERATOR && strcmp(parser->at->bytes, text) == 0;
}

bool cse_jinja_at_name(const cse_jinja_parser *parser, const char *text)
{
    return parser->at->kind == CSE_JINJA_TOKEN_NAME && strcmp(parser->at->bytes, text) == 0;
}

bool cse_jinja_skip_operator(cse_jinja_parser *parser, const char *text)
{
    const bool is_there = cse_jinja_at_operator(parser, text);
    parser->at += is_there;
    return is_there;
}

bool cse_jinja_skip_name(cse_jinja_parser *parser, const char *text)
{
    const bool is_there = cse_jinja_at_name(parser, text);
    parser->at += is_there;
    return is_there;
}

static void describe_token(const cse_jinja_token *token, char text[64])
{
    static const char *const names[] = {
        [CSE_JINJA_TOKEN_END] = "the end of the template",
        [CSE_JINJA_TOKEN_DATA] = "text",
        [CSE_JINJA_TOKEN_TAG_BEGIN] = "\"{%\"",
        [CSE_JINJA_TOKEN_TAG_END] = "\"%}\"",
        [CSE_JINJA_TOKEN_PRINT_BEGIN] = "\"{{\"",
        [CSE_JINJA_TOKEN_PRINT_END] = "\"}}\"",
    };
    if (token->kind == CSE_JINJA_TOKEN_TEXT)
        snprintf(text, 64, "the text '%.40s'", token->bytes);
    else if (token->kind >= CSE_JINJA_TOKEN_NAME)
        snprintf(text, 64, "\"%.50s\"", token->bytes);
    else
        snprintf(text, 64, "%s", names[token->kind]);
}

cse_status cse_jinja_refuse_here(const cse_jinja_parser *parser, const char *format, ...)
{
    char message[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return cse_fail_at(
        &(cse_error){ .status = CSE_DATA,
                      .place = { parser->source, parser->at->line, parser->at->column } },
        "%s", message);
}

cse_status cse_jinja_refuse_token(const cse_jinja_parser *parser, const char *expected)
{
    char found[64];
    describe_token(parser->at, found);
    return cse_jinja_refuse_here(parser, "%s stands where %s is expected", found, expected);
}

cse_status cse_jinja_expect_operator(cse_jinja_parser *parser, const char *text)
{
    char expected[16];
    snprintf(expected, sizeof expected, "\"%s\"", text);
    return cse_jinja_skip_operator(parser, text) ? CSE_OK
                                                 : cse_jinja_refuse_token(parser, expected);
}

cse_status cse_jinja_expect_name(cse_jinja_parser *parser, const char **name)
{
    if (parser->at->kind != CSE_JINJA_TOKEN_NAME)
        return cse_jinja_refuse_token(parser, "a name");
    *name = (parser->at++)->bytes;
    return CSE_OK;
}

cse_status cse_jinja_go_deeper(cse_jinja_parser *parser)
{
    if (++parser->depth > MOST_DEPTH)
        return cse_jinja_refuse_here(parser, "expressions or tags are nested more than %d deep",
                                     MOST_DEPTH);
    return CSE_OK;
}
