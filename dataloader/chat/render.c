/* Statements of templates: each adds its text to the run's output.
 *
 * A frame holds the names of one scope. {% for %}, {% with %}, macros and blocks whose text is
 * captured have one of their own; {% if %} has none. {% set %} writes to the innermost one. */
#include <string.h>

#include "dataloader/chat/functions.h"
#include "dataloader/chat/run.h"

typedef enum flow { GOES_ON, CONTINUES, BREAKS } flow;

static cse_status render_body(cse_jinja_run *run, const cse_jinja_nodes *body, flow *go);

static cse_jinja_frame *push_frame(cse_jinja_run *run, cse_jinja_frame *outer)
{
    cse_jinja_frame *frame = cse_arena_alloc(run->arena, sizeof *frame);
    frame->outer = outer;
    frame->names = cse_jinja_dict_new(run->arena, CSE_JINJA_DICT);
    return run->frame = frame;
}

static void set_name(cse_jinja_run *run, const char *name, cse_jinja_value value)
{
    cse_jinja_dict_set(run->arena, run->frame->names.dict, cse_jinja_word(name), value);
}

/* The text of a body in a scope of its own. */
static cse_status capture(cse_jinja_run *run, const cse_jinja_nodes *body, cse_jinja_value *text)
{
    cse_text out = { 0 }, *outer_out = run->out;
    cse_jinja_frame *outer = run->frame;
    flow go;
    run->out = &out;
    push_frame(run, outer);
    const cse_status status = render_body(run, body, &go);
    run->out = outer_out;
    run->frame = outer;
    if (status == CSE_OK)
        return cse_jinja_collected(run, &out, text);
    cse_text_clear(&out);
    return status;
}

/* ---- assignments ---- */

static cse_status assign_attribute(cse_jinja_run *run, const cse_jinja_node *target,
                                   const cse_jinja_value *value)
{
    cse_jinja_value holder;
    CSE_TRY(cse_jinja_evaluate(run, target->first, &holder));
    run->at = target;
    if (holder.kind != CSE_JINJA_NAMESPACE)
        return cse_jinja_refuse(run, "\"%s\" is no namespace: only attributes of one can be set",
                                target->first->name);
    if (target->name[0] == '_')
        return cse_jinja_refuse(run, "an attribute whose name begins with \"_\" cannot be set");
    cse_jinja_dict_set(run->arena, holder.dict, cse_jinja_word(target->name), *value);
    return CSE_OK;
}

static cse_status assign(cse_jinja_run *run, const cse_jinja_node *target,
                         const cse_jinja_value *value)
{
    cse_jinja_list *list;
    if (target->kind == CSE_JINJA_NAME) {
        set_name(run, target->name, *value);
        return CSE_OK;
    }
    if (target->kind == CSE_JINJA_ATTRIBUTE)
        return assign_attribute(run, target, value);
    run->at = target;
    CSE_TRY(cse_jinja_iterate(run, value, &list));
    if (list->count != target->items.count)
        return cse_jinja_refuse(run, "%zu values stand for %zu names", list->count,
                                target->items.count);
    for (size_t i = 0; i < list->count; i++)
        CSE_TRY(assign(run, target->items.nodes[i], &list->values[i]));
    return CSE_OK;
}

static cse_status render_set(cse_jinja_run *run, const cse_jinja_node *node, flow *go)
{
    cse_jinja_value value;
    (void)go;
    CSE_TRY(cse_jinja_evaluate(run, node->second, &value));
    return assign(run, node->first, &value);
}

/* Filters without a value at their begin get the text. */
static cse_status render_captured(cse_jinja_run *run, const cse_jinja_node *node,
                                  cse_jinja_value *text)
{
    CSE_TRY(capture(run, &node->bodies[0], text));
    return node->second != NULL ? cse_jinja_evaluate_upon(run, node->second, text) : CSE_OK;
}

static cse_status render_set_block(cse_jinja_run *run, const cse_jinja_node *node, flow *go)
{
    cse_jinja_value text;
    (void)go;
    CSE_TRY(render_captured(run, node, &text));
    return assign(run, node->first, &text);
}

