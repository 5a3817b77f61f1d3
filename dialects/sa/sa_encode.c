/* Instructions to 32-bit words and back, by the encodings in the rows.
 * Tests: test/unit/dialects/sa/encode_test.c, lit/target/overlay */
#include <assert.h>

#include "dialects/sa/internal.h"
#include "ir/asm/print/print.h"
#include "ir/verify/verify.h"

const SaForm *sa_form(const OpDef *def)
{
    return def->dialect == &sa_dialect ? def->data : NULL;
}

static uint32_t field_width(const SaField *field)
{
    return field->high - field->low + 1u;
}

static uint32_t field_mask(const SaField *field)
{
    return (uint32_t)(((UINT64_C(1) << field_width(field)) - 1) << field->low);
}

static uint32_t flag_mask(const SaField *field)
{
    return field->flag < 0 ? 0 : UINT32_C(1) << field->flag;
}

uint32_t sa_form_mask(const SaForm *form)
{
    uint32_t mask = UINT32_MAX;
    for (const SaField *field = form->fields; field->attr; field++)
        mask &= ~(field_mask(field) | flag_mask(field));
    return mask;
}

int64_t sa_field_min(const SaField *field)
{
    return field->is_signed ? -(INT64_C(1) << (field_width(field) - 1)) : 0;
}

int64_t sa_field_max(const SaField *field)
{
    return (INT64_C(1) << (field_width(field) - field->is_signed)) - 1;
}

uint32_t sa_encode(const Op *op)
{
    const SaForm *form = sa_form(op->def);
    assert(form);
    uint32_t word = form->fixed;
    for (const SaField *field = form->fields; field->attr; field++) {
        const Attr *attr = op_attr(op, field->attr);
        if (!attr) continue;
        word |= ((uint32_t)attr_int_value(attr) << field->low) & field_mask(field);
        word |= flag_mask(field);
    }
    return word;
}

/* The number that a field of the word holds; the value of sa.set has its register's sign. */
static int64_t field_value(const OpDef *def, const SaField *field, uint32_t word)
{
    int64_t value = (word & field_mask(field)) >> field->low;
    bool is_signed = field->is_signed;
    if (def == SA(SET) && field->low == 0) {
        uint32_t reg = word >> 16 & 0x3FFF;
        is_signed = reg < SA_REG_COUNT && sa_register_is_signed(reg);
    }
    return is_signed && value >> (field_width(field) - 1)
               ? value - (INT64_C(1) << field_width(field))
               : value;
}

static const OpDef *find_def(uint32_t word)
{
    for (size_t i = 0; i < SA_OP_COUNT; i++) {
        const SaForm *form = sa_form(&sa_ops[i]);
        if (form && (word & sa_form_mask(form)) == form->fixed) return &sa_ops[i];
    }
    return NULL;
}

/* Attributes of the word's fields; how many. False: a field without its flag is not 0. */
static bool read_fields(Context *ctx, const OpDef *def, uint32_t word, NamedAttr *attrs,
                        uint32_t *count)
{
    *count = 0;
    for (const SaField *field = sa_form(def)->fields; field->attr; field++) {
        if (field->flag >= 0 && !(word & flag_mask(field))) {
            if (word & field_mask(field)) return false;
            continue;
        }
        const Attr *value = attr_i64(ctx, field_value(def, field, word));
        attrs[(*count)++] = build_named_attr(ctx, field->attr, value);
    }
    return true;
}

Op *sa_decode(Builder *b, uint32_t word)
{
    NamedAttr attrs[SA_MAX_FIELDS];
    uint32_t count;
    const OpDef *def = find_def(word);
    if (!def || !read_fields(b->ctx, def, word, attrs, &count)) {
        diag_error(b->ctx, b->loc, "0x%08X is no instruction", word);
        return NULL;
    }
    Op *op = build(b, def, NULL, 0, NULL, 0, attrs, count);
    if (verify_op(op)) return op;
    op_erase(op);
    return NULL;
}
