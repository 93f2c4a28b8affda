/* Statements of templates: plain text, {{ ... }} and the tags, whose rules stand in a table. */
#include <string.h>

#include "dataloader/chat/functions.h"
#include "dataloader/chat/parser.h"

/* ---- bodies ---- */

static cse_status parse_body(cse_jinja_parser *parser, const char *const *ends,
                             cse_jinja_nodes *body);

static cse_status expect_tag_end(cse_jinja_parser *parser)
{
    if (parser->at->kind != CSE_JINJA_TOKEN_TAG_END)
        return cse_jinja_refuse_token(parser, "\"%}\"");
    parser->at++;
    return CSE_OK;
}

/* One more body of the statement, up to a tag of `ends`, whose name is left to be taken. */
static cse_status parse_part(cse_jinja_parser *parser, const char *const *ends,
                             cse_jinja_node *node)
{
    cse_jinja_nodes *bodies =
        cse_arena_alloc(parser->arena, (node->body_count + 1) * sizeof *bodies);
    if (node->body_count > 0)
        memcpy(bodies, node->bodies, node->body_count * sizeof *bodies);
    node->bodies = bodies;
    CSE_TRY(expect_tag_end(parser));
    CSE_TRY(cse_jinja_go_deeper(parser));
    const cse_status status = parse_body(parser, ends, &bodies[node->body_count++]);
    parser->depth--;
    return status;
}

/* The only body, up to the tag `end`. */
static cse_status parse_whole(cse_jinja_parser *parser, const char *end, cse_jinja_node *node)
{
    const char *const ends[] = { end, NULL };
    CSE_TRY(parse_part(parser, ends, node));
    parser->at++;
    return CSE_OK;
}

/* ---- tags: each rule begins behind the tag's name and ends before "%}" ---- */

static cse_status parse_for(cse_jinja_parser *parser, cse_jinja_node *node)
{
    static const char *const ends[] = { "endfor", "else", NULL };
    node->kind = CSE_JINJA_FOR;
    CSE_TRY(cse_jinja_parse_target(parser, false, &node->first));
    if (!cse_jinja_skip_name(parser, "in"))
        return cse_jinja_refuse_token(parser, "\"in\"");
    CSE_TRY(cse_jinja_parse_tuple(parser, false, &node->second));
    if (cse_jinja_skip_name(parser, "if"))
        CSE_TRY(cse_jinja_parse_expression(parser, true, &node->third));
    node->is_recursive = cse_jinja_skip_name(parser, "recursive");
    parser->loops++;
    CSE_TRY(parse_part(parser, ends, node));
    parser->loops--;
    if (cse_jinja_skip_name(parser, "else"))
        return parse_whole(parser, "endfor", node);
    parser->at++;
    return CSE_OK;
}

static cse_status parse_if(cse_jinja_parser *parser, cse_jinja_node *node)
{
    static const char *const ends[] = { "elif", "else", "endif", NULL };
    node->kind = CSE_JINJA_IF;
    parser->conditions++;
    do {
        cse_jinja_node *condition;
        CSE_TRY(cse_jinja_parse_tuple(parser, false, &condition));
        cse_jinja_nodes_add(parser, &node->items, condition);
        CSE_TRY(parse_part(parser, ends, node));
    } while (cse_jinja_skip_name(parser, "elif"));
    if (cse_jinja_skip_name(parser, "else"))
        CSE_TRY(parse_whole(parser, "endif", node));
    else
        parser->at++;
    parser->conditions--;
    parser->unknown = NULL;
    return CSE_OK;
}

static cse_status check_functions(cse_jinja_parser *parser)
{
    if (parser->unknown != NULL && parser->conditions == 0)
        return cse_jinja_refuse_function(parser->source, parser->unknown);
    parser->unknown = NULL;
    return CSE_OK;
}

static cse_status parse_set(cse_jinja_parser *parser, cse_jinja_node *node)
{
    node->kind = CSE_JINJA_SET;
    CSE_TRY(cse_jinja_parse_target(parser, true, &node->first));
    if (cse_jinja_skip_operator(parser, "="))
        return cse_jinja_parse_tuple(parser, true, &node->second);
    node->kind = CSE_JINJA_SET_BLOCK;
    if (node->first->kind == CSE_JINJA_TUPLE_OF)
        return cse_jinja_refuse_token(parser, "\"=\"");
    CSE_TRY(cse_jinja_parse_filters(parser, false, &node->second));
    return parse_whole(parser, "endset", node);
}

