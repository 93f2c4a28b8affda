/* A stack machine, as the pickle is: each opcode takes values off the stack and puts one on it. No
 * opcode makes more than one value, so that memory is bounded by the size of the pickle. */
#include "engine/formats/weights/weight_formats/pickle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/text.h"

/* Names of callables; the types of storages are in another list. */
static const char call_tensor[] = "torch._utils _rebuild_tensor_v2";
static const char call_parameter[] = "torch._utils _rebuild_parameter";
static const char call_dict[] = "collections OrderedDict";
static const char call_size[] = "torch Size";

static const struct {
    const char *name;
    cse_element element;
} storages[] = {
    { "torch FloatStorage", CSE_ELEMENT_F32 }, { "torch BFloat16Storage", CSE_ELEMENT_BF16 },
    { "torch HalfStorage", CSE_ELEMENT_F16 },  { "torch DoubleStorage", CSE_ELEMENT_F64 },
    { "torch LongStorage", CSE_ELEMENT_I64 },  { "torch IntStorage", CSE_ELEMENT_I32 },
    { "torch ShortStorage", CSE_ELEMENT_I16 }, { "torch CharStorage", CSE_ELEMENT_I8 },
    { "torch ByteStorage", CSE_ELEMENT_U8 },   { "torch BoolStorage", CSE_ELEMENT_BOOL },
};
enum { STORAGES = sizeof storages / sizeof storages[0] };

typedef struct machine {
    cse_arena *arena;
    const char *source;
    const unsigned char *bytes;
    size_t size, at, opcode_at;
    cse_pickle_value **stack;
    int depth, capacity;
    cse_pickle_value **memo;
    size_t memo_size;
} machine;

static cse_status refuse(const machine *m, const char *what)
{
    return cse_fail(CSE_DATA,
                    "%s: byte %zu of the pickle: %s; accepted is what torch.load with "
                    "weights_only=True accepts: dictionaries of tensors",
                    m->source, m->opcode_at, what);
}

static cse_pickle_value *new_value(machine *m, cse_pickle_kind kind)
{
    cse_pickle_value *value = cse_arena_alloc(m->arena, sizeof *value);
    value->kind = kind;
    return value;
}

static cse_status push(machine *m, cse_pickle_value *value)
{
    CSE_GROW(m->stack, m->depth, m->capacity);
    m->stack[m->depth++] = value;
    return CSE_OK;
}

static void append(machine *m, cse_pickle_value *list, cse_pickle_value *item)
{
    if (list->count == list->capacity) {
        const int more = list->capacity > 0 ? 2 * list->capacity : 4;
        cse_pickle_value **items = cse_arena_alloc(m->arena, (size_t)more * sizeof *items);
        if (list->count > 0)
            memcpy(items, list->items, (size_t)list->count * sizeof *items);
        list->items = items;
        list->capacity = more;
    }
    list->items[list->count++] = item;
}

/* ---- arguments of opcodes ---- */

static cse_status take(machine *m, size_t bytes, const unsigned char **at)
{
    if (bytes > m->size - m->at)
        return refuse(m, "it ends in the middle");
    *at = m->bytes + m->at;
    m->at += bytes;
    return CSE_OK;
}

static cse_status take_number(machine *m, size_t bytes, uint64_t *number)
{
    const unsigned char *at = NULL;
    CSE_TRY(take(m, bytes, &at));
    *number = 0;
    for (size_t i = bytes; i > 0; i--)
        *number = *number << 8 | at[i - 1];
    return CSE_OK;
}

static cse_status push_integer(machine *m, int64_t integer)
{
    cse_pickle_value *value = new_value(m, CSE_PICKLE_INTEGER);
    value->integer = integer;
    return push(m, value);
}