/* ---- text ---- */

static cse_status check_output(const cse_jinja_run *run)
{
    return run->out->size < CSE_JINJA_MOST_BYTES
               ? CSE_OK
               : cse_jinja_refuse(run, "the text has more than %d MB", CSE_JINJA_MOST_BYTES >> 20);
}

static cse_status render_data(cse_jinja_run *run, const cse_jinja_node *node, flow *go)
{
    (void)go;
    run->at = node;
    cse_text_add_bytes(run->out, node->value.text.bytes, node->value.text.length);
    return check_output(run);
}

static cse_status render_print(cse_jinja_run *run, const cse_jinja_node *node, flow *go)
{
    cse_jinja_value value;
    (void)go;
    CSE_TRY(cse_jinja_evaluate(run, node->first, &value));
    run->at = node;
    cse_jinja_print(run->out, &value);
    return check_output(run);
}

static cse_status render_filter_block(cse_jinja_run *run, const cse_jinja_node *node, flow *go)
{
    cse_jinja_value text;
    (void)go;
    CSE_TRY(render_captured(run, node, &text));
    cse_jinja_print(run->out, &text);
    return check_output(run);
}

static cse_status render_generation(cse_jinja_run *run, const cse_jinja_node *node, flow *go)
{
    cse_jinja_frame *outer = run->frame;
    const size_t begin = run->out->size;
    push_frame(run, outer);
    CSE_TRY(render_body(run, &node->bodies[0], go));
    run->frame = outer;
    if (run->out == run->whole)
        cse_chat_text_add_span(run->text, begin, run->out->size);
    else
        run->text->spans_lost = true;
    return CSE_OK;
}

/* ---- what decides and repeats ---- */

static cse_status render_if(cse_jinja_run *run, const cse_jinja_node *node, flow *go)
{
    for (size_t i = 0; i < node->items.count; i++) {
        cse_jinja_value condition;
        CSE_TRY(cse_jinja_evaluate(run, node->items.nodes[i], &condition));
        if (cse_jinja_is_true(&condition))
            return render_body(run, &node->bodies[i], go);
    }
    return node->body_count > node->items.count
               ? render_body(run, &node->bodies[node->items.count], go)
               : CSE_OK;
}

/* The values for which "for ... if" holds. */
static cse_status choose(cse_jinja_run *run, const cse_jinja_node *node, cse_jinja_list **list)
{
    const cse_jinja_list *all = *list;
    cse_jinja_frame *outer = run->frame;
    cse_jinja_value chosen = cse_jinja_list_new(run->arena, CSE_JINJA_LIST, 0), condition;
    for (size_t i = 0; i < all->count; i++) {
        push_frame(run, outer);
        CSE_TRY(assign(run, node->first, &all->values[i]));
        CSE_TRY(cse_jinja_evaluate(run, node->third, &condition));
        if (cse_jinja_is_true(&condition))
            cse_jinja_list_add(run->arena, chosen.list, all->values[i]);
    }
    run->frame = outer;
    *list = chosen.list;
    return CSE_OK;
}

static cse_status render_else(cse_jinja_run *run, const cse_jinja_node *node, flow *go)
{
    cse_jinja_frame *outer = run->frame;
    if (node->body_count < 2)
        return CSE_OK;
    push_frame(run, outer);
    CSE_TRY(render_body(run, &node->bodies[1], go));
    run->frame = outer;
    return CSE_OK;
}

static cse_status repeat(cse_jinja_run *run, cse_jinja_loop *loop, const cse_jinja_node *node)
{
    cse_jinja_frame *outer = run->frame;
    for (loop->index = 0; loop->index < loop->list->count; loop->index++) {
        flow go = GOES_ON;
        CSE_TRY(cse_jinja_step(run, 1));
        push_frame(run, outer);
        set_name(run, "loop", (cse_jinja_value){ .kind = CSE_JINJA_LOOP, .loop = loop });
        CSE_TRY(assign(run, node->first, &loop->list->values[loop->index]));
        CSE_TRY(render_body(run, &node->bodies[0], &go));
        if (go == BREAKS)
            break;
    }
    run->frame = outer;
    return CSE_OK;
}

