/* `csengine prove`: the chain of a run's digests, signed. */
#include <stdio.h>

#include "cli/arguments/command_line.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "run/travel/proof.h"

static cse_status write_proof(const char *path, const cse_text *proof)
{
    FILE *file = fopen(path, "wxe");
    if (file == NULL)
        return cse_fail(CSE_CANNOT_CREATE, "prove: %s: it is there, or cannot be made", path);
    const bool written = fwrite(proof->data, 1, proof->size, file) == proof->size;
    return fclose(file) == 0 && written ? CSE_OK : cse_fail(CSE_IO, "prove: %s", path);
}

static int run(const cse_command_line *line)
{
    const char *output = cse_option_value(line, "output");
    cse_text proof = { 0 };
    cse_status status = cse_proof_make(line->arguments[0], &proof);
    if (status == CSE_OK && output != NULL)
        status = write_proof(output, &proof);
    else if (status == CSE_OK)
        cse_print("%s", proof.data);
    cse_text_clear(&proof);
    return cse_report(status);
}

static const cse_option options[] = {
    { "output", "FILE", NULL, "a new file for the proof; default: standard output" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "prove model_dir/a --output a.proof", "a text that `csengine verify` checks the run by" },
    { 0 },
};

const cse_command cse_command_prove = {
    .name = "prove",
    .group = CSE_GROUP_LOOK,
    .summary = "signs the chain of a run's digests",
    .arguments = "MODEL_DIR",
    .doc =
        "Writes the chain of the run at up to 64 steps, and what its steps follow from, as JSON\n"
        "with an Ed25519 signature. The key of this user is made at the first use, in\n"
        "~/.config/csengine/proof.key.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .examples = examples,
    .run = run,
};
