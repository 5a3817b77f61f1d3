/* Printing of a file's metadata section: the blobs of the dense_resource attributes that were
 * printed, and the external resources that came with the input.
 *
 *   {-#
 *     dialect_resources: {
 *       builtin: {
 *         key: "0x04000000…"
 *       }
 *     },
 *     external_resources: { … }
 *   #-}
 *
 * The text of an entry, group or part is begun when its first item is really printed, because blobs
 * may be elided and empty groups must not appear.
 * Tests: lit/ir/asm/print/elide.mir, lit/ir/asm/parse/external-resources.mir */
#include "ir/asm/print/internal.h"

typedef struct Section {
    OpPrinter *p;
    const char *part; /* "dialect_resources", … : what the next entry belongs to */
    const Ident *group;
    const char *open_part; /* NULL: none */
    const Ident *open_group;
    bool left_out; /* an entry was too long */
} Section;

static void close_group(Section *s)
{
    if (s->open_group) strbuf_add_c(s->p->out, "\n    }");
    s->open_group = NULL;
}

static void close_part(Section *s)
{
    close_group(s);
    if (s->open_part) strbuf_add_c(s->p->out, "\n  }");
    s->open_part = NULL;
}

/* Up to the entry's ": ". */
static void begin_entry(Section *s, const Ident *key)
{
    StrBuf *out = s->p->out;
    bool first_of_part = s->open_part != s->part;
    bool first_of_group = first_of_part || s->open_group != s->group;
    if (first_of_part) {
        bool first_of_all = !s->open_part;
        close_part(s);
        strbuf_add_c(out, first_of_all ? "\n{-#\n  " : ",\n  ");
        strbuf_add_c(out, s->part);
        strbuf_add_c(out, ": {\n");
        s->open_part = s->part;
    }
    if (first_of_group) {
        bool is_next = s->open_group != NULL;
        close_group(s);
        if (is_next) strbuf_add_c(out, ",\n");
        strbuf_add_c(out, "    ");
        strbuf_add_str(out, s->group->str);
        strbuf_add_c(out, ": {\n");
        s->open_group = s->group;
    } else {
        strbuf_add_c(out, ",\n");
    }
    strbuf_add_c(out, "      ");
    write_attr_name(out, key->str);
    strbuf_add_c(out, ": ");
}

/* Values longer than the limit leave their entry out; quotes count. */
static bool is_too_long(Section *s, size_t length)
{
    int64_t limit = s->p->options->elide_resources_above;
    bool too_long = limit >= 0 && (uint64_t)length > (uint64_t)limit;
    s->left_out = s->left_out || too_long;
    return too_long;
}

/* A blob's alignment (0 without data) is written in front of it, little endian. */
static void print_blob(Section *s, const Ident *key, uint32_t align, const uint8_t *data,
                       size_t size)
{
    if (is_too_long(s, sizeof("\"0x01234567\"") - 1 + 2 * size)) return;
    uint8_t header[4] = {0};
    for (int i = 0; size > 0 && i < 4; i++) header[i] = (uint8_t)(align >> (8 * i));
    begin_entry(s, key);
    strbuf_add_c(s->p->out, "\"0x");
    write_hex(&s->p->w, header, sizeof(header));
    write_hex(&s->p->w, data, size);
    strbuf_add_char(s->p->out, '"');
}

static void print_external(Section *s, const ExternalResource *entry)
{
    if (entry->kind == EXTERNAL_BLOB) {
        print_blob(s, entry->key, entry->align, entry->data, entry->size);
        return;
    }
    StrBuf value = {0};
    if (entry->kind == EXTERNAL_STRING)
        write_string_escaped(&value, entry->text);
    else
        strbuf_add_c(&value, entry->truth ? "true" : "false");
    if (!is_too_long(s, value.len)) {
        begin_entry(s, entry->key);
        strbuf_add_str(s->p->out, strbuf_str(&value));
    }
    strbuf_free(&value);
}

void printer_resources(OpPrinter *p, const Context *ctx)
{
    Section s = {.p = p, .part = "dialect_resources"};
    for (size_t i = 0; i < p->resources.len; i++) {
        const ResourceBlob *blob = p->resources.entries[i].value;
        s.group = blob->dialect;
        if (blob->data) print_blob(&s, blob->key, blob->align, blob->data, blob->size);
    }
    s.part = "external_resources";
    for (size_t i = 0; i < context_external_group_count(ctx); i++) {
        const ExternalResource *entry = context_external_group(ctx, i, &s.group);
        for (; entry; entry = entry->next) print_external(&s, entry);
    }
    bool opened = s.open_part != NULL;
    close_part(&s);
    if (opened || s.left_out)
        strbuf_add_c(p->out, opened ? "\n#-}\n" : "\n{-#\n\n#-}\n"); /* a section of nothing */
}