static cse_status push_text(machine *m, size_t length_bytes)
{
    uint64_t length = 0;
    const unsigned char *at = NULL;
    CSE_TRY(take_number(m, length_bytes, &length));
    CSE_TRY(take(m, length, &at));
    if (memchr(at, 0, length) != NULL)
        return refuse(m, "a text has a zero byte");
    cse_pickle_value *value = new_value(m, CSE_PICKLE_TEXT);
    char *text = cse_arena_alloc(m->arena, length + 1);
    memcpy(text, at, length);
    value->text = text;
    return push(m, value);
}

/* An integer of up to 8 bytes, little endian, with a sign. */
static cse_status push_long(machine *m)
{
    uint64_t length = 0, number = 0;
    const unsigned char *at = NULL;
    CSE_TRY(take_number(m, 1, &length));
    CSE_TRY(take(m, length, &at));
    if (length > 8)
        return push(m, new_value(m, CSE_PICKLE_OTHER));
    for (size_t i = 0; i < length; i++)
        number |= (uint64_t)at[i] << (8 * i);
    if (length > 0 && length < 8 && at[length - 1] >= 128)
        number |= ~UINT64_C(0) << (8 * length);
    return push_integer(m, (int64_t)number);
}

/* "module\nname\n" of something that is allowed. */
static cse_status push_name(machine *m)
{
    static const char *const known[] = { call_tensor, call_parameter, call_dict, call_size };
    char text[128];
    const unsigned char *begin = m->bytes + m->at;
    const unsigned char *first = memchr(begin, '\n', m->size - m->at);
    const unsigned char *second =
        first == NULL ? NULL
                      : memchr(first + 1, '\n', m->size - m->at - (size_t)(first + 1 - begin));
    if (second == NULL || (size_t)(second - begin) >= sizeof text)
        return refuse(m, "a name does not end");
    const size_t length = (size_t)(second - begin);
    memcpy(text, begin, length);
    text[length] = '\0';
    text[first - begin] = ' ';
    m->at += length + 1;
    cse_pickle_value *value = new_value(m, CSE_PICKLE_NAME);
    value->integer = CSE_ELEMENT_COUNT;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i], text) == 0)
            value->text = known[i];
    for (int i = 0; i < STORAGES; i++)
        if (strcmp(storages[i].name, text) == 0) {
            value->text = storages[i].name;
            value->integer = (int64_t)storages[i].element;
        }
    if (value->text != NULL)
        return push(m, value);
    char what[192], printable[160];
    cse_text_printable(text, printable, sizeof printable);
    snprintf(what, sizeof what, "it would call or make %s", printable);
    return refuse(m, what);
}

/* ---- the stack ---- */

static cse_status pop(machine *m, cse_pickle_value **value)
{
    if (m->depth == 0 || m->stack[m->depth - 1]->kind == CSE_PICKLE_MARK)
        return refuse(m, "nothing is left on the stack");
    *value = m->stack[--m->depth];
    return CSE_OK;
}

/* The position of the last mark; -1: there is none. */
static int last_mark(const machine *m)
{
    int at = m->depth - 1;
    while (at >= 0 && m->stack[at]->kind != CSE_PICKLE_MARK)
        at--;
    return at;
}

/* A tuple of the values from a position on, which leave the stack. */
static cse_status make_tuple(machine *m, int first, int end)
{
    cse_pickle_value *tuple = new_value(m, CSE_PICKLE_LIST);
    if (first < 0)
        return refuse(m, "nothing is left on the stack");
    for (int i = first; i < m->depth; i++) {
        if (m->stack[i]->kind == CSE_PICKLE_MARK)
            return refuse(m, "nothing is left on the stack");
        append(m, tuple, m->stack[i]);
    }
    m->depth = end;
    return push(m, tuple);
}