static cse_status render_loop(cse_jinja_run *run, const cse_jinja_node *node,
                              const cse_jinja_value *values, int depth)
{
    flow go = GOES_ON;
    cse_jinja_loop *loop = cse_arena_alloc(run->arena, sizeof *loop);
    run->at = node;
    CSE_TRY(cse_jinja_iterate(run, values, &loop->list));
    if (node->third != NULL)
        CSE_TRY(choose(run, node, &loop->list));
    loop->depth = depth;
    loop->node = node->is_recursive ? node : NULL;
    loop->frame = run->frame;
    return loop->list->count == 0 ? render_else(run, node, &go) : repeat(run, loop, node);
}

static cse_status render_for(cse_jinja_run *run, const cse_jinja_node *node, flow *go)
{
    cse_jinja_value values;
    (void)go;
    CSE_TRY(cse_jinja_evaluate(run, node->second, &values));
    return render_loop(run, node, &values, 0);
}

static cse_status call_loop(cse_jinja_run *run, cse_jinja_loop *loop, const cse_jinja_value *values,
                            cse_jinja_value *result)
{
    cse_text out = { 0 }, *outer_out = run->out;
    cse_jinja_frame *outer = run->frame;
    if (loop->node == NULL)
        return cse_jinja_refuse(run, "loop(...) is for {%% for ... recursive %%}");
    run->out = &out;
    run->frame = loop->frame;
    const cse_status status = render_loop(run, loop->node, values, loop->depth + 1);
    run->out = outer_out;
    run->frame = outer;
    if (status == CSE_OK)
        return cse_jinja_collected(run, &out, result);
    cse_text_clear(&out);
    return status;
}

static cse_status render_with(cse_jinja_run *run, const cse_jinja_node *node, flow *go)
{
    cse_jinja_frame *outer = run->frame;
    cse_jinja_value values = cse_jinja_list_new(run->arena, CSE_JINJA_LIST, 0), value;
    for (size_t i = 1; i < node->items.count; i += 2) {
        CSE_TRY(cse_jinja_evaluate(run, node->items.nodes[i], &value));
        cse_jinja_list_add(run->arena, values.list, value);
    }
    push_frame(run, outer);
    for (size_t i = 0; i < node->items.count; i += 2)
        CSE_TRY(assign(run, node->items.nodes[i], &values.list->values[i / 2]));
    CSE_TRY(render_body(run, &node->bodies[0], go));
    run->frame = outer;
    return CSE_OK;
}

static cse_status render_jump(cse_jinja_run *run, const cse_jinja_node *node, flow *go)
{
    (void)run;
    *go = node->kind == CSE_JINJA_BREAK ? BREAKS : CONTINUES;
    return CSE_OK;
}

/* ---- macros ---- */

static cse_jinja_value macro_of(cse_jinja_run *run, const cse_jinja_node *node)
{
    cse_jinja_callable *callable = cse_arena_alloc(run->arena, sizeof *callable);
    callable->macro = node;
    callable->frame = run->frame;
    return (cse_jinja_value){ .kind = CSE_JINJA_CALLABLE, .callable = callable };
}

static cse_status render_macro(cse_jinja_run *run, const cse_jinja_node *node, flow *go)
{
    (void)go;
    set_name(run, node->name, macro_of(run, node));
    return CSE_OK;
}

/* {% call f(x) %}...{% endcall %}: f(x, caller=...) */
static cse_status render_call_block(cse_jinja_run *run, const cse_jinja_node *node, flow *go)
{
    cse_jinja_value text;
    (void)go;
    const cse_jinja_value caller = macro_of(run, node->second);
    CSE_TRY(cse_jinja_evaluate_call_with(run, node->first, "caller", &caller, &text));
    cse_jinja_print(run->out, &text);
    return check_output(run);
}

