/* Between the sources of ming check: ming_check.c (command), check_model.c (what compiles),
 * check_costs.c (what it takes), check_words.c, check_print.c and check_json.c (the reports).
 * A layer is a node of an ONNX file, or an onnx op of a module. Every op that is made of it has a
 * location whose line is the layer's number, from 1; so passes and their errors lead back to it.
 * Tests: lit/tools/ming-check*.test, lit/tools/ming-check.mir */
#ifndef MING_TOOLS_CHECK_H
#define MING_TOOLS_CHECK_H

#include "ir/core/op.h"
#include "driver/load_model.h"

typedef enum LayerStatus {
    LAYER_NOT_CHECKED, /* an error elsewhere hides what would become of it */
    LAYER_UNSUPPORTED,
    LAYER_COMPILES,
    LAYER_FOLDED,  /* computed beforehand, or not needed */
    LAYER_LEFT_OUT /* outside the part that was asked for */
} LayerStatus;

/* Element types seen, as the widths of the narrowest and onnx_lower_widest; 0: none. */
typedef struct Widths {
    uint32_t int_low, int_high, float_low, float_high;
} Widths;

typedef struct Layer {
    Str name, op_type;
    LayerStatus status;
    bool is_alive;      /* there is an op left of it after folding */
    Str reason;         /* why it is unsupported or not checked; empty: nothing says so */
    Str remark;         /* may be empty */
    int64_t parameters; /* elements of its constants; -1: not known */
    int64_t macs;       /* multiply-accumulate operations per frame; -1: not known */
    Widths weights, input, output;
} Layer;

typedef struct Check {
    Context *ctx;
    const Ident *file; /* in which the lines are layers */
    Layer *layers;
    size_t count;
    size_t first_bad; /* the first layer that does not compile, or `count`: behind it no type is
                         what it would be */
    bool is_complete; /* nothing stopped the check */
    Arena arena;
} Check;

/* The layer that a location belongs to, or NULL. */
Layer *check_layer(const Check *check, const Attr *loc);

/* Fills the check, whose context knows all dialects, for a file's bytes. Diagnostics that are about
 * no layer go to the context's handler. */
void check_model(Check *check, const char *path, Str bytes, const ModelOptions *options);
/* Whether ming compile would compile it, given resources enough. */
bool check_compiles(const Check *check);

/* Enters parameters and MACs of the layers, and which are alive, from their folded nodes. */
void check_count(Check *check, Op *module);
/* Enters element types of the layers before the first bad one from their linalg ops. */
void check_widths(Check *check, Op *module);
void check_widths_add(Widths *to, const Widths *more);

/* "compiles"; what would help (empty: nothing is wrong); "i4-i8,f32" ("-": none). */
const char *check_status(const Layer *layer);
Str check_hint(const Layer *layer);
void check_widths_print(const Widths *widths, StrBuf *out);
/* A layer with the sums and ranges of all, without a name. */
Layer check_total(const Check *check);

/* A table for people; an object for programs, docs/check.md tells its keys. */
void check_print_text(const Check *check, StrBuf *out);
void check_print_json(const Check *check, StrBuf *out);

#endif