/* "(a, b=1)" of a macro. */
static cse_status parse_parameters(cse_jinja_parser *parser, cse_jinja_node *macro)
{
    CSE_TRY(cse_jinja_expect_operator(parser, "("));
    while (!cse_jinja_skip_operator(parser, ")")) {
        const char *name = NULL;
        cse_jinja_node *value;
        if (macro->name_count > 0) {
            CSE_TRY(cse_jinja_expect_operator(parser, ","));
            if (cse_jinja_skip_operator(parser, ")"))
                break;
        }
        CSE_TRY(cse_jinja_expect_name(parser, &name));
        cse_jinja_names_add(parser, macro, name);
        if (cse_jinja_skip_operator(parser, "=")) {
            CSE_TRY(cse_jinja_parse_expression(parser, true, &value));
            cse_jinja_nodes_add(parser, &macro->items, value);
        } else if (macro->items.count > 0)
            return cse_jinja_refuse_here(parser,
                                         "the parameter \"%.60s\" without a default stands "
                                         "behind one with a default",
                                         name);
    }
    return CSE_OK;
}

static cse_status parse_macro_body(cse_jinja_parser *parser, const char *end, cse_jinja_node *macro)
{
    const int loops = parser->loops;
    parser->loops = 0;
    CSE_TRY(parse_whole(parser, end, macro));
    parser->loops = loops;
    return CSE_OK;
}

static cse_status parse_macro(cse_jinja_parser *parser, cse_jinja_node *node)
{
    node->kind = CSE_JINJA_MACRO;
    CSE_TRY(cse_jinja_expect_name(parser, &node->name));
    CSE_TRY(parse_parameters(parser, node));
    return parse_macro_body(parser, "endmacro", node);
}

static cse_status parse_call_block(cse_jinja_parser *parser, cse_jinja_node *node)
{
    node->kind = CSE_JINJA_CALL_BLOCK;
    node->second = cse_jinja_node_new(parser, CSE_JINJA_MACRO);
    node->second->name = "caller";
    if (cse_jinja_at_operator(parser, "("))
        CSE_TRY(parse_parameters(parser, node->second));
    CSE_TRY(cse_jinja_parse_expression(parser, true, &node->first));
    if (node->first->kind != CSE_JINJA_CALL)
        return cse_jinja_refuse_token(parser, "a call, such as name(...)");
    return parse_macro_body(parser, "endcall", node->second);
}

static cse_status parse_filter_block(cse_jinja_parser *parser, cse_jinja_node *node)
{
    node->kind = CSE_JINJA_FILTER_BLOCK;
    CSE_TRY(cse_jinja_parse_filters(parser, true, &node->second));
    return parse_whole(parser, "endfilter", node);
}

static cse_status parse_with(cse_jinja_parser *parser, cse_jinja_node *node)
{
    node->kind = CSE_JINJA_WITH;
    while (parser->at->kind != CSE_JINJA_TOKEN_TAG_END) {
        cse_jinja_node *target, *value;
        if (node->items.count > 0)
            CSE_TRY(cse_jinja_expect_operator(parser, ","));
        CSE_TRY(cse_jinja_parse_target(parser, false, &target));
        if (target->kind == CSE_JINJA_TUPLE_OF)
            return cse_jinja_refuse_token(parser, "one name");
        CSE_TRY(cse_jinja_expect_operator(parser, "="));
        CSE_TRY(cse_jinja_parse_expression(parser, true, &value));
        cse_jinja_nodes_add(parser, &node->items, target);
        cse_jinja_nodes_add(parser, &node->items, value);
    }
    return parse_whole(parser, "endwith", node);
}

static cse_status parse_generation(cse_jinja_parser *parser, cse_jinja_node *node)
{
    node->kind = CSE_JINJA_GENERATION;
    parser->marks_answers = true;
    return parse_macro_body(parser, "endgeneration", node);
}

static cse_status parse_print_tag(cse_jinja_parser *parser, cse_jinja_node *node)
{
    node->kind = CSE_JINJA_PRINT;
    node->first = cse_jinja_node_new(parser, CSE_JINJA_CONCAT);
    do {
        cse_jinja_node *item;
        CSE_TRY(cse_jinja_parse_expression(parser, true, &item));
        cse_jinja_nodes_add(parser, &node->first->items, item);
    } while (cse_jinja_skip_operator(parser, ","));
    return CSE_OK;
}

