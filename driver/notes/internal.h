/* Between the sources of the notes: notes.c (the warnings), host_parts.c (the options that leave
 * floats to the host), reasons.c (why a layer is computed in floating point). */
#ifndef MING_DRIVER_NOTES_INTERNAL_H
#define MING_DRIVER_NOTES_INTERNAL_H

#include "driver/internal.h"
#include "ir/core/core.h"

struct ModelNotes {
    Op *model;         /* copy of the loaded module */
    const Attr *loc;   /* of the warnings: the network's */
    bool is_onnx_file; /* else there is nothing that --from, --to or --input-shape could name */
    bool has_nodes, has_quantizers;
    VEC(StrBuf) warnings; /* that were given, for the report */
    VEC(StrBuf) reasons;  /* why layers are computed in floating point */
    PtrMap reason_of;     /* Ident* of a layer -> its number among these, from 1 on */
};

/* The layers of a design, by their names as identifiers. */
typedef struct Layers {
    PtrMap floats;            /* that compute with floats */
    PtrMap integers;          /* other kernels */
    VEC(const Ident *) names; /* of floats, in the order of the design */
    bool has_products;        /* of integers */
} Layers;

/* The layers of the dataflow regions that a model became. The caller frees them. */
void driver_notes_survey(const Op *model, const Op *module, Layers *out);
void driver_notes_layers_free(Layers *layers);

/* The function of an ONNX file. */
Op *driver_notes_network(const Op *module);
bool driver_notes_is_quantizer(const Op *op);
/* NULL: it has none. */
const Ident *driver_notes_name(const Op *node);
/* "1x10x4" */
void driver_notes_add_shape(StrBuf *out, const Type *type, bool is_one_frame);

/* Where a node's operands come from, through what is no layer of the design. */
typedef struct Sources {
    const Ident *floats; /* a layer of floats; NULL: none */
    bool has_argument;   /* an argument of floats that no quantizer follows */
} Sources;
Sources driver_notes_sources(const Op *node, const Layers *layers);

/* Appends the options that leave floats at the ends of the network to the host: " --to=a". */
void driver_notes_add_parts(StrBuf *out, const ModelNotes *notes, const Layers *layers);
/* Finds why the layers of floats of a quantized network are. module: has dfg.integers_end. */
void driver_notes_find_reasons(ModelNotes *notes, const Op *module, const Layers *layers);

#endif
