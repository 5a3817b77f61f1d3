/* The file of a program: a header, the name, the instructions. All numbers are little-endian words
 * of 32 bits. What a reader takes is checked; a file that it takes is written again as it was.
 * Tests: lit/target/overlay, test/e2e/engine_check.py */
#include <nettle/sha2.h>
#include <string.h>

#include "dialects/builtin/builtin.h"
#include "dialects/sa/sa.h"
#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"
#include "ir/verify/verify.h"
#include "target/overlay/overlay.h"

static const char MAGIC[] = "MSA1";

enum { VERSION = 2, WORD_BYTES = 4, MAGIC_BYTES = 4 };

static void add_word(StrBuf *out, uint32_t word)
{
    for (int i = 0; i < WORD_BYTES; i++) strbuf_add_char(out, (char)(word >> 8 * i & 0xFF));
}

void overlay_fingerprint(const Attr *overlay, uint8_t out[OVERLAY_FINGERPRINT_BYTES])
{
    StrBuf text = {0};
    struct sha256_ctx sha;
    attr_print(&text, overlay);
    sha256_init(&sha);
    sha256_update(&sha, text.len, (const uint8_t *)text.data);
    sha256_digest(&sha, OVERLAY_FINGERPRINT_BYTES, out);
    strbuf_free(&text);
}

static void add_header(StrBuf *out, const Attr *attr, size_t name_bytes, size_t instructions)
{
    uint8_t fingerprint[OVERLAY_FINGERPRINT_BYTES];
    uint32_t words[SA_OVERLAY_WORDS];
    SaOverlay overlay = sa_overlay(attr);
    sa_overlay_to_words(&overlay, words);
    overlay_fingerprint(attr, fingerprint);
    strbuf_add(out, MAGIC, MAGIC_BYTES);
    add_word(out, VERSION);
    strbuf_add(out, (const char *)fingerprint, sizeof fingerprint);
    for (size_t i = 0; i < SA_OVERLAY_WORDS; i++) add_word(out, words[i]);
    add_word(out, (uint32_t)name_bytes);
    add_word(out, (uint32_t)instructions);
}

bool overlay_write_program(const Op *program, StrBuf *out)
{
    const Block *body = region_entry(op_region(program, 0));
    Str name = op_attr(program, "sym_name")->u.string;
    size_t count = 0;
    FOR_EACH_OP(op, body) count++;
    if (name.len > OVERLAY_MAX_NAME)
        return op_error(program, "has a name of more than %d bytes", OVERLAY_MAX_NAME);
    if (count > OVERLAY_MAX_WORDS)
        return op_error(program, "has more than %d instructions", OVERLAY_MAX_WORDS);
    add_header(out, op_attr(program, SA_ATTR_OVERLAY), name.len, count);
    strbuf_add_str(out, name);
    while (out->len % WORD_BYTES) strbuf_add_char(out, '\0');
    FOR_EACH_OP(op, body) add_word(out, sa_encode(op));
    return true;
}

const Op *overlay_find_program(const Op *module)
{
    const Op *found = NULL;
    FOR_EACH_INNER(op, module) {
        if (op->def != SA(PROGRAM)) continue;
        if (found) {
            op_error(op, "is the second program of the module, of which one is wanted");
            return NULL;
        }
        found = op;
    }
    if (!found) op_error(module, "has no sa.program");
    return found;
}

bool overlay_is_binary(Str bytes)
{
    return bytes.len >= MAGIC_BYTES && memcmp(bytes.data, MAGIC, MAGIC_BYTES) == 0;
}

/* Reading. `bytes` shrinks as they are taken. */
typedef struct Reader {
    Context *ctx;
    Str bytes;
    const Ident *file;
    const Attr *loc; /* of the file */
    const Attr *overlay;
    uint8_t fingerprint[OVERLAY_FINGERPRINT_BYTES];
    uint32_t name_bytes, instructions;
} Reader;

static bool take(Reader *r, size_t count, Str *out)
{
    *out = (Str){.data = r->bytes.data, .len = count};
    if (r->bytes.len < count) return diag_error(r->ctx, r->loc, "the file ends too early");
    r->bytes.data += count;
    r->bytes.len -= count;
    return true;
}

static bool take_word(Reader *r, uint32_t *word)
{
    Str bytes;
    if (!take(r, WORD_BYTES, &bytes)) return false;
    *word = 0;
    for (int i = 0; i < WORD_BYTES; i++) *word |= (uint32_t)(uint8_t)bytes.data[i] << 8 * i;
    return true;
}

