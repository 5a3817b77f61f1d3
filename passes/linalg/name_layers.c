/* name-layers: gives the attribute dfg.name to linalg ops whose location names them (torch-mlir,
 * TensorFlow), so that the name survives printing without locations. An op that has the attribute
 * keeps it.
 * Changes: attributes only.
 * Tests: lit/passes/linalg/name-layers.mir */
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "passes/linalg/passes.h"

/* First name location, depth first; an empty Str if there is none. */
static Str name_of_loc(const Attr *loc)
{
    if (loc->kind == ATTR_LOC_NAME) return loc->u.loc_name.name->str;
    for (uint32_t i = 0; loc->kind == ATTR_LOC_FUSED && i < loc->u.loc_fused.count; i++) {
        Str name = name_of_loc(loc->u.loc_fused.locs[i]);
        if (name.len) return name;
    }
    return (Str){"", 0};
}

static bool name_layer(Op *op, void *user)
{
    (void)user;
    Str name = name_of_loc(op->loc);
    if (name.len && linalg_is_structured(op) && !op_attr(op, DFG_ATTR_NAME))
        op_set_attr(op, DFG_ATTR_NAME, attr_string(op->ctx, name));
    return true;
}

static bool name_layers(Pass *pass, Op *func)
{
    (void)pass;
    op_walk(func, name_layer, NULL);
    return true;
}

const PassDef pass_name_layers = {
    .name = "name-layers",
    .summary = "Keep the layer names of locations as attributes",
    .anchor = "func.func",
    .run = name_layers,
};
