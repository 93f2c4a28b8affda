/* Expressions of templates, by recursive descent: each rule calls the one that binds tighter.
 *
 *     condition: or [if or [else condition]]     or, and, not, comparison
 *     sum: concat {+ - concat}    concat: product {~ product}    product: power {* / // % power}
 *     power: unary {** unary}     unary: - + primary, then . [] () | is
 */
#include <string.h>

#include "dataloader/chat/functions.h"
#include "dataloader/chat/parser.h"

typedef cse_status (*rule)(cse_jinja_parser *parser, cse_jinja_node **node);

static cse_status parse_or(cse_jinja_parser *parser, cse_jinja_node **node);

/* `first` and `second` joined by a node of the kind. */
static cse_status join(cse_jinja_parser *parser, const cse_jinja_node *made, rule next,
                       cse_jinja_node **node)
{
    cse_jinja_node *joined = cse_jinja_node_new(parser, made->kind);
    joined->name = made->name;
    joined->first = *node;
    CSE_TRY(next(parser, &joined->second));
    *node = joined;
    return CSE_OK;
}

/* A chain of operators that bind to the left. */
static cse_status parse_chain(cse_jinja_parser *parser, const char *const *operators, rule next,
                              cse_jinja_node **node)
{
    CSE_TRY(next(parser, node));
    for (const char *const *operator= operators; *operator!= NULL;) {
        if (!cse_jinja_skip_operator(parser, *operator)) {
            operator++;
            continue;
        }
        const cse_jinja_node made = { .kind = CSE_JINJA_BINARY, .name = *operator};
        CSE_TRY(join(parser, &made, next, node));
        operator= operators;
    }
    return CSE_OK;
}

/* ---- literals ---- */

static cse_status parse_list(cse_jinja_parser *parser, cse_jinja_node **node)
{
    *node = cse_jinja_node_new(parser, CSE_JINJA_LIST_OF);
    while (!cse_jinja_skip_operator(parser, "]")) {
        cse_jinja_node *item;
        if ((*node)->items.count > 0) {
            CSE_TRY(cse_jinja_expect_operator(parser, ","));
            if (cse_jinja_skip_operator(parser, "]"))
                break;
        }
        CSE_TRY(cse_jinja_parse_expression(parser, true, &item));
        cse_jinja_nodes_add(parser, &(*node)->items, item);
    }
    return CSE_OK;
}

static cse_status parse_dict(cse_jinja_parser *parser, cse_jinja_node **node)
{
    *node = cse_jinja_node_new(parser, CSE_JINJA_DICT_OF);
    while (!cse_jinja_skip_operator(parser, "}")) {
        cse_jinja_node *key, *value;
        if ((*node)->items.count > 0) {
            CSE_TRY(cse_jinja_expect_operator(parser, ","));
            if (cse_jinja_skip_operator(parser, "}"))
                break;
        }
        CSE_TRY(cse_jinja_parse_expression(parser, true, &key));
        CSE_TRY(cse_jinja_expect_operator(parser, ":"));
        CSE_TRY(cse_jinja_parse_expression(parser, true, &value));
        cse_jinja_nodes_add(parser, &(*node)->items, key);
        cse_jinja_nodes_add(parser, &(*node)->items, value);
    }
    return CSE_OK;
}

static cse_status parse_brackets(cse_jinja_parser *parser, cse_jinja_node **node)
{
    if (cse_jinja_skip_operator(parser, ")")) {
        *node = cse_jinja_node_new(parser, CSE_JINJA_TUPLE_OF);
        return CSE_OK;
    }
    CSE_TRY(cse_jinja_parse_tuple(parser, true, node));
    return cse_jinja_expect_operator(parser, ")");
}

/* Texts side by side are one. */
static void parse_texts(cse_jinja_parser *parser, cse_jinja_node *node)
{
    cse_text joined = { 0 };
    for (; parser->at->kind == CSE_JINJA_TOKEN_TEXT; parser->at++)
        cse_text_add_bytes(&joined, parser->at->bytes, parser->at->length);
    node->value = cse_jinja_text_copy(parser->arena, joined.data, joined.size);
    cse_text_clear(&joined);
}

static void parse_name(cse_jinja_parser *parser, cse_jinja_node *node)
{
    static const struct {
        const char *name;
        cse_jinja_value value;
    } constants[] = {
        { "true", { .kind = CSE_JINJA_BOOLEAN, .boolean = true } },
        { "True", { .kind = CSE_JINJA_BOOLEAN, .boolean = true } },
        { "false", { .kind = CSE_JINJA_BOOLEAN } },
        { "False", { .kind = CSE_JINJA_BOOLEAN } },
        { "none", { .kind = CSE_JINJA_NONE } },
        { "None", { .kind = CSE_JINJA_NONE } },
    };
    node->kind = CSE_JINJA_NAME;
    node->name = parser->at->bytes;
    node->name_length = parser->at->length;
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++)
        if (strcmp(constants[i].name, node->name) == 0) {
            node->kind = CSE_JINJA_CONSTANT;
            node->value = constants[i].value;
        }
    parser->at++;
}