/* Puts the values behind the last mark, or the last `count`, into the container below. */
static cse_status extend(machine *m, cse_pickle_kind kind, int count)
{
    const int mark = count > 0 ? m->depth - count : last_mark(m);
    const int first = count > 0 ? mark : mark + 1, container = mark - 1;
    if (container < 0 || m->stack[container]->kind != kind ||
        (kind == CSE_PICKLE_DICT && (m->depth - first) % 2 != 0))
        return refuse(m, "there is no container for the values on the stack");
    for (int i = first; i < m->depth; i++) {
        if (m->stack[i]->kind == CSE_PICKLE_MARK)
            return refuse(m, "there is no container for the values on the stack");
        append(m, m->stack[container], m->stack[i]);
    }
    m->depth = mark;
    return CSE_OK;
}

static cse_status store(machine *m, uint64_t index)
{
    if (m->depth == 0 || m->stack[m->depth - 1]->kind == CSE_PICKLE_MARK || index >= m->size)
        return refuse(m, "the memo has no such place");
    if (index >= m->memo_size) {
        const size_t more = index + 1 > 2 * m->memo_size ? index + 1 : 2 * m->memo_size;
        m->memo = cse_realloc(m->memo, more * sizeof *m->memo);
        memset(m->memo + m->memo_size, 0, (more - m->memo_size) * sizeof *m->memo);
        m->memo_size = more;
    }
    m->memo[index] = m->stack[m->depth - 1];
    return CSE_OK;
}

static cse_status recall(machine *m, uint64_t index)
{
    if (index >= m->memo_size || m->memo[index] == NULL)
        return refuse(m, "the memo has no such place");
    return push(m, m->memo[index]);
}

/* ---- calls ---- */

/* (storage, offset, shape, strides, requires_grad, hooks, ...) */
static cse_status make_tensor(machine *m, const cse_pickle_value *arguments)
{
    static const cse_pickle_kind kinds[] = { CSE_PICKLE_STORAGE, CSE_PICKLE_INTEGER,
                                             CSE_PICKLE_LIST, CSE_PICKLE_LIST };
    if (arguments->count < 6)
        return refuse(m, "a tensor has too few arguments");
    cse_pickle_value *tensor = new_value(m, CSE_PICKLE_TENSOR);
    for (int i = 0; i < 4; i++) {
        if (arguments->items[i]->kind != kinds[i])
            return refuse(m, "an argument of a tensor has another type");
        append(m, tensor, arguments->items[i]);
    }
    return push(m, tensor);
}

static cse_status call(machine *m)
{
    cse_pickle_value *arguments = NULL, *name = NULL;
    CSE_TRY(pop(m, &arguments));
    CSE_TRY(pop(m, &name));
    if (name->kind != CSE_PICKLE_NAME || arguments->kind != CSE_PICKLE_LIST)
        return refuse(m, "something is called that is no function");
    if (name->text == call_tensor)
        return make_tensor(m, arguments);
    if (name->text == call_dict && arguments->count == 0)
        return push(m, new_value(m, CSE_PICKLE_DICT));
    if (name->text == call_size && arguments->count == 1)
        return push(m, arguments->items[0]);
    if (name->text == call_parameter && arguments->count > 0 &&
        arguments->items[0]->kind == CSE_PICKLE_TENSOR)
        return push(m, arguments->items[0]);
    return refuse(m, "a function gets other arguments");
}

/* ("storage", type, key, place, elements) */
static cse_status make_storage(machine *m)
{
    cse_pickle_value *id = NULL;
    CSE_TRY(pop(m, &id));
    if (id->kind != CSE_PICKLE_LIST || id->count < 5 || id->items[0]->kind != CSE_PICKLE_TEXT ||
        strcmp(id->items[0]->text, "storage") != 0 || id->items[1]->kind != CSE_PICKLE_NAME ||
        id->items[1]->integer == CSE_ELEMENT_COUNT || id->items[2]->kind != CSE_PICKLE_TEXT)
        return refuse(m, "a persistent value is no storage");
    cse_pickle_value *storage = new_value(m, CSE_PICKLE_STORAGE);
    storage->integer = id->items[1]->integer;
    storage->text = id->items[2]->text;
    return push(m, storage);
}

