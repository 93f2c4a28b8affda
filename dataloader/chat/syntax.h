/* A template as a tree: what the parser makes and the evaluator reads. */
#ifndef CSE_DATALOADER_CHAT_SYNTAX_H
#define CSE_DATALOADER_CHAT_SYNTAX_H

#include "dataloader/chat/value.h"

typedef enum cse_jinja_node_kind {
    /* expressions */
    CSE_JINJA_CONSTANT,
    CSE_JINJA_NAME,
    CSE_JINJA_LIST_OF,
    CSE_JINJA_TUPLE_OF,
    CSE_JINJA_DICT_OF,   /* items: keys and values by turns */
    CSE_JINJA_ATTRIBUTE, /* first.name */
    CSE_JINJA_ITEM,      /* first[second] */
    CSE_JINJA_SLICE,     /* first[items[0]:items[1]:items[2]]; NULL: left out */
    CSE_JINJA_CALL,      /* first(arguments) */
    CSE_JINJA_FILTER,    /* first|name(arguments); first NULL: in a chain upon a block */
    CSE_JINJA_TEST,      /* first is name(arguments) */
    CSE_JINJA_NOT,
    CSE_JINJA_NEGATE,
    CSE_JINJA_POSITIVE,
    CSE_JINJA_BINARY,  /* first name second: + - * / // % ** */
    CSE_JINJA_CONCAT,  /* items joined by ~ */
    CSE_JINJA_COMPARE, /* first, then names[i] items[i] */
    CSE_JINJA_AND,
    CSE_JINJA_OR,
    CSE_JINJA_CONDITION, /* first if second else third; third may be NULL */
    /* statements */
    CSE_JINJA_DATA,
    CSE_JINJA_PRINT,
    CSE_JINJA_IF,           /* items: conditions; bodies: one each, and one more for else */
    CSE_JINJA_FOR,          /* first in second if third; bodies: each, else */
    CSE_JINJA_SET,          /* first = second */
    CSE_JINJA_SET_BLOCK,    /* first = bodies[0]; second: a chain of filters, or NULL */
    CSE_JINJA_MACRO,        /* name(names, defaults of the last ones in items) */
    CSE_JINJA_CALL_BLOCK,   /* first: the call; second: the macro `caller` */
    CSE_JINJA_FILTER_BLOCK, /* second: a chain of filters */
    CSE_JINJA_WITH,         /* items: targets and values by turns */
    CSE_JINJA_GENERATION,
    CSE_JINJA_BREAK,
    CSE_JINJA_CONTINUE,
} cse_jinja_node_kind;

typedef struct cse_jinja_node cse_jinja_node;

typedef struct cse_jinja_nodes {
    cse_jinja_node **nodes;
    size_t count, capacity;
} cse_jinja_nodes;

typedef struct cse_jinja_function cse_jinja_function;
typedef struct cse_jinja_functions cse_jinja_functions;

struct cse_jinja_node {
    cse_jinja_node_kind kind;
    int line, column;
    bool is_recursive; /* of FOR */
    const char *name;  /* of a name, attribute, filter, test, operator or macro */
    size_t name_length;
    cse_jinja_value value; /* of CONSTANT, DATA */
    cse_jinja_node *first, *second, *third;
    cse_jinja_nodes items; /* parts; of a call its arguments */
    const char **names;    /* of COMPARE its operators, of MACRO its parameters */
    size_t name_count;
    cse_jinja_nodes named;   /* arguments by name, whose names are in `names` */
    cse_jinja_nodes *bodies; /* [body_count], of statements */
    size_t body_count;
    cse_jinja_node *rest, *named_rest;  /* of a call: *rest, **named_rest */
    const cse_jinja_function *function; /* of FILTER and TEST */
};

#endif
