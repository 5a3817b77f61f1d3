/* The seq dialect: registers, shift registers and memories, all on the rising edge of a clock.
 * Names, attributes and text are those of CIRCT's dialect; docs/rtl.md says which part of it exists.
 * SEQ(ID) is the row of an op, which serves as its identity: op->def == SEQ(COMPREG).
 * Tests: lit/dialects/seq */
#ifndef MING_DIALECTS_SEQ_SEQ_H
#define MING_DIALECTS_SEQ_SEQ_H

#include "ir/core/core.h"

#define OP(ID, ...) SEQ_##ID,
enum {
#include "dialects/seq/seq_ops.def"
    SEQ_OP_COUNT
};
#undef OP

extern const OpDef seq_ops[];
extern const DialectDef seq_dialect;
extern const TypeDef seq_type_clock;  /* !seq.clock */
extern const TypeDef seq_type_firmem; /* !seq.firmem<384 x 16>: words x bits, or with a mask
                                         <384 x 16, mask 2> */
extern const AttrDef seq_attr_init;   /* #seq.firmem.init<"weights.hex", false, false> */
#define SEQ(ID) (&seq_ops[SEQ_##ID])

/* Attributes of a seq.firmem that CIRCT does not know, discardable ones: its contents, dense
 * elements of one dimension with a word each; and what it is built of. Both are written by the
 * lowering from emithls and read by the printer of Verilog. */
#define SEQ_ATTR_CONTENTS "seq.contents"
#define SEQ_ATTR_STYLE "seq.style" /* "block", "ultra", "distributed" or "registers" */

const Type *seq_clock(Context *ctx);
/* mask: bits of a write mask, each for an equal part of the word; 0 for none. */
const Type *seq_firmem(Context *ctx, uint64_t depth, uint32_t width, uint32_t mask);
uint64_t seq_firmem_depth(const Type *memory);
uint32_t seq_firmem_width(const Type *memory);
uint32_t seq_firmem_mask(const Type *memory);
/* Bits of an address: enough for every word, at least one. */
uint32_t seq_firmem_address_width(const Type *memory);
/* Cycles from an address to its word: 0 for a memory that is read like logic, 1 for one with a
 * register behind it. */
uint32_t seq_read_latency(const Op *firmem);
/* The operands of a register or shift register: absent ones are NULL. */
typedef struct SeqRegister {
    Value *input, *clock;
    Value *enable; /* NULL: always */
    Value *reset, *reset_value;
    Value *initial; /* of seq.initial; of a shift register the value itself */
} SeqRegister;
SeqRegister seq_register(const Op *op);
/* The operands of a port; absent ones are NULL. */
typedef struct SeqPort {
    Value *memory, *address, *clock, *enable, *data, *mask;
} SeqPort;
SeqPort seq_port(const Op *op);

/* Building. Each function inserts at the builder's point. */

/* A register, or with `cycles` above 1 so many of them in a row, all with the same enable. Without
 * reg->input it keeps its value until seq_connect gives it one. Several in a row have an
 * enable and no reset. */
Value *seq_build_register(Builder *b, const Type *type, const SeqRegister *reg, uint32_t cycles,
                          const char *name);
/* Gives a register that was built without input what it takes at the next edge. */
void seq_connect(Value *reg, Value *input);

typedef struct SeqMemory {
    const char *name;
    uint64_t depth;        /* words */
    uint32_t width, mask;  /* bits */
    uint32_t read_latency; /* 0 or 1 */
    const char *style;     /* SEQ_ATTR_STYLE, or NULL for the tool's choice */
    const Attr *contents;  /* SEQ_ATTR_CONTENTS, or NULL */
    const char *file;      /* of the contents, without folders; unique in the design */
} SeqMemory;
Value *seq_build_memory(Builder *b, const SeqMemory *memory);
/* enable may be NULL. The word that a read finds which meets a write is the old one. */
Value *seq_build_read(Builder *b, Value *memory, Value *address, Value *clock, Value *enable);
void seq_build_write(Builder *b, Value *memory, Value *address, Value *data, Value *clock,
                     Value *enable, Value *mask);

#endif
