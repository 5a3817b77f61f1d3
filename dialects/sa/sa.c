/* The sa dialect: rows and checks. The encoding is in sa_encode.c, #sa.overlay in sa_overlay.c.
 * Tests: lit/dialects/sa */
#include "dialects/common/common.h"
#include "dialects/sa/internal.h"
#include "ir/asm/print/print.h"

#define REG(ID, NAME, IS_SIGNED, SUMMARY) NAME,
const char *const sa_register_names[] = {
#include "dialects/sa/sa_regs.def"
    NULL};
#undef REG

#define REG(ID, NAME, IS_SIGNED, SUMMARY) IS_SIGNED,
static const bool REGISTER_IS_SIGNED[] = {
#include "dialects/sa/sa_regs.def"
};
#undef REG

#define REG(ID, NAME, IS_SIGNED, SUMMARY) SUMMARY,
static const char *const REGISTER_SUMMARIES[] = {
#include "dialects/sa/sa_regs.def"
};
#undef REG

static const char *const BUFFERS[] = {"activations", "weights", "output", "parameters", NULL};
static const char *const SOURCES[] = {"sums", "operand", "parameter", NULL};
static const char *const ROUNDINGS[] = {"floor", "half_up", "half_even", NULL};
static const char *const UNITS[] = {"load_a", "load_w", "fill", "compute", "store", NULL};
static const char *const DIRECTIONS[] = {"input", "output", NULL};
static const char *const PU_REGS[] = {"r0", "r1",  "r2",  "r3",  "r4",  "r5",  "r6",  "r7", "r8",
                                      "r9", "r10", "r11", "r12", "r13", "r14", "r15", NULL};

const char *sa_register_name(uint32_t number)
{
    return sa_register_names[number];
}

const char *sa_register_summary(uint32_t number)
{
    return REGISTER_SUMMARIES[number];
}

bool sa_register_is_signed(uint32_t number)
{
    return REGISTER_IS_SIGNED[number];
}

static bool is_case(const Attr *attr, const char *const *names)
{
    int64_t count = 0;
    while (names[count]) count++;
    return attr->kind == ATTR_INTEGER && type_is_int_width(attr->type, 64) &&
           attr_int_value(attr) >= 0 && attr_int_value(attr) < count;
}

static const Type *bare_i64(Context *ctx)
{
    return type_i(ctx, 64);
}

static bool is_overlay(const Attr *attr)
{
    return attr_is_a(attr, &sa_attr_overlay);
}

/* A constraint named NAME of the attributes that stand for a keyword of NAMES. */
#define KEYWORD(NAME, TEST, NAMES, WHAT)                                                           \
    static bool TEST(const Attr *attr)                                                             \
    {                                                                                              \
        return is_case(attr, NAMES);                                                               \
    }                                                                                              \
    static const AttrConstraint NAME = {.test = TEST,                                              \
                                        .stores = constraint_is_integer,                           \
                                        .what = WHAT,                                              \
                                        .syntax = ATTR_SYNTAX_ENUM,                                \
                                        .bare_type = bare_i64,                                     \
                                        .enum_names = NAMES}

KEYWORD(ATTR_IS_BUFFER, is_buffer, BUFFERS, "a buffer");
KEYWORD(ATTR_IS_SOURCE, is_source, SOURCES, "what the processing unit loads");
KEYWORD(ATTR_IS_ROUNDING, is_rounding, ROUNDINGS, "a way to round");
KEYWORD(ATTR_IS_UNIT_NAME, is_unit_name, UNITS, "a unit");
KEYWORD(ATTR_IS_PU_REG, is_pu_reg, PU_REGS, "a register, r0 to r15");
KEYWORD(ATTR_IS_DIRECTION, is_direction, DIRECTIONS, "input or output");
KEYWORD(ATTR_IS_REGISTER, is_register, sa_register_names, "a register of the fetch unit");

static const AttrConstraint ATTR_IS_OVERLAY = {
    .test = is_overlay, .what = "an overlay", .param = &sa_attr_overlay};

int64_t sa_int(const Op *op, const char *name, int64_t absent)
{
    const Attr *attr = op_attr(op, name);
    return attr ? attr_int_value(attr) : absent;
}

static bool verify_field(Op *op, const SaField *field)
{
    const Attr *attr = op_attr(op, field->attr);
    if (!attr) return true;
    int64_t value = attr_int_value(attr);
    return (value >= sa_field_min(field) && value <= sa_field_max(field)) ||
           op_error(op, "%s must be from %lld to %lld, but is %lld", field->attr,
                    (long long)sa_field_min(field), (long long)sa_field_max(field),
                    (long long)value);
}

