/* Banks of external memory of ming engine: from files and from the program's images, and to files.
 * Tests: lit/tools/ming-engine-banks.test */
#include <stdlib.h>
#include <string.h>

#include "tools/engine/internal.h"

/* "BANK:REST": the bank, and a pointer to the rest. */
static bool split_bank(const Tool *tool, const char *flag, const char *text, size_t *bank,
                       const char **rest)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (end == text || *end != ':' || !end[1] || number < 0)
        return tool_error(tool, "error: --%s takes BANK:%s, not '%s'", flag,
                          strcmp(flag, "space") == 0 ? "BYTES" : "FILE", text);
    if (number >= ENGINE_MAX_BANKS)
        return tool_error(tool, "error: --%s names bank %ld; there are 0 to %d", flag, number,
                          ENGINE_MAX_BANKS - 1);
    *bank = (size_t)number;
    *rest = end + 1;
    return true;
}

/* Lets the bank hold so many bytes, zeros behind what it has. */
static EngineBank *grow_bank(EngineJob *job, size_t bank, size_t size)
{
    EngineBank *b = &job->banks[bank];
    if (bank >= job->bank_count) job->bank_count = bank + 1;
    if (size <= b->size) return b;
    b->bytes = xrealloc(b->bytes, size);
    memset(b->bytes + b->size, 0, size - b->size);
    b->size = size;
    return b;
}

bool job_load_bank(EngineJob *job, const char *flag, const char *text)
{
    StrBuf bytes = {0};
    const char *path, *reason = NULL;
    size_t bank;
    if (!split_bank(job->tool, flag, text, &bank, &path)) return false;
    bool ok = file_read(&bytes, path, &reason) ||
              tool_error(job->tool, "error: cannot read '%s': %s", path, reason);
    if (ok && bytes.len > 0) memcpy(grow_bank(job, bank, bytes.len)->bytes, bytes.data, bytes.len);
    strbuf_free(&bytes);
    return ok;
}

enum { MOST_BYTES = 1 << 30 }; /* of a bank */

static bool reserve_bank(EngineJob *job, const char *text)
{
    const char *bytes;
    char *end;
    size_t bank;
    if (!split_bank(job->tool, "space", text, &bank, &bytes)) return false;
    long long size = strtoll(bytes, &end, 10);
    if (*end || size < 0 || size > MOST_BYTES)
        return tool_error(job->tool, "error: --space takes 0 to %d bytes, not '%s'", MOST_BYTES,
                          bytes);
    grow_bank(job, bank, (size_t)size);
    return true;
}

bool job_is_port(const Op *op, int64_t direction)
{
    return op->def == SA(PORT) && sa_int(op, "direction", 0) == direction;
}

/* Room for what begins at the op's address, in whole beats. False: no bank has so much. */
static bool reserve(EngineJob *job, const Op *op, uint64_t bytes)
{
    uint64_t begin = (uint64_t)sa_int(op, "address", 0),
             bank = (uint64_t)sa_int(op, SA_ATTR_BANK, 0);
    uint64_t beats = bytes / SA_BEAT_BYTES + (bytes % SA_BEAT_BYTES != 0);
    if (bank >= ENGINE_MAX_BANKS || begin > MOST_BYTES / SA_BEAT_BYTES || bytes > MOST_BYTES ||
        (begin + beats) * SA_BEAT_BYTES > MOST_BYTES)
        return op_error(op, "does not fit banks 0 to %d of %d bytes", ENGINE_MAX_BANKS - 1,
                        MOST_BYTES);
    grow_bank(job, bank, (begin + beats) * SA_BEAT_BYTES);
    return true;
}

uint8_t *job_place(const EngineJob *job, const Op *op)
{
    return job->banks[sa_int(op, SA_ATTR_BANK, 0)].bytes + sa_int(op, "address", 0) * SA_BEAT_BYTES;
}

static bool load_image(EngineJob *job, const Op *op)
{
    const Attr *value = op_attr(op, "value");
    int64_t count = dense_count(value);
    if (!reserve(job, op, (uint64_t)count)) return false;
    uint8_t *to = job_place(job, op);
    for (int64_t i = 0; i < count; i++) to[i] = (uint8_t)dense_i64(value, i);
    return true;
}

static bool load_module(EngineJob *job)
{
    FOR_EACH_INNER(op, job->module) {
        if (op->def == SA(IMAGE) && !load_image(job, op)) return false;
        if (op->def == SA(PORT) && !reserve(job, op, engine_port_bytes(op))) return false;
    }
    return true;
}

bool job_fill_banks(EngineJob *job)
{
    const EngineFlags *flags = job->flags;
    if (!load_module(job) || !engine_images(job->module, &job->images)) return false;
    job->frames = job->images;
    for (size_t i = 0; i < flags->memories.len; i++)
        if (!job_load_bank(job, "memory", flags->memories.data[i])) return false;
    for (size_t i = 0; i < flags->spaces.len; i++)
        if (!reserve_bank(job, flags->spaces.data[i])) return false;
    return true;
}

bool job_save_banks(const EngineJob *job)
{
    for (size_t i = 0; i < job->flags->dumps.len; i++) {
        const char *path;
        size_t bank;
        if (!split_bank(job->tool, "dump", job->flags->dumps.data[i], &bank, &path)) return false;
        if (bank >= job->bank_count)
            return tool_error(job->tool, "error: --dump names bank %zu, which holds nothing", bank);
        const EngineBank *b = &job->banks[bank];
        if (!tool_write(job->tool, path, (Str){(const char *)b->bytes, b->size})) return false;
    }
    return true;
}
