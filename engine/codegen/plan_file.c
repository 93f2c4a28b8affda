/* "CSEPLAN1", a digest of the rest, then the rest: versions, the object's facts, program, graph. */
#include "engine/codegen/plan_file.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/codegen/codegen.h"

enum { MAGIC_BYTES = 8, DIGEST_BYTES = 16, HEAD_BYTES = MAGIC_BYTES + DIGEST_BYTES };
enum { PATH_BYTES = 4096 + 64 };
static const char magic[] = "CSEPLAN1";

static cse_status read_file(const char *path, cse_text *text)
{
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return cse_fail(CSE_NO_INPUT, "compiled step: %s: %s", path, strerror(errno));
    size_t size;
    do {
        cse_text_reserve(text, text->size + (1 << 16));
        size = fread(text->data + text->size, 1, text->capacity - text->size - 1, file);
        text->size += size;
    } while (size > 0);
    bool failed = ferror(file) != 0;
    fclose(file);
    return failed ? cse_fail(CSE_IO, "compiled step: %s: cannot be read", path) : CSE_OK;
}

static void digest_of(const char *bytes, size_t size, unsigned char digest[DIGEST_BYTES])
{
    crypto_generichash(digest, DIGEST_BYTES, (const unsigned char *)bytes, size, NULL, 0);
}

void cse_plan_file_write(const cse_graph *graph, const cse_program *program,
                         const cse_object_facts *object, const cse_calls *calls, cse_text *out)
{
    unsigned char digest[DIGEST_BYTES] = { 0 };
    char fingerprint[33];
    cse_graph_fingerprint(graph, fingerprint);
    cse_text_add_bytes(out, magic, MAGIC_BYTES);
    cse_text_add_bytes(out, (const char *)digest, sizeof digest);
    cse_pack_count(out, CSE_STEP_ABI);
    cse_pack_text(out, fingerprint);
    cse_pack_count(out, object->bytes);
    cse_text_add_bytes(out, (const char *)object->digest, sizeof object->digest);
    cse_program_pack(program, out);
    cse_graph_pack(graph, calls, out);
    digest_of(out->data + HEAD_BYTES, out->size - HEAD_BYTES, digest);
    memcpy(out->data + MAGIC_BYTES, digest, sizeof digest);
}

static bool is_intact(const cse_text *text)
{
    unsigned char digest[DIGEST_BYTES];
    if (text->size < HEAD_BYTES || memcmp(text->data, magic, MAGIC_BYTES) != 0)
        return false;
    digest_of(text->data + HEAD_BYTES, text->size - HEAD_BYTES, digest);
    return memcmp(text->data + MAGIC_BYTES, digest, sizeof digest) == 0;
}

/* What stands before the program. */
static cse_status read_head(cse_unpacker *from, cse_plan_file *plan)
{
    size_t size;
    uint64_t abi = cse_unpack_count(from, UINT32_MAX);
    if (abi != CSE_STEP_ABI)
        return cse_fail(CSE_DATA,
                        "was made for ABI version %d, this engine has %d; remove its directory and "
                        "compile again",
                        (int)abi, CSE_STEP_ABI);
    const char *fingerprint = cse_unpack_text(from, &size);
    snprintf(plan->fingerprint, sizeof plan->fingerprint, "%.*s", (int)size, fingerprint);
    plan->object.bytes = cse_unpack_count(from, INT64_MAX);
    if (from->end - from->at < CSE_OBJECT_DIGEST_BYTES)
        return cse_fail(CSE_DATA, "the plan is damaged");
    memcpy(plan->object.digest, from->at, sizeof plan->object.digest);
    from->at += sizeof plan->object.digest;
    return CSE_OK;
}

static cse_status read_plan(const cse_text *text, const cse_calls *calls, cse_plan_file *plan)
{
    if (!is_intact(text))
        return cse_fail(CSE_DATA, "the plan is damaged; remove its directory and compile again");
    cse_unpacker from = { .at = (const unsigned char *)text->data + HEAD_BYTES,
                          .end = (const unsigned char *)text->data + text->size };
    CSE_TRY(read_head(&from, plan));
    cse_program_unpack(&from, &plan->program);
    CSE_TRY(cse_graph_unpack(&from, calls, &plan->graph));
    return plan->object.bytes > 0 ? cse_program_check(&plan->program, plan->graph) : CSE_OK;
}

cse_status cse_plan_file_read(const char *directory, const cse_calls *calls, cse_plan_file *plan)
{
    char path[PATH_BYTES];
    cse_text text = { 0 };
    *plan = (cse_plan_file){ .graph = NULL };
    snprintf(path, sizeof path, "%s/step.plan", directory);
    cse_status status = read_file(path, &text);
    if (status == CSE_OK) {
        status = read_plan(&text, calls, plan);
        if (status != CSE_OK)
            status = cse_fail_within(status, "compiled step: %s: ", path);
    }
    cse_text_clear(&text);
    if (status != CSE_OK)
        cse_plan_file_clear(plan);
    return status;
}

void cse_plan_file_clear(cse_plan_file *plan)
{
    cse_graph_destroy(&plan->graph);
    cse_program_clear(&plan->program);
}

/* ---- the object ---- */

cse_object_facts cse_object_facts_read(const char *directory)
{
    char path[PATH_BYTES];
    cse_text text = { 0 };
    cse_object_facts facts = { .bytes = 0 };
    snprintf(path, sizeof path, "%s/step.so", directory);
    if (read_file(path, &text) == CSE_OK && text.size > 0) {
        facts.bytes = text.size;
        digest_of(text.data, text.size, facts.digest);
    }
    cse_text_clear(&text);
    return facts;
}

static bool is_object_of(const cse_plan_file *plan, const char *directory)
{
    const cse_object_facts facts = cse_object_facts_read(directory);
    return facts.bytes == plan->object.bytes &&
           memcmp(facts.digest, plan->object.digest, sizeof facts.digest) == 0;
}

cse_status cse_plan_file_check_object(const cse_plan_file *plan, const char *directory)
{
    if (is_object_of(plan, directory))
        return CSE_OK;
    return cse_fail(CSE_DATA,
                    "compiled step: %s/step.so: is damaged, or belongs to another graph than the "
                    "step.plan beside it; remove the directory and compile again",
                    directory);
}

bool cse_plan_file_is_whole(const char *directory, bool compiler_present)
{
    char path[PATH_BYTES];
    cse_text text = { 0 };
    cse_plan_file plan = { .graph = NULL };
    snprintf(path, sizeof path, "%s/step.plan", directory);
    bool whole = read_file(path, &text) == CSE_OK && is_intact(&text);
    if (whole) {
        cse_unpacker from = { .at = (const unsigned char *)text.data + HEAD_BYTES,
                              .end = (const unsigned char *)text.data + text.size };
        whole = read_head(&from, &plan) == CSE_OK && !from.wrong;
    }
    cse_text_clear(&text);
    return whole && (compiler_present ? plan.object.bytes > 0 && is_object_of(&plan, directory)
                                      : plan.object.bytes == 0);
}