static cse_status parse_primary(cse_jinja_parser *parser, cse_jinja_node **node)
{
    *node = cse_jinja_node_new(parser, CSE_JINJA_CONSTANT);
    switch (parser->at->kind) {
    case CSE_JINJA_TOKEN_NAME:
        parse_name(parser, *node);
        return CSE_OK;
    case CSE_JINJA_TOKEN_TEXT:
        parse_texts(parser, *node);
        return CSE_OK;
    case CSE_JINJA_TOKEN_INTEGER:
        (*node)->value = cse_jinja_integer((parser->at++)->integer);
        return CSE_OK;
    case CSE_JINJA_TOKEN_FLOAT:
        (*node)->value = cse_jinja_float((parser->at++)->number);
        return CSE_OK;
    default:
        break;
    }
    if (cse_jinja_skip_operator(parser, "("))
        return parse_brackets(parser, node);
    if (cse_jinja_skip_operator(parser, "["))
        return parse_list(parser, node);
    if (cse_jinja_skip_operator(parser, "{"))
        return parse_dict(parser, node);
    return cse_jinja_refuse_token(parser, "an expression");
}

/* ---- behind a primary ---- */

static cse_status parse_bound(cse_jinja_parser *parser, cse_jinja_node **node)
{
    *node = NULL;
    return cse_jinja_at_operator(parser, ":") || cse_jinja_at_operator(parser, "]")
               ? CSE_OK
               : cse_jinja_parse_expression(parser, true, node);
}

/* "[...]" behind `first`; the opening bracket is taken. */
static cse_status parse_subscript(cse_jinja_parser *parser, cse_jinja_node *node)
{
    cse_jinja_node *bound;
    if (!cse_jinja_at_operator(parser, ":")) {
        CSE_TRY(cse_jinja_parse_tuple(parser, true, &node->second));
        if (cse_jinja_skip_operator(parser, "]"))
            return CSE_OK;
    }
    node->kind = CSE_JINJA_SLICE;
    cse_jinja_nodes_add(parser, &node->items, node->second);
    CSE_TRY(cse_jinja_expect_operator(parser, ":"));
    CSE_TRY(parse_bound(parser, &bound));
    cse_jinja_nodes_add(parser, &node->items, bound);
    bound = NULL;
    if (cse_jinja_skip_operator(parser, ":"))
        CSE_TRY(parse_bound(parser, &bound));
    cse_jinja_nodes_add(parser, &node->items, bound);
    return cse_jinja_expect_operator(parser, "]");
}

static cse_status parse_attribute(cse_jinja_parser *parser, cse_jinja_node *node)
{
    if (parser->at->kind == CSE_JINJA_TOKEN_INTEGER) {
        node->kind = CSE_JINJA_ITEM;
        return parse_primary(parser, &node->second);
    }
    if (parser->at->kind != CSE_JINJA_TOKEN_NAME)
        return cse_jinja_refuse_token(parser, "a name or a number behind \".\"");
    node->name = (parser->at++)->bytes;
    return CSE_OK;
}

static cse_status parse_argument(cse_jinja_parser *parser, cse_jinja_node *node)
{
    cse_jinja_node *value;
    const bool is_named = parser->at->kind == CSE_JINJA_TOKEN_NAME &&
                          parser->at[1].kind == CSE_JINJA_TOKEN_OPERATOR &&
                          strcmp(parser->at[1].bytes, "=") == 0;
    if (cse_jinja_at_operator(parser, "**") && node->named_rest == NULL) {
        parser->at++;
        return cse_jinja_parse_expression(parser, true, &node->named_rest);
    }
    if (node->named_rest != NULL || (node->named.count > 0 && !is_named) ||
        (node->rest != NULL && !is_named))
        return cse_jinja_refuse_here(parser,
                                     "an argument is out of order: positional ones come first, "
                                     "then *list, those by name, and **dict");
    if (cse_jinja_skip_operator(parser, "*"))
        return cse_jinja_parse_expression(parser, true, &node->rest);
    if (is_named) {
        cse_jinja_names_add(parser, node, parser->at->bytes);
        parser->at += 2;
    }
    CSE_TRY(cse_jinja_parse_expression(parser, true, &value));
    cse_jinja_nodes_add(parser, is_named ? &node->named : &node->items, value);
    return CSE_OK;
}

