/* From words to a tree: the grammar of Jinja. Expressions and statements have a file each. */
#ifndef CSE_DATALOADER_CHAT_PARSER_H
#define CSE_DATALOADER_CHAT_PARSER_H

#include "dataloader/chat/lexer.h"
#include "dataloader/chat/syntax.h"

typedef struct cse_jinja_parser {
    cse_arena *arena;
    const char *source;
    const cse_jinja_token *at;
    int depth;
    int loops;      /* {% for %} that are open, for break and continue */
    int conditions; /* {% if %} that are open */
    /* The first filter or test of the statement that is not known; refused, as in Jinja, where no
     * condition decides whether it is reached. */
    const cse_jinja_node *unknown;
    bool marks_answers;
} cse_jinja_parser;

/* The whole template. */
cse_status cse_jinja_parse(cse_jinja_parser *parser, cse_jinja_nodes *body);

/* ---- for the two files ---- */

cse_jinja_node *cse_jinja_node_new(cse_jinja_parser *parser, cse_jinja_node_kind kind);
void cse_jinja_nodes_add(cse_jinja_parser *parser, cse_jinja_nodes *nodes, cse_jinja_node *node);
/* Adds a name to the node's. */
void cse_jinja_names_add(cse_jinja_parser *parser, cse_jinja_node *node, const char *name);
bool cse_jinja_at_operator(const cse_jinja_parser *parser, const char *text);
bool cse_jinja_at_name(const cse_jinja_parser *parser, const char *text);
/* Moves on where it is there. */
bool cse_jinja_skip_operator(cse_jinja_parser *parser, const char *text);
bool cse_jinja_skip_name(cse_jinja_parser *parser, const char *text);
cse_status cse_jinja_expect_operator(cse_jinja_parser *parser, const char *text);
cse_status cse_jinja_expect_name(cse_jinja_parser *parser, const char **name);
cse_status cse_jinja_refuse_token(const cse_jinja_parser *parser, const char *expected);
/* Refuses with a message and the place of the next token. */
cse_status cse_jinja_refuse_here(const cse_jinja_parser *parser, const char *format, ...)
    CSE_PRINTF(2, 3);
/* Every rule that calls itself goes in and out here; the depth is bounded. */
cse_status cse_jinja_go_deeper(cse_jinja_parser *parser);

/* `conditions`: with "a if b else c". */
cse_status cse_jinja_parse_expression(cse_jinja_parser *parser, bool conditions,
                                      cse_jinja_node **node);
/* One, or several with commas between, which are a tuple. */
cse_status cse_jinja_parse_tuple(cse_jinja_parser *parser, bool conditions, cse_jinja_node **node);
/* A name, an attribute of a name where `attributes`, or a tuple of them. */
cse_status cse_jinja_parse_target(cse_jinja_parser *parser, bool attributes, cse_jinja_node **node);
/* "(...)" into `items`, `names`, `named`, `rest` and `named_rest` of the node. */
cse_status cse_jinja_parse_arguments(cse_jinja_parser *parser, cse_jinja_node *node);
/* "|a|b(c)" upon `first`; with `name_first`, a filter's name is there without "|". */
cse_status cse_jinja_parse_filters(cse_jinja_parser *parser, bool name_first,
                                   cse_jinja_node **node);
cse_status cse_jinja_parse_postfix(cse_jinja_parser *parser, bool filters, cse_jinja_node **node);

#endif