static bool read_magic(Reader *r)
{
    Str magic;
    uint32_t version;
    if (!overlay_is_binary(r->bytes))
        return diag_error(r->ctx, r->loc, "is no program of an overlay: it does not begin with %s",
                          MAGIC);
    if (!take(r, MAGIC_BYTES, &magic) || !take_word(r, &version)) return false;
    return version == VERSION ||
           diag_error(r->ctx, r->loc, "has version %u, not %d", version, VERSION);
}

static bool read_overlay(Reader *r)
{
    uint8_t fingerprint[OVERLAY_FINGERPRINT_BYTES];
    uint32_t words[SA_OVERLAY_WORDS];
    for (size_t i = 0; i < SA_OVERLAY_WORDS; i++)
        if (!take_word(r, &words[i])) return false;
    SaOverlay overlay = sa_overlay_from_words(words);
    if (!(r->overlay = sa_overlay_attr(r->ctx, &overlay, r->loc))) return false;
    overlay_fingerprint(r->overlay, fingerprint);
    return memcmp(fingerprint, r->fingerprint, sizeof fingerprint) == 0 ||
           diag_error(r->ctx, r->loc, "has a fingerprint that is not its overlay's");
}

static bool read_header(Reader *r)
{
    Str fingerprint;
    if (!read_magic(r) || !take(r, OVERLAY_FINGERPRINT_BYTES, &fingerprint)) return false;
    memcpy(r->fingerprint, fingerprint.data, sizeof r->fingerprint);
    if (!read_overlay(r) || !take_word(r, &r->name_bytes) || !take_word(r, &r->instructions))
        return false;
    if (r->name_bytes == 0 || r->name_bytes > OVERLAY_MAX_NAME)
        return diag_error(r->ctx, r->loc, "has a name of %u bytes; 1 to %d are valid",
                          r->name_bytes, OVERLAY_MAX_NAME);
    return r->instructions <= OVERLAY_MAX_WORDS ||
           diag_error(r->ctx, r->loc, "has %u instructions, more than %d", r->instructions,
                      OVERLAY_MAX_WORDS);
}

/* The name, which zeros fill up to a whole word. */
static bool read_name(Reader *r, const Attr **name)
{
    Str text, rest;
    *name = NULL;
    if (!take(r, r->name_bytes, &text)) return false;
    if (!take(r, (WORD_BYTES - r->name_bytes % WORD_BYTES) % WORD_BYTES, &rest)) return false;
    for (size_t i = 0; i < rest.len; i++)
        if (rest.data[i]) return diag_error(r->ctx, r->loc, "has bytes between name and program");
    *name = attr_string(r->ctx, text);
    return true;
}

static bool read_instructions(Reader *r, Op *program)
{
    uint32_t word;
    Builder b = builder_at_end(region_entry(op_region(program, 0)), r->loc);
    if (r->bytes.len != (size_t)r->instructions * WORD_BYTES)
        return diag_error(r->ctx, r->loc, "says that it has %u instructions, but %zu bytes follow",
                          r->instructions, r->bytes.len);
    for (uint32_t i = 1; i <= r->instructions; i++) {
        b.loc = loc_file(r->ctx, r->file, i, 1);
        if (!take_word(r, &word) || !sa_decode(&b, word)) return false;
    }
    const Op *last = region_entry(op_region(program, 0))->last;
    return (last && last->def == SA(END)) ||
           diag_error(r->ctx, b.loc, "the last instruction is no end of the program");
}

static bool read_program(Reader *r, Op *module)
{
    const Attr *name;
    if (!read_header(r) || !read_name(r, &name)) return false;
    Builder b = builder_at_end(region_entry(op_region(module, 0)), r->loc);
    NamedAttr attrs[] = {build_named_attr(r->ctx, "sym_name", name),
                         build_named_attr(r->ctx, SA_ATTR_OVERLAY, r->overlay)};
    Op *program = build(&b, SA(PROGRAM), NULL, 0, NULL, 0, attrs, COUNT_OF(attrs));
    region_add_block(op_region(program, 0));
    return read_instructions(r, program) && verify_op(module);
}

Op *overlay_read_program(Context *ctx, Str bytes, Str name)
{
    const Ident *file = ident_get(ctx, name);
    Reader reader = {.ctx = ctx, .bytes = bytes, .file = file, .loc = loc_file(ctx, file, 1, 1)};
    Builder b = {.ctx = ctx, .loc = reader.loc};
    Op *module = build(&b, BUILTIN(MODULE), NULL, 0, NULL, 0, NULL, 0);
    region_add_block(op_region(module, 0));
    if (read_program(&reader, module)) return module;
    op_erase(module);
    return NULL;
}