cse_status cse_jinja_parse_arguments(cse_jinja_parser *parser, cse_jinja_node *node)
{
    CSE_TRY(cse_jinja_expect_operator(parser, "("));
    for (bool first = true; !cse_jinja_skip_operator(parser, ")"); first = false) {
        if (!first) {
            CSE_TRY(cse_jinja_expect_operator(parser, ","));
            if (cse_jinja_skip_operator(parser, ")"))
                break;
        }
        CSE_TRY(parse_argument(parser, node));
    }
    return CSE_OK;
}

/* One that is not known is refused when the statement ends, unless a condition decides about it. */
static void find_function(cse_jinja_parser *parser, cse_jinja_node *node)
{
    node->function = cse_jinja_function_find(
        node->kind == CSE_JINJA_FILTER ? &cse_jinja_filters : &cse_jinja_tests, node->name);
    if (node->function == NULL && parser->unknown == NULL)
        parser->unknown = node;
}

cse_status cse_jinja_parse_filters(cse_jinja_parser *parser, bool name_first, cse_jinja_node **node)
{
    while (name_first || cse_jinja_skip_operator(parser, "|")) {
        cse_jinja_node *filter = cse_jinja_node_new(parser, CSE_JINJA_FILTER);
        filter->first = *node;
        CSE_TRY(cse_jinja_expect_name(parser, &filter->name));
        find_function(parser, filter);
        if (cse_jinja_at_operator(parser, "("))
            CSE_TRY(cse_jinja_parse_arguments(parser, filter));
        *node = filter;
        name_first = false;
    }
    return CSE_OK;
}

/* Whether an argument without brackets stands behind a test. */
static bool at_test_argument(const cse_jinja_parser *parser)
{
    if (parser->at->kind == CSE_JINJA_TOKEN_NAME)
        return !cse_jinja_at_name(parser, "else") && !cse_jinja_at_name(parser, "or") &&
               !cse_jinja_at_name(parser, "and") && !cse_jinja_at_name(parser, "is");
    return (parser->at->kind >= CSE_JINJA_TOKEN_TEXT &&
            parser->at->kind <= CSE_JINJA_TOKEN_FLOAT) ||
           cse_jinja_at_operator(parser, "[") || cse_jinja_at_operator(parser, "{");
}

static cse_status parse_test(cse_jinja_parser *parser, cse_jinja_node **node)
{
    cse_jinja_node *test = cse_jinja_node_new(parser, CSE_JINJA_TEST), *argument;
    const bool is_not = cse_jinja_skip_name(parser, "not");
    test->first = *node;
    CSE_TRY(cse_jinja_expect_name(parser, &test->name));
    find_function(parser, test);
    if (cse_jinja_at_operator(parser, "("))
        CSE_TRY(cse_jinja_parse_arguments(parser, test));
    else if (at_test_argument(parser)) {
        CSE_TRY(parse_primary(parser, &argument));
        CSE_TRY(cse_jinja_parse_postfix(parser, false, &argument));
        cse_jinja_nodes_add(parser, &test->items, argument);
    } else if (cse_jinja_at_name(parser, "is"))
        return cse_jinja_refuse_here(parser, "a test cannot follow a test: join them by \"and\"");
    *node = test;
    if (is_not) {
        *node = cse_jinja_node_new(parser, CSE_JINJA_NOT);
        (*node)->first = test;
    }
    return CSE_OK;
}

static cse_status parse_call(cse_jinja_parser *parser, cse_jinja_node **node)
{
    cse_jinja_node *call = cse_jinja_node_new(parser, CSE_JINJA_CALL);
    call->first = *node;
    *node = call;
    return cse_jinja_parse_arguments(parser, call);
}

/* `filters`: with "|" and "is" behind it. */
cse_status cse_jinja_parse_postfix(cse_jinja_parser *parser, bool filters, cse_jinja_node **node)
{
    bool is_filtered = false;
    for (;;) {
        cse_jinja_node *part = cse_jinja_node_new(parser, CSE_JINJA_ATTRIBUTE);
        part->first = *node;
        if (!is_filtered && cse_jinja_skip_operator(parser, ".")) {
            CSE_TRY(parse_attribute(parser, part));
            *node = part;
        } else if (!is_filtered && cse_jinja_skip_operator(parser, "[")) {
            part->kind = CSE_JINJA_ITEM;
            CSE_TRY(parse_subscript(parser, part));
            *node = part;
        } else if (cse_jinja_at_operator(parser, "("))
            CSE_TRY(parse_call(parser, node));
        else if (filters && cse_jinja_at_operator(parser, "|")) {
            CSE_TRY(cse_jinja_parse_filters(parser, false, node));
            is_filtered = true;
        } else if (filters && cse_jinja_skip_name(parser, "is")) {
            CSE_TRY(parse_test(parser, node));
            is_filtered = true;
        } else
            return CSE_OK;
    }
}