static bool verify_set(Op *op)
{
    uint32_t reg = (uint32_t)sa_int(op, "register", 0);
    SaField field = {.attr = "value", .high = 15, .is_signed = sa_register_is_signed(reg)};
    return verify_field(op, &field);
}

/* What only parameters have an address for. */
static bool verify_pu_load(Op *op)
{
    return sa_int(op, "source", 0) == SA_SOURCE_PARAMETER || sa_int(op, "address", 0) == 0 ||
           op_error(op, "only a parameter has an address");
}

static bool verify_pu_lookup(Op *op)
{
    return sa_int(op, "log2_bits", 0) <= SA_LOG2_PARAMETER_BITS ||
           op_error(op, "has entries of more bits than a parameter");
}

static bool verify_pu_threshold(Op *op)
{
    int64_t planes = sa_int(op, "planes", 0);
    return (planes >= 1 && planes <= SA_MOST_PLANES) ||
           op_error(op, "has %lld planes, of which there are 1 to %d", (long long)planes,
                    SA_MOST_PLANES);
}

bool sa_verify_instruction(Op *op)
{
    bool ok = true;
    for (const SaField *field = sa_form(op->def)->fields; field->attr; field++)
        if (op->def != SA(SET)) ok = verify_field(op, field) && ok;
    if (op->def == SA(SET)) return verify_set(op);
    return ok && (op->def != SA(PU_LOAD) || verify_pu_load(op)) &&
           (op->def != SA(PU_LOOKUP) || verify_pu_lookup(op)) &&
           (op->def != SA(PU_THRESHOLD) || verify_pu_threshold(op));
}

static bool verify_program(Op *op)
{
    bool ok = true;
    const SaOverlay size = sa_overlay(op_attr(op, SA_ATTR_OVERLAY));
    FOR_EACH_OP(inner, region_entry(op_region(op, 0)))
        if (!inner->def || !sa_form(inner->def))
            ok = op_error(inner, "is no instruction of an overlay");
        else if (sa_is_pu(inner) && !sa_pu_has(&size, inner))
            ok = op_error(inner, "is no instruction of the overlay's processing unit");
    return ok;
}

/* Parts of rows. */
#define BITS(NAME, HIGH, LOW)                                                                      \
    {                                                                                              \
        .attr = (NAME), .high = (HIGH), .low = (LOW), .flag = -1                                   \
    }
#define SIGNED(NAME, HIGH, LOW)                                                                    \
    {                                                                                              \
        .attr = (NAME), .high = (HIGH), .low = (LOW), .is_signed = true, .flag = -1                \
    }
#define FLAGGED(NAME, HIGH, LOW, FLAG)                                                             \
    {                                                                                              \
        .attr = (NAME), .high = (HIGH), .low = (LOW), .flag = (FLAG)                               \
    }
#define SEMAPHORES FLAGGED(SA_ATTR_WAIT, 24, 21, 25), FLAGGED(SA_ATTR_SIGNAL, 19, 16, 20)
#define FORM(FIXED, ...)                                                                           \
    (const SaForm[])                                                                               \
    {                                                                                              \
        {                                                                                          \
            .fixed = (FIXED), .fields = { __VA_ARGS__ }                                            \
        }                                                                                          \
    }
#define NO_FIELDS                                                                                  \
    {                                                                                              \
        0                                                                                          \
    }
#define PU_PARENTS "sa.program|sa.conv|sa.pool|sa.eltwise"
#define HALF "`half` `(` $half `)` "
#define BANK "`bank` `(` $bank `)` "
#define WAIT_SIGNAL " (`wait` `(` $wait^ `)`)? (`signal` `(` $signal^ `)`)? "

#define OP(ID, NAME, ...)                                                                          \
    [SA_##ID] = {.id = #ID, .name = NAME, .dialect = &sa_dialect, __VA_ARGS__},
const OpDef sa_ops[] = {
#include "dialects/sa/sa_ops.def"
};
#undef OP

static const AttrDef *const sa_attrs[] = {&sa_attr_overlay, NULL};

const DialectDef sa_dialect = {
    .name = "sa",
    .summary = "Programs of an overlay: a systolic array that runs a network layer after layer.",
    .description = "F2N2's instructions (sections III and V of its paper), with those that its "
                   "tables leave out.",
    .ops = sa_ops,
    .op_count = SA_OP_COUNT,
    .attrs = sa_attrs,
};