/* Names of a call that stand for none of the parameters left over: "caller" or a refusal. */
static cse_status take_other_names(cse_jinja_run *run, const cse_jinja_node *macro,
                                   const cse_jinja_call *call)
{
    for (size_t i = 0; i < call->named_count; i++) {
        size_t place = 0;
        while (place < macro->name_count && strcmp(macro->names[place], call->names[i]) != 0)
            place++;
        const bool is_known = place < macro->name_count;
        if (is_known ? place < call->count : strcmp(call->names[i], "caller") != 0)
            return cse_jinja_refuse(run, "the macro \"%s\" %s \"%s\"", macro->name,
                                    is_known ? "is given twice" : "has no parameter",
                                    call->names[i]);
        if (!is_known)
            set_name(run, "caller", call->named[i]);
    }
    return CSE_OK;
}

static cse_status bind_parameters(cse_jinja_run *run, const cse_jinja_node *macro,
                                  const cse_jinja_call *call)
{
    const size_t needed = macro->name_count - macro->items.count;
    if (call->count > macro->name_count)
        return cse_jinja_refuse(run, "the macro \"%s\" takes %zu arguments, not %zu", macro->name,
                                macro->name_count, call->count);
    for (size_t i = 0; i < macro->name_count; i++) {
        cse_jinja_value value = cse_jinja_argument(call, i, macro->names[i]);
        if (value.kind == CSE_JINJA_ABSENT && i >= needed)
            CSE_TRY(cse_jinja_evaluate(run, macro->items.nodes[i - needed], &value));
        else if (value.kind == CSE_JINJA_ABSENT)
            value = cse_jinja_undefined(macro->names[i]);
        set_name(run, macro->names[i], value);
    }
    return take_other_names(run, macro, call);
}

static cse_status call_macro(cse_jinja_run *run, const cse_jinja_callable *callable,
                             const cse_jinja_call *call, cse_jinja_value *result)
{
    cse_jinja_frame *outer = run->frame;
    push_frame(run, callable->frame);
    CSE_TRY(bind_parameters(run, callable->macro, call));
    CSE_TRY(capture(run, &callable->macro->bodies[0], result));
    run->frame = outer;
    return CSE_OK;
}

/* ---- all of them ---- */

typedef cse_status (*renderer)(cse_jinja_run *run, const cse_jinja_node *node, flow *go);

static const renderer renderers[] = {
    [CSE_JINJA_DATA] = render_data,
    [CSE_JINJA_PRINT] = render_print,
    [CSE_JINJA_IF] = render_if,
    [CSE_JINJA_FOR] = render_for,
    [CSE_JINJA_SET] = render_set,
    [CSE_JINJA_SET_BLOCK] = render_set_block,
    [CSE_JINJA_MACRO] = render_macro,
    [CSE_JINJA_CALL_BLOCK] = render_call_block,
    [CSE_JINJA_FILTER_BLOCK] = render_filter_block,
    [CSE_JINJA_WITH] = render_with,
    [CSE_JINJA_GENERATION] = render_generation,
    [CSE_JINJA_BREAK] = render_jump,
    [CSE_JINJA_CONTINUE] = render_jump,
};

/* Up to a jump. */
static cse_status render_body(cse_jinja_run *run, const cse_jinja_nodes *body, flow *go)
{
    *go = GOES_ON;
    if (++run->depth > CSE_JINJA_MOST_DEPTH)
        return cse_jinja_refuse(run, "macros call one another more than %d deep",
                                CSE_JINJA_MOST_DEPTH);
    for (size_t i = 0; i < body->count && *go == GOES_ON; i++) {
        CSE_TRY(cse_jinja_step(run, 1));
        CSE_TRY(renderers[body->nodes[i]->kind](run, body->nodes[i], go));
    }
    run->depth--;
    return CSE_OK;
}

cse_status cse_jinja_render(cse_jinja_run *run, const cse_jinja_nodes *body)
{
    flow go;
    run->call_macro = call_macro;
    run->call_loop = call_loop;
    run->filters = &cse_jinja_filters;
    run->tests = &cse_jinja_tests;
    return render_body(run, body, &go);
}