/* ---- operators, from what binds tightest ---- */

static cse_status parse_signed(cse_jinja_parser *parser, bool filters, cse_jinja_node **node)
{
    const bool is_minus = cse_jinja_at_operator(parser, "-");
    if (is_minus || cse_jinja_at_operator(parser, "+")) {
        cse_jinja_node *sign =
            cse_jinja_node_new(parser, is_minus ? CSE_JINJA_NEGATE : CSE_JINJA_POSITIVE);
        parser->at++;
        CSE_TRY(cse_jinja_go_deeper(parser));
        CSE_TRY(parse_signed(parser, false, &sign->first));
        parser->depth--;
        *node = sign;
    } else
        CSE_TRY(parse_primary(parser, node));
    return cse_jinja_parse_postfix(parser, filters, node);
}

static cse_status parse_unary(cse_jinja_parser *parser, cse_jinja_node **node)
{
    return parse_signed(parser, true, node);
}

static cse_status parse_power(cse_jinja_parser *parser, cse_jinja_node **node)
{
    static const char *const operators[] = { "**", NULL };
    return parse_chain(parser, operators, parse_unary, node);
}

static cse_status parse_product(cse_jinja_parser *parser, cse_jinja_node **node)
{
    static const char *const operators[] = { "*", "/", "//", "%", NULL };
    return parse_chain(parser, operators, parse_power, node);
}

static cse_status parse_concat(cse_jinja_parser *parser, cse_jinja_node **node)
{
    CSE_TRY(parse_product(parser, node));
    if (!cse_jinja_at_operator(parser, "~"))
        return CSE_OK;
    cse_jinja_node *concat = cse_jinja_node_new(parser, CSE_JINJA_CONCAT), *item;
    cse_jinja_nodes_add(parser, &concat->items, *node);
    while (cse_jinja_skip_operator(parser, "~")) {
        CSE_TRY(parse_product(parser, &item));
        cse_jinja_nodes_add(parser, &concat->items, item);
    }
    *node = concat;
    return CSE_OK;
}

static cse_status parse_sum(cse_jinja_parser *parser, cse_jinja_node **node)
{
    static const char *const operators[] = { "+", "-", NULL };
    return parse_chain(parser, operators, parse_concat, node);
}

static const char *take_comparison(cse_jinja_parser *parser)
{
    static const char *const operators[] = { "==", "!=", "<", ">", "<=", ">=" };
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (cse_jinja_skip_operator(parser, operators[i]))
            return operators[i];
    if (cse_jinja_skip_name(parser, "in"))
        return "in";
    if (cse_jinja_at_name(parser, "not") && parser->at[1].kind == CSE_JINJA_TOKEN_NAME &&
        strcmp(parser->at[1].bytes, "in") == 0) {
        parser->at += 2;
        return "not in";
    }
    return NULL;
}

static cse_status parse_comparison(cse_jinja_parser *parser, cse_jinja_node **node)
{
    cse_jinja_node *comparison = NULL, *item;
    CSE_TRY(parse_sum(parser, node));
    for (;;) {
        const char *operator= take_comparison(parser);
        if (operator== NULL)
            break;
        if (comparison == NULL)
            comparison = cse_jinja_node_new(parser, CSE_JINJA_COMPARE);
        CSE_TRY(parse_sum(parser, &item));
        cse_jinja_names_add(parser, comparison, operator);
        cse_jinja_nodes_add(parser, &comparison->items, item);
    }
    if (comparison != NULL) {
        comparison->first = *node;
        *node = comparison;
    }
    return CSE_OK;
}

static cse_status parse_not(cse_jinja_parser *parser, cse_jinja_node **node)
{
    if (!cse_jinja_at_name(parser, "not"))
        return parse_comparison(parser, node);
    *node = cse_jinja_node_new(parser, CSE_JINJA_NOT);
    parser->at++;
    CSE_TRY(cse_jinja_go_deeper(parser));
    CSE_TRY(parse_not(parser, &(*node)->first));
    parser->depth--;
    return CSE_OK;
}

static cse_status parse_and(cse_jinja_parser *parser, cse_jinja_node **node)
{
    const cse_jinja_node made = { .kind = CSE_JINJA_AND };
    CSE_TRY(parse_not(parser, node));
    while (cse_jinja_skip_name(parser, "and"))
        CSE_TRY(join(parser, &made, parse_not, node));
    return CSE_OK;
}

