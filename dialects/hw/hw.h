/* The hw dialect: modules of hardware, their ports and instances, constants. Names, attributes and
 * text are those of CIRCT's dialect, whose tools read what is printed here; see docs/rtl.md for the
 * part of it that exists and for what the levels above and below agree on.
 *
 * A module's body is a graph: values may be used before they are defined, which closes the loops
 * through registers. HW(ID) is the row of an op, which serves as its identity: op->def == HW(MODULE).
 * Tests: lit/dialects/hw */
#ifndef MING_DIALECTS_HW_HW_H
#define MING_DIALECTS_HW_HW_H

#include "ir/core/core.h"

#define OP(ID, ...) HW_##ID,
enum {
#include "dialects/hw/hw_ops.def"
    HW_OP_COUNT
};
#undef OP

extern const OpDef hw_ops[];
extern const DialectDef hw_dialect;
extern const TypeDef hw_type_module; /* !hw.modty<input a : i8, output b : i8> */
extern const AttrDef hw_attr_param;  /* #hw.param.decl<"WIDTH": i32 = 8> */
#define HW(ID) (&hw_ops[HW_##ID])

/* What comb and seq ops compute with: a signless integer of one bit or more. */
extern const TypeConstraint HW_IS_INTEGER;

/* Attributes that other modules spell. The name hint, a string, is discardable: the name that a
 * value shall have in Verilog. */
#define HW_ATTR_NAME_HINT "sv.namehint"
#define HW_ATTR_VERILOG_NAME "verilogName"

typedef struct HwPort {
    Str name;
    const Type *type;
    bool is_output;
} HwPort;

/* Ports in the order of their declaration. Names and types live as long as the context. */
const Type *hw_module_type(Context *ctx, const HwPort *ports, size_t count);
uint32_t hw_type_port_count(const Type *module_type);
HwPort hw_type_port(const Type *module_type, uint32_t index);
/* The same of a hw.module or hw.module.extern. */
uint32_t hw_port_count(const Op *module);
HwPort hw_port(const Op *module, uint32_t index);
/* How Verilog calls the module: the attribute verilogName, or the symbol. */
Str hw_verilog_name(const Op *module);
/* Whether it is a hw.module or a hw.module.extern. */
bool hw_is_module(const Op *op);

/* A parameter: of a module its declaration, whose value is the default or NULL; of an instance the
 * value given. The value is an integer, or a string if the type is none. */
const Attr *hw_param(Context *ctx, Str name, const Type *type, const Attr *value);
Str hw_param_name(const Attr *param);
const Type *hw_param_type(const Attr *param);
const Attr *hw_param_value(const Attr *param);

/* Building. Each function inserts at the builder's point. */

/* A module with its input ports as arguments of an empty body, whose end waits for
 * hw_build_output. */
Op *hw_build_module(Builder *b, Str name, const HwPort *ports, size_t count);
/* A module that is defined elsewhere. verilog_name: empty for the name itself. `params` declares
 * parameters, an array attribute of hw_param, or NULL for none. */
Op *hw_build_extern(Builder *b, Str name, const HwPort *ports, size_t count, Str verilog_name,
                    const Attr *params);
/* The argument of that input port; the port must exist. */
Value *hw_input(const Op *module, const char *port);
/* The instance's results are the module's outputs, in their order. `inputs` has a value for each
 * input port; `params` as for hw_build_extern, with values. */
Op *hw_build_instance(Builder *b, const Op *module, Str name, Value *const *inputs,
                      const Attr *params);
/* The result of an instance that is that output port; the port must exist. */
Value *hw_output(const Op *instance, const char *port);
void hw_build_output(Builder *b, Value *const *values, uint32_t count);
Value *hw_build_constant(Builder *b, const Attr *value); /* an integer attribute */
Value *hw_build_int(Builder *b, uint32_t width, int64_t value);

#endif