static cse_status parse_break(cse_jinja_parser *parser, cse_jinja_node *node)
{
    node->kind = strcmp(parser->at[-1].bytes, "break") == 0 ? CSE_JINJA_BREAK : CSE_JINJA_CONTINUE;
    parser->at--;
    if (parser->loops == 0)
        return cse_jinja_refuse_here(parser, "\"%s\" is accepted within {%% for %%} alone",
                                     parser->at->bytes);
    parser->at++;
    return CSE_OK;
}

static const struct {
    const char *name;
    cse_status (*parse)(cse_jinja_parser *parser, cse_jinja_node *node);
} tags[] = {
    { "for", parse_for },         { "if", parse_if },
    { "set", parse_set },         { "macro", parse_macro },
    { "call", parse_call_block }, { "filter", parse_filter_block },
    { "with", parse_with },       { "generation", parse_generation },
    { "print", parse_print_tag }, { "break", parse_break },
    { "continue", parse_break },
};

static cse_status refuse_tag(const cse_jinja_parser *parser)
{
    return cse_fail_at(
        &(cse_error){ .status = CSE_DATA,
                      .place = { parser->source, parser->at->line, parser->at->column },
                      .accepted =
                          "accepted: for, else, endfor, if, elif, endif, set, endset, macro, "
                          "endmacro, call, endcall, filter, endfilter, with, endwith, "
                          "generation, endgeneration, print, break, continue, raw, endraw" },
        "the tag \"%.60s\" is not accepted here", parser->at->bytes);
}

static cse_status parse_tag(cse_jinja_parser *parser, cse_jinja_nodes *body)
{
    if (parser->at->kind != CSE_JINJA_TOKEN_NAME)
        return cse_jinja_refuse_token(parser, "the name of a tag");
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
        if (cse_jinja_skip_name(parser, tags[i].name)) {
            parser->at--;
            cse_jinja_node *node = cse_jinja_node_new(parser, CSE_JINJA_IF);
            parser->at++;
            CSE_TRY(tags[i].parse(parser, node));
            CSE_TRY(check_functions(parser));
            cse_jinja_nodes_add(parser, body, node);
            return expect_tag_end(parser);
        }
    return refuse_tag(parser);
}

static cse_status parse_print(cse_jinja_parser *parser, cse_jinja_nodes *body)
{
    cse_jinja_node *node = cse_jinja_node_new(parser, CSE_JINJA_PRINT);
    parser->at++;
    CSE_TRY(cse_jinja_parse_tuple(parser, true, &node->first));
    if (parser->at->kind != CSE_JINJA_TOKEN_PRINT_END)
        return cse_jinja_refuse_token(parser, "\"}}\"");
    parser->at++;
    cse_jinja_nodes_add(parser, body, node);
    return check_functions(parser);
}

static bool is_one_of(const cse_jinja_parser *parser, const char *const *names)
{
    for (; names != NULL && *names != NULL; names++)
        if (cse_jinja_at_name(parser, *names))
            return true;
    return false;
}

static cse_status refuse_end(const cse_jinja_parser *parser, const char *const *ends)
{
    return cse_jinja_refuse_here(parser, "the template ends without {%% %s %%}", ends[0]);
}

/* Up to a tag of `ends` (NULL: the end of the template). */
static cse_status parse_body(cse_jinja_parser *parser, const char *const *ends,
                             cse_jinja_nodes *body)
{
    for (;;) {
        switch (parser->at->kind) {
        case CSE_JINJA_TOKEN_DATA: {
            cse_jinja_node *node = cse_jinja_node_new(parser, CSE_JINJA_DATA);
            node->value = cse_jinja_text(parser->at->bytes, parser->at->length);
            cse_jinja_nodes_add(parser, body, node);
            parser->at++;
            break;
        }
        case CSE_JINJA_TOKEN_PRINT_BEGIN:
            CSE_TRY(parse_print(parser, body));
            break;
        case CSE_JINJA_TOKEN_TAG_BEGIN:
            parser->at++;
            if (is_one_of(parser, ends))
                return CSE_OK;
            CSE_TRY(parse_tag(parser, body));
            break;
        default:
            return ends == NULL ? CSE_OK : refuse_end(parser, ends);
        }
    }
}

cse_status cse_jinja_parse(cse_jinja_parser *parser, cse_jinja_nodes *body)
{
    return parse_body(parser, NULL, body);
}