static cse_status parse_or(cse_jinja_parser *parser, cse_jinja_node **node)
{
    const cse_jinja_node made = { .kind = CSE_JINJA_OR };
    CSE_TRY(parse_and(parser, node));
    while (cse_jinja_skip_name(parser, "or"))
        CSE_TRY(join(parser, &made, parse_and, node));
    return CSE_OK;
}

cse_status cse_jinja_parse_expression(cse_jinja_parser *parser, bool conditions,
                                      cse_jinja_node **node)
{
    const cse_jinja_node *unknown = parser->unknown;
    CSE_TRY(cse_jinja_go_deeper(parser));
    CSE_TRY(parse_or(parser, node));
    while (conditions && cse_jinja_at_name(parser, "if")) {
        cse_jinja_node *condition = cse_jinja_node_new(parser, CSE_JINJA_CONDITION);
        parser->at++;
        condition->first = *node;
        CSE_TRY(parse_or(parser, &condition->second));
        if (cse_jinja_skip_name(parser, "else"))
            CSE_TRY(cse_jinja_parse_expression(parser, true, &condition->third));
        parser->unknown = unknown;
        *node = condition;
    }
    parser->depth--;
    return CSE_OK;
}

static bool at_tuple_end(const cse_jinja_parser *parser)
{
    return parser->at->kind == CSE_JINJA_TOKEN_TAG_END ||
           parser->at->kind == CSE_JINJA_TOKEN_PRINT_END || cse_jinja_at_operator(parser, ")") ||
           cse_jinja_at_operator(parser, "]") || cse_jinja_at_name(parser, "in") ||
           cse_jinja_at_name(parser, "recursive") || cse_jinja_at_operator(parser, "=");
}

cse_status cse_jinja_parse_tuple(cse_jinja_parser *parser, bool conditions, cse_jinja_node **node)
{
    CSE_TRY(cse_jinja_parse_expression(parser, conditions, node));
    if (!cse_jinja_at_operator(parser, ","))
        return CSE_OK;
    cse_jinja_node *tuple = cse_jinja_node_new(parser, CSE_JINJA_TUPLE_OF), *item;
    cse_jinja_nodes_add(parser, &tuple->items, *node);
    while (cse_jinja_skip_operator(parser, ",") && !at_tuple_end(parser)) {
        CSE_TRY(cse_jinja_parse_expression(parser, conditions, &item));
        cse_jinja_nodes_add(parser, &tuple->items, item);
    }
    *node = tuple;
    return CSE_OK;
}

/* ---- what is assigned to ---- */

static cse_status parse_one_target(cse_jinja_parser *parser, bool attributes, cse_jinja_node **node)
{
    if (cse_jinja_skip_operator(parser, "(")) {
        CSE_TRY(cse_jinja_go_deeper(parser));
        CSE_TRY(cse_jinja_parse_target(parser, attributes, node));
        parser->depth--;
        return cse_jinja_expect_operator(parser, ")");
    }
    if (parser->at->kind != CSE_JINJA_TOKEN_NAME)
        return cse_jinja_refuse_token(parser, "a name");
    *node = cse_jinja_node_new(parser, CSE_JINJA_NAME);
    parse_name(parser, *node);
    if ((*node)->kind != CSE_JINJA_NAME) {
        parser->at--;
        return cse_jinja_refuse_token(parser, "a name that can be set");
    }
    if (!attributes || !cse_jinja_skip_operator(parser, "."))
        return CSE_OK;
    cse_jinja_node *attribute = cse_jinja_node_new(parser, CSE_JINJA_ATTRIBUTE);
    attribute->first = *node;
    *node = attribute;
    return cse_jinja_expect_name(parser, &attribute->name);
}

cse_status cse_jinja_parse_target(cse_jinja_parser *parser, bool attributes, cse_jinja_node **node)
{
    CSE_TRY(parse_one_target(parser, attributes, node));
    if (!cse_jinja_at_operator(parser, ","))
        return CSE_OK;
    cse_jinja_node *tuple = cse_jinja_node_new(parser, CSE_JINJA_TUPLE_OF), *item;
    cse_jinja_nodes_add(parser, &tuple->items, *node);
    while (cse_jinja_skip_operator(parser, ",") && !at_tuple_end(parser)) {
        CSE_TRY(parse_one_target(parser, attributes, &item));
        cse_jinja_nodes_add(parser, &tuple->items, item);
    }
    *node = tuple;
    return CSE_OK;
}