/* A state for an object, as a dictionary's _metadata: of no use here. */
static cse_status drop_state(machine *m)
{
    cse_pickle_value *state = NULL;
    CSE_TRY(pop(m, &state));
    return m->depth > 0 && m->stack[m->depth - 1]->kind == CSE_PICKLE_DICT
               ? CSE_OK
               : refuse(m, "a state is for something that is no dictionary");
}

/* ---- opcodes ---- */

static cse_status unknown_opcode(const machine *m, unsigned char opcode)
{
    char what[64];
    snprintf(what, sizeof what, "the opcode 0x%02x is not accepted", opcode);
    return refuse(m, what);
}

/* Those that carry a value, or take one from the memo. */
static cse_status step_value(machine *m, unsigned char opcode)
{
    uint64_t number = 0;
    switch (opcode) {
    case 'J':
        CSE_TRY(take_number(m, 4, &number));
        return push_integer(m, (int32_t)(uint32_t)number);
    case 'K':
    case 'M':
        CSE_TRY(take_number(m, opcode == 'K' ? 1 : 2, &number));
        return push_integer(m, (int64_t)number);
    case 'G':
        CSE_TRY(take_number(m, 8, &number));
        return push(m, new_value(m, CSE_PICKLE_OTHER));
    case 0x8a:
        return push_long(m);
    case 'X':
    case 'T':
        return push_text(m, 4);
    case 'U':
        return push_text(m, 1);
    case 'c':
        return push_name(m);
    case 'q':
    case 'r':
        CSE_TRY(take_number(m, opcode == 'q' ? 1 : 4, &number));
        return store(m, number);
    case 'h':
    case 'j':
        CSE_TRY(take_number(m, opcode == 'h' ? 1 : 4, &number));
        return recall(m, number);
    default:
        return unknown_opcode(m, opcode);
    }
}

static cse_status step(machine *m, unsigned char opcode)
{
    switch (opcode) {
    case 'N':
    case 0x88:
    case 0x89:
        return push(m, new_value(m, CSE_PICKLE_OTHER));
    case '}':
        return push(m, new_value(m, CSE_PICKLE_DICT));
    case ']':
    case ')':
        return push(m, new_value(m, CSE_PICKLE_LIST));
    case '(':
        return push(m, new_value(m, CSE_PICKLE_MARK));
    case 't': {
        const int mark = last_mark(m);
        return mark < 0 ? refuse(m, "there is no mark") : make_tuple(m, mark + 1, mark);
    }
    case 0x85:
    case 0x86:
    case 0x87:
        return make_tuple(m, m->depth - (opcode - 0x84), m->depth - (opcode - 0x84));
    case 'u':
        return extend(m, CSE_PICKLE_DICT, 0);
    case 's':
        return extend(m, CSE_PICKLE_DICT, 2);
    case 'e':
        return extend(m, CSE_PICKLE_LIST, 0);
    case 'a':
        return extend(m, CSE_PICKLE_LIST, 1);
    case 'R':
        return call(m);
    case 'Q':
        return make_storage(m);
    case 'b':
        return drop_state(m);
    default:
        return step_value(m, opcode);
    }
}

static cse_status run(machine *m, cse_pickle_value **value)
{
    const unsigned char *opcode = NULL;
    if (m->size < 2 || m->bytes[0] != 0x80 || m->bytes[1] != 2)
        return refuse(m, "it is not of protocol 2");
    m->at = 2;
    for (;;) {
        m->opcode_at = m->at;
        CSE_TRY(take(m, 1, &opcode));
        if (*opcode == '.')
            return pop(m, value);
        CSE_TRY(step(m, *opcode));
    }
}

cse_status cse_pickle_read(cse_arena *arena, const char *source, const unsigned char *bytes,
                           size_t size, cse_pickle_value **value)
{
    machine m = { .arena = arena, .source = source, .bytes = bytes, .size = size };
    cse_status status = run(&m, value);
    free(m.stack);
    free(m.memo);
    return status;
}
